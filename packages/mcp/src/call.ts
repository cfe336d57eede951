/** Calls of operations: from the arguments of a model to a request, and from the response to text of a bounded length. */

import type { CallToolResult } from '@modelcontextprotocol/server';
import { type Client, isProblem, type Problem, ProblemError } from '../../client/src/index.ts';
import type { Operation, OperationId } from './contract.ts';
import { groupBy } from './group-by.ts';
import { defaultPageSize, parametersOf } from './tools.ts';

type Arguments = Readonly<Record<string, unknown>>;

interface Request {
  readonly path: Record<string, unknown>;
  readonly query: Record<string, unknown>;
  readonly headers: Record<string, unknown>;
  readonly body?: unknown;
  readonly signal: AbortSignal;
}
interface Response {
  readonly ok: boolean;
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

/** An operation that is known only at run time, with an input that the service validates. */
export type Send = (operationId: OperationId, request: Request) => Promise<Response>;

export function senderOf(client: Client): Send {
  // The types of the client are for operations that are known at compile time.
  const operations = client as unknown as Record<OperationId, (request: Request) => Promise<Response>>;
  return (operationId, request) => operations[operationId](request);
}

/**
 * Calls an operation. Whatever goes wrong is a result with `isError`, so that the model can correct its arguments.
 * @param fields paths of the fields of each row that the result has; all, if there are none
 * @param limit maximum number of characters of the result
 */
export async function callOperation(
  operation: Operation,
  args: Arguments,
  fields: readonly string[],
  { send, limit, signal }: { send: Send; limit: number; signal: AbortSignal },
): Promise<CallToolResult> {
  const error = errorIn(operation, args);
  if (error !== undefined) return failure(error);
  try {
    const response = await send(operation.id, { ...requestOf(operation, args), signal });
    if (!response.ok)
      return failure(isProblem(response.body) ? problemText(response.body) : `Status ${response.status}.`);
    return resultOf(operation, response, fields, limit);
  } catch (error) {
    if (error instanceof ProblemError) return failure(problemText(error.problem));
    return failure(`The service cannot be reached: ${error instanceof Error ? error.message : error}`);
  }
}

export function textResult(...texts: readonly string[]): CallToolResult {
  return { content: texts.map((text) => ({ type: 'text', text })) };
}

export function failure(text: string): CallToolResult {
  return { isError: true, ...textResult(text) };
}

/** Arguments that cannot be part of a request. Values are validated by the service. */
function errorIn(operation: Operation, args: Arguments): string | undefined {
  const parameters = parametersOf(operation);
  const names = [...parameters.map(({ name }) => name), ...(operation.body === undefined ? [] : ['body'])];
  const unknown = Object.keys(args).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    const known = names.length === 0 ? 'It has no arguments.' : `Its arguments are ${names.join(', ')}.`;
    return `${operation.id} has no argument ${unknown.join(', ')}. ${known}`;
  }
  const missing = parameters.filter(({ name, required }) => required === true && args[name] === undefined);
  if (missing.length > 0) return `${operation.id} requires ${missing.map(({ name }) => name).join(', ')}.`;
  return undefined;
}

function requestOf(operation: Operation, args: Arguments): Omit<Request, 'signal'> {
  const parameters = parametersOf(operation);
  const within = (place: string) =>
    Object.fromEntries(
      parameters.flatMap(({ name, in: where }) =>
        where === place && args[name] !== undefined ? [[name, args[name]]] : [],
      ),
    );
  const pageSize = operation.paging === null ? {} : { pageSize: defaultPageSize };
  const query = within('query');
  if (operation.body === undefined) {
    return { path: within('path'), query: { ...pageSize, ...query }, headers: within('header') };
  }
  const body = args.body ?? {};
  const isObject = typeof body === 'object' && !Array.isArray(body);
  return { path: within('path'), query, headers: within('header'), body: isObject ? { ...pageSize, ...body } : body };
}

function resultOf(
  operation: Operation,
  { status, body, headers }: Response,
  fields: readonly string[],
  limit: number,
): CallToolResult {
  const chosen = fields.length === 0 ? body : withFields(body, fields);
  const { shown, note } = withinLimit(chosen, limit);
  const etag = headers.get('ETag');
  const location = headers.get('Location');
  return textResult(
    shown ?? `Status ${status}, without content.`,
    // The rows that are not shown would be skipped.
    ...(note === undefined ? nextPage(operation, body) : [note]),
    ...(headers.get('Dry-Run') === 'true' ? ['This was a rehearsal: nothing was stored.'] : []),
    ...(etag === null ? [] : [`ETag: ${etag}`]),
    ...(location === null ? [] : [`Location: ${location}`]),
  );
}

/** The fields of each row of a page, or of the body itself. */
function withFields(body: unknown, fields: readonly string[]): unknown {
  const paths = fields.map((field) => field.split('.'));
  const { data }: { data?: unknown } = Object(body);
  return Array.isArray(data) ? { ...Object(body), data: data.map((row) => picked(row, paths)) } : picked(body, paths);
}

function picked(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (Array.isArray(value)) return value.map((item) => picked(item, paths));
  if (typeof value !== 'object' || value === null) return value;
  const groups = groupBy(paths, ([name]) => name ?? '');
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const deeper = groups.get(name)?.map(([, ...rest]) => rest);
      if (deeper === undefined) return [];
      return [[name, deeper.some((rest) => rest.length === 0) ? member : picked(member, deeper)]];
    }),
  );
}

/** As many rows as fit, with the number of all; another result is cut. */
function withinLimit(body: unknown, limit: number): { readonly shown: string | undefined; readonly note?: string } {
  const text: string | undefined = JSON.stringify(body);
  if (text === undefined || text.length <= limit) return { shown: text };
  const { data }: { data?: unknown } = Object(body);
  if (!Array.isArray(data) || data.length < 2)
    return {
      shown: text.slice(0, limit),
      note: `${limit} of ${text.length} characters are shown. Choose fewer \`fields\`.`,
    };
  let count = Math.max(1, Math.floor((data.length * limit) / text.length));
  const part = () => JSON.stringify({ ...Object(body), data: data.slice(0, count) });
  while (count > 1 && part().length > limit) count -= 1;
  return {
    shown: part(),
    note: `${count} of the ${data.length} rows of this page are shown. Choose fewer \`fields\`, or repeat the call with a \`pageSize\` of ${count}.`,
  };
}

function nextPage({ paging, body: hasBody }: Operation, body: unknown): string[] {
  const { hasMore, nextCursor }: { hasMore?: unknown; nextCursor?: unknown } = Object(body);
  if (paging === null || hasMore !== true) return [];
  const place = hasBody === undefined ? '' : 'body.';
  if (paging === 'feed') return [`There are more rows. Repeat the call with ${place}after "${nextCursor}".`];
  const without = paging === 'offset' || paging === 'number' ? `, without ${place}page` : '';
  return [`There are more rows. Repeat the call with ${place}cursor "${nextCursor}"${without}.`];
}

/** What a model needs of a problem to correct its call. */
function problemText({ status, code, detail, errors, requestId }: Problem): string {
  return JSON.stringify({ status, code, detail, ...(errors === undefined ? {} : { errors }), requestId });
}
