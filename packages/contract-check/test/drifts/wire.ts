import { request } from 'undici';
import type { IncomingRequest, Reply } from './message.ts';

/** The differences from the simplest call of an operation. */
export interface RequestInput {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Undefined removes a header. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Sent unchanged instead of JSON. */
  readonly raw?: string;
  readonly path?: Readonly<Record<string, string>>;
}

/** Sends a request. */
export async function send(url: string, { method, path, query, headers, body }: IncomingRequest): Promise<Reply> {
  const response = await request(`${url}${path}${query === '' ? '' : `?${query}`}`, {
    method: method as 'GET',
    headers,
    body: body ?? null,
    // With some drifts, the server never responds.
    headersTimeout: 10_000,
  });
  const flat = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
  return { status: response.statusCode, headers: Object.fromEntries(flat), text: await response.body.text() };
}

const masks: readonly [RegExp, string][] = [
  [/Zz\d{6}zZ/g, '<unique>'],
  // Counters of the workshop.
  [/0f000000-0000-4000-8000-[0-9a-f]{12}/g, '<id>'],
  [/"[0-9a-f]{6,16}-\d+"/g, '<etag>'],
  [/(?<="number":)[1-9]\d*/g, '<number>'],
  [/ey[\w-]+\.[\w-]+\.[\w-]+/g, '<token>'],

  [/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g, '<id>'],
  [/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, '<instant>'],
  [/(?<=")[CP]-\d{5}/g, '<number>'],
  [/(?<="version":|^")[1-9]\d*/g, '<version>'],
];
const headersOfCall = new Set(['date', 'connection', 'keep-alive', 'content-length', 'ratelimit']);

/**
 * A response without the parts that differ between equivalent calls: request IDs, and values that each write generates.
 */
export function comparable(reply: Reply): unknown {
  const mask = (text: string) => masks.reduce((masked, [pattern, name]) => masked.replaceAll(pattern, name), text);
  const headers = Object.entries(reply.headers)
    .filter(([name]) => !headersOfCall.has(name))
    .map(([name, value]) => [
      name,
      name === 'x-request-id' ? value.replaceAll(/[0-9a-f]+-[-0-9a-f]+/g, '<id>') : mask(value),
    ]);
  return { status: reply.status, headers: Object.fromEntries(headers), text: mask(reply.text) };
}
