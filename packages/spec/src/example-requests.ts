/** Requests with the examples of the contract. */
import type { Operation, Parameter } from './examples.ts';

export interface ExampleRequest {
  method: string;
  /** From the root, with the query. */
  path: string;
  headers: Record<string, string>;
  body?: unknown;
}

interface Choice {
  /** The named example to send; without it, the first. */
  example?: string;
  /** Which optional parameters are sent. Default: none. */
  optional?: (parameter: Parameter) => boolean;
  /** The access token, if the request has one. */
  token?: string;
}

/** A request of an operation, with the examples of its parameters and of one of its bodies. */
export function exampleRequest(
  operation: Operation,
  { example, optional = () => false, token }: Choice = {},
): ExampleRequest {
  const sent = operation.parameters.filter((parameter) => parameter.required || optional(parameter));
  const body = operation.body?.examples.find(({ name }) => example === undefined || name === example);
  return {
    method: operation.method,
    path: pathOf(operation, sent),
    headers: {
      ...(operation.secured && token !== undefined && { Authorization: `Bearer ${token}` }),
      ...Object.fromEntries(within('header', sent).map(({ name, example }) => [name, String(example)])),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: body.value }),
  };
}

function pathOf({ path }: Operation, sent: Parameter[]): string {
  const filled = within('path', sent).reduce(
    (text, { name, example }) => text.replace(`{${name}}`, encodeURIComponent(String(example))),
    path,
  );
  const query = new URLSearchParams();
  for (const { name, example } of within('query', sent)) {
    for (const value of Array.isArray(example) ? example : [example]) query.append(name, String(value));
  }
  return query.size === 0 ? filled : `${filled}?${query}`;
}

function within(place: Parameter['in'], parameters: Parameter[]): Parameter[] {
  return parameters.filter((parameter) => parameter.in === place);
}

/**
 * The request as a command for a shell. Header values are in double quotes, so they can contain variables such as
 * `$TOKEN`; `indent` is how far the body's JSON is indented, by default not at all.
 */
export function curl(server: string, request: ExampleRequest, indent = 0): string {
  const method =
    request.method === 'GET' || (request.method === 'POST' && request.body !== undefined)
      ? ''
      : `-X ${request.method} `;
  const lines = [`curl ${method}${doubleQuoted(server + request.path)}`];
  for (const [name, value] of Object.entries(request.headers)) lines.push(`-H ${doubleQuoted(`${name}: ${value}`)}`);
  if (request.body !== undefined) lines.push(`-d ${singleQuoted(JSON.stringify(request.body, null, indent))}`);
  return lines.join(' \\\n  ');
}

function doubleQuoted(text: string): string {
  return `"${text.replace(/["`\\]/g, '\\$&')}"`;
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
