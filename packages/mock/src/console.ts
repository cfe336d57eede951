/** Output of the mock on the console. */
import { styleText } from 'node:util';
import type { Contract, Operation } from './contract.ts';
import type { MockRequest } from './prism.ts';
import type { MockResponse } from './problems.ts';
import { curl, exampleRequest } from './requests.ts';

/** The text at startup: what runs, its URL, and how to try it. */
export function announcement(contract: Contract, operations: Operation[], url: string): string {
  const tokenCall = operations.find(({ secured }) => !secured);
  const read = operations.find(({ method, path }) => method === 'GET' && path.endsWith('{id}'));
  const missing = read?.responses.find(({ status }) => status === 404)?.examples[0]?.name;
  const found = read?.responses[0]?.examples[0]?.name;
  return [
    '',
    `${styleText('bold', `${contract.info.title} ${contract.info.version}, mock`)} (Prism, ${operations.length} operations)`,
    'It returns the examples of the contract and stores nothing. Any bearer token is accepted.',
    '',
    `  ${styleText(['bold', 'cyan'], url)}`,
    '',
    ...(tokenCall === undefined ? [] : ['Get a token:', indented(curl(url, exampleRequest(tokenCall))), '']),
    ...(read === undefined || found === undefined
      ? []
      : ['Get a row, with a chosen example:', indented(preferring(read, found)), '']),
    `To get an error: -H "Prefer: code=404", or one of several: -H "Prefer: code=404, example=${missing}".`,
    'Stop with Ctrl+C. Requests:',
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

/** One line for a request and its response, and one for each violation of the contract. */
export function logLine(request: MockRequest, response: MockResponse, milliseconds: number): string {
  const colour = response.status < 400 ? 'green' : response.status < 500 ? 'yellow' : 'red';
  const time = new Date().toTimeString().slice(0, 8);
  const preference = request.headers.prefer === undefined ? '' : `  prefers ${request.headers.prefer}`;
  const line = [
    styleText('dim', time),
    styleText(colour, String(response.status)),
    request.method.padEnd(6),
    request.url.pathname + request.url.search,
    styleText('dim', `${response.operation ?? 'no operation'}, ${milliseconds.toFixed(0)} ms${preference}`),
  ].join(' ');
  return [line, ...response.violations.map((violation) => `             ${styleText(colour, violation)}`)].join('\n');
}
