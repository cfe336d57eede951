/** What a person reads where the mock runs. */
import { styleText } from 'node:util';
import type { Contract, Operation } from './contract.ts';
import type { MockRequest } from './prism.ts';
import type { MockAnswer } from './problems.ts';
import { curl, exampleRequest } from './requests.ts';

/** Says what has started, where, and how to try it. */
export function announcement(contract: Contract, operations: Operation[], url: string): string {
  const tokenCall = operations.find(({ secured }) => !secured);
  const read = operations.find(({ method, path }) => method === 'GET' && path.endsWith('{id}'));
  const missing = read?.answers.find(({ status }) => status === 404)?.examples[0]?.name;
  const found = read?.answers[0]?.examples[0]?.name;
  return [
    '',
    `${styleText('bold', `${contract.info.title} ${contract.info.version}, mock`)} (Prism, ${operations.length} operations)`,
    'It answers with the examples of the contract, and keeps nothing. Any bearer token will do.',
    '',
    `  ${styleText(['bold', 'cyan'], url)}`,
    '',
    ...(tokenCall === undefined ? [] : ['Get a token:', indented(curl(url, exampleRequest(tokenCall))), '']),
    ...(read === undefined || found === undefined
      ? []
      : ['Read a row, choosing the example:', indented(preferring(read, found)), '']),
    `For an error, ask for it: -H "Prefer: code=404", or for one of several: -H "Prefer: code=404, example=${missing}".`,
    'Stop with Ctrl+C. Requests so far:',
    '',
  ].join('\n');

  function preferring(operation: Operation, example: string): string {
    const request = exampleRequest(operation, { token: 'any-token' });
    return curl(url, { ...request, headers: { ...request.headers, Prefer: `example=${example}` } });
  }
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

/** One line for a request and its answer, and one more for each way in which the request breaks the contract. */
export function logLine(request: MockRequest, answer: MockAnswer, milliseconds: number): string {
  const colour = answer.status < 400 ? 'green' : answer.status < 500 ? 'yellow' : 'red';
  const time = new Date().toTimeString().slice(0, 8);
  const preference = request.headers.prefer === undefined ? '' : `  prefers ${request.headers.prefer}`;
  const line = [
    styleText('dim', time),
    styleText(colour, String(answer.status)),
    request.method.padEnd(6),
    request.url.pathname + request.url.search,
    styleText('dim', `${answer.operation ?? 'no operation'}, ${milliseconds.toFixed(0)} ms${preference}`),
  ].join(' ');
  return [line, ...answer.violations.map((violation) => `             ${styleText(colour, violation)}`)].join('\n');
}
