/** Samples of requests in several languages, generated from the contract's examples. */

import { sampleServer } from '../../packages/server/src/wire/sample-server.ts';
import { curl, exampleRequest } from '../../packages/spec/src/example-requests.ts';
import { type Operation, readContract } from '../../packages/spec/src/examples.ts';
import { calls } from '../../packages/spec/src/index.ts';
import { literal } from './literal.ts';

export { sampleServer };

/** The operation as a shell command that uses `TOKEN`, or `API_KEY` for the token request itself, and no tool but curl. */
export function curlSample(operation: Operation): string {
  const request = exampleRequest(operation, { token: '$TOKEN' });
  const repeatable = calls[operation.id][2] === 'key';
  const headers = { ...request.headers, ...(repeatable && { 'Idempotency-Key': `example-${operation.id}` }) };
  const command = curl(sampleServer, { ...request, headers }, 2);
  const apiKey = apiKeyIn(request.body);
  // Closes the single quotes, adds the variable in double quotes, and reopens them.
  return apiKey === undefined ? command : command.replace(apiKey, `'"$API_KEY"'`);
}

/** The operation as a program with the client; lists use its iterator. */
export function clientSample(operation: Operation): string {
  const { body } = exampleRequest(operation);
  const apiKey = apiKeyIn(body);
  const input = {
    ...within('path', operation),
    ...within('query', operation),
    ...(body !== undefined && { body }),
  };
  const isList = calls[operation.id][3] !== null;
  const start = isList
    ? `for await (const row of client.${operation.id}.rows(`
    : `const result = await orThrow(client.${operation.id}(`;
  const call = Object.keys(input).length === 0 ? start : `${start}${literal(input, start.length + 4)}`;
  const typed = 'body' in input && isOfRecords(input.body) ? withCustomTypes(call) : call;
  const imports = ['createClient', ...(typed === call ? [] : ['customType']), ...(isList ? [] : ['orThrow'])];
  const program = [
    `import { ${imports.join(', ')} } from '@financial-automation/client';`,
    '',
    'const client = createClient({',
    `  baseUrl: '${sampleServer}',`,
    "  tenant: 'hartwell',",
    "  apiKey: process.env.API_KEY ?? '',",
    '});',
    '',
    ...(apiKey === undefined
      ? []
      : ['// The client sends this request automatically, before the first one that requires a token.']),
    ...(isList ? [`${typed})) {`, '  console.log(row);', '}'] : [`${typed}));`, 'console.log(result);']),
    '',
  ].join('\n');
  return apiKey === undefined ? program : program.replace(`'${apiKey}'`, "process.env.API_KEY ?? ''");
}

const { components } = await readContract();
const standardTypes = new Set<unknown>(Object(components.schemas?.CustomTypeName).not?.enum);

function isOfRecords(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'records' in body;
}

/** Wraps the names of custom record types in `customType`. */
function withCustomTypes(call: string): string {
  return call.replace(/\btype: '(\w+)'/g, (all, name) =>
    standardTypes.has(name) ? all : `type: customType('${name}')`,
  );
}

function within(place: 'path' | 'query', { parameters }: Operation): Record<string, Record<string, unknown>> {
  const sent = parameters.filter((parameter) => parameter.in === place && parameter.required);
  return sent.length === 0 ? {} : { [place]: Object.fromEntries(sent.map(({ name, example }) => [name, example])) };
}

/** The example's key is not signed, so readers must replace it with their own. */
function apiKeyIn(body: unknown): string | undefined {
  return typeof body === 'object' && body !== null && 'apiKey' in body ? String(body.apiKey) : undefined;
}
