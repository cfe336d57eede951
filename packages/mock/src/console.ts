/** Output of the mock on the console. */
import type { IncomingMessage } from 'node:http';
import { styleText } from 'node:util';
import type { RouteResult } from '@financial-automation/server/request-checks';
import type { components } from '@financial-automation/spec';
import { curl, exampleRequest } from '@financial-automation/spec/example-requests';
import type { Contract, Operation } from '@financial-automation/spec/examples';

/** The text at startup: what runs, its URL, and how to try it. */
export function announcement({ info }: Contract, operations: Operation[], url: string): string {
  const tokenCall = operations.find(({ secured }) => !secured);
  const read = operations.find(({ method, path }) => method === 'GET' && path.endsWith('{id}'));
  if (tokenCall === undefined || read === undefined) throw new Error('The contract has no token or no row to get.');
  const [success] = read.responses;
  const missing = read.responses.find(({ status }) => status === 404)?.examples[0]?.name;
  const request = exampleRequest(read, { token: 'any-token' });
  const preferring = { ...request, headers: { ...request.headers, Prefer: `example=${success?.examples[0]?.name}` } };
  return `
${styleText('bold', `${info.title} ${info.version}, mock`)} (Prism, ${operations.length} operations)
It returns the examples of the contract and stores nothing. Any bearer token is accepted.

  ${styleText(['bold', 'cyan'], url)}

Get a token:
${indented(curl(url, exampleRequest(tokenCall)))}

Get a row, with a chosen example:
${indented(curl(url, preferring))}

To get an error: -H "Prefer: code=404", or one of several: -H "Prefer: code=404, example=${missing}".
Stop with Ctrl+C. Requests:
`;
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

/** One line for a request and its response, and one for each invalid value. */
export function logLine(
  { method, url, headers: { prefer } }: IncomingMessage,
  result: RouteResult,
  milliseconds: number,
): string {
  const { status } = result;
  const color = status < 400 ? 'green' : status < 500 ? 'yellow' : 'red';
  const time = styleText('dim', new Date().toTimeString().slice(0, 8));
  const more = styleText('dim', `${milliseconds.toFixed(0)} ms${prefer === undefined ? '' : `  prefers ${prefer}`}`);
  const line = `${time} ${styleText(color, String(status))} ${method?.padEnd(6)} ${url} ${more}`;
  if (status < 400 || prefer !== undefined) return line;
  const { detail, errors }: Partial<components['schemas']['Problem']> = Object(result.kind === 'json' && result.body);
  const faults = errors?.map((fault) => `${fault.in} ${fault.pointer} ${fault.detail}`) ?? [detail];
  return [line, ...faults.map((fault) => styleText(color, `             ${fault}`))].join('\n');
}
