/** Samples of requests in several languages, generated from the contract's examples. */

import { csharpHttpclient } from '@scalar/snippetz/plugins/csharp/httpclient';
import { javaNethttp } from '@scalar/snippetz/plugins/java/nethttp';
import { phpCurl } from '@scalar/snippetz/plugins/php/curl';
import { pythonRequests } from '@scalar/snippetz/plugins/python/requests';
import { sampleServer } from '../../packages/server/src/wire/sample-server.ts';
import { curl, type ExampleRequest, exampleRequest } from '../../packages/spec/src/example-requests.ts';
import { type Operation, readContract } from '../../packages/spec/src/examples.ts';
import { calls } from '../../packages/spec/src/index.ts';
import { literal } from './literal.ts';

export { sampleServer };

/** What stands for a variable of the environment until each language writes it in its own way. */
const tokenMark = '{{TOKEN}}';
const keyMark = '{{API_KEY}}';

/** The request that the samples of an operation send, but for those of the client, which adds its headers by itself. */
function requestOf(operation: Operation): ExampleRequest {
  const request = exampleRequest(operation, { token: tokenMark });
  const repeatable = calls[operation.id][2] === 'key';
  const headers = { ...request.headers, ...(repeatable && { 'Idempotency-Key': `example-${operation.id}` }) };
  const body = apiKeyIn(request.body) === undefined ? request.body : { ...Object(request.body), apiKey: keyMark };
  return { ...request, headers, ...(body !== undefined && { body }) };
}

/** The operation as a shell command that uses `TOKEN`, or `API_KEY` for the token request itself, and no tool but curl. */
export function curlSample(operation: Operation): string {
  // Closes the single quotes, adds the variable in double quotes, and reopens them.
  return curl(sampleServer, requestOf(operation), 2).replace(tokenMark, '$TOKEN').replace(keyMark, `'"$API_KEY"'`);
}

const plugins = { python: pythonRequests, java: javaNethttp, csharp: csharpHttpclient, php: phpCurl };

/** The request as Scalar prints it in a language. */
function printed(language: keyof typeof plugins, operation: Operation): string {
  const { method, path, headers, body } = requestOf(operation);
  return plugins[language].generate({
    method,
    url: sampleServer + path,
    headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    ...(body !== undefined && { postData: { mimeType: 'application/json', text: JSON.stringify(body, null, 2) } }),
  });
}

function pythonSample(operation: Operation): string {
  const call = printed('python', operation)
    .replace(`${tokenMark}"`, '" + os.environ["TOKEN"]')
    .replace(`"${keyMark}"`, 'os.environ["API_KEY"]');
  const usesVariable = call.includes('os.environ');
  return `${usesVariable ? 'import os\n\n' : ''}import requests\n\nresponse = ${call}\nresponse.raise_for_status()\nprint(response.text)\n`;
}

/** A file that `java` runs as it is. */
function javaSample(operation: Operation): string {
  const body = printed('java', operation)
    .replace(`${tokenMark}"`, '" + System.getenv("TOKEN")')
    .replace(/(?<=write\()(".*)\{\{API_KEY\}\}(.*")(?=\.getBytes)/, '($1" + System.getenv("API_KEY") + "$2)')
    .replaceAll(/^(?=.)/gm, '    ');
  return `import java.net.http.*;

public class Sample {
  public static void main(String[] arguments) throws Exception {
${body}
  }
}
`;
}

/** A program of .NET 7 or later, whose templates import the usual namespaces. */
function csharpSample(operation: Operation): string {
  const call = printed('csharp', operation).replace(`"${tokenMark}"`, 'Environment.GetEnvironmentVariable("TOKEN")');
  const withKey = call
    .replace('"""', () => '$$"""')
    .replace(keyMark, '{{Environment.GetEnvironmentVariable("API_KEY")}}');
  return `using System.Net.Http.Headers;
using System.Text;

${call.includes(keyMark) ? withKey : call}
Console.WriteLine(await response.Content.ReadAsStringAsync());
`;
}

function phpSample(operation: Operation): string {
  const call = printed('php', operation)
    .replace(`${tokenMark}'`, "' . getenv('TOKEN')")
    .replace(`'${keyMark}'`, "getenv('API_KEY')");
  return `<?php\n\n${call}\n`;
}

/** The languages of samples, in the order of the reference. All are derived from the same request. */
export const sampleLanguages = [
  { lang: 'curl', label: 'curl', fence: 'sh', sampleOf: curlSample },
  { lang: 'typescript', label: 'TypeScript', fence: 'ts', sampleOf: clientSample },
  { lang: 'python', label: 'Python', fence: 'python', sampleOf: pythonSample },
  { lang: 'java', label: 'Java', fence: 'java', sampleOf: javaSample },
  { lang: 'csharp', label: 'C#', fence: 'csharp', sampleOf: csharpSample },
  { lang: 'php', label: 'PHP', fence: 'php', sampleOf: phpSample },
] as const;

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
