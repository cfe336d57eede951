import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import type { Operation } from '../../src/document/operation.ts';
import type { IncomingRequest, Reply } from './message.ts';

export type Next = (incoming: IncomingRequest) => Promise<Reply>;

/**
 * Handles a request; `next` sends it to the server behind the proxy. If no response is returned, the connection is
 * closed.
 */
export type Alter = (incoming: IncomingRequest, next: Next) => Promise<Reply | undefined> | Reply | undefined;

/** A proxy that can alter the requests and responses of a server. */
export interface AlteringProxy {
  readonly url: string;
  /** Sets the alteration; undefined passes everything on. */
  use(alter: Alter | undefined): void;
  /** Sets the server behind the proxy. */
  setTarget(target: string): Promise<void>;
  close(): Promise<void>;
}

/** Headers of the connection, not of the message. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'host',
  'expect',
  'upgrade',
]);

export async function openProxy(target: string, operations: readonly Operation[]): Promise<AlteringProxy> {
  let pool = new Pool(target, { connections: 16 });
  const find = finder(operations);
  let alter: Alter | undefined;

  const next: Next = async ({ method, path, query, headers, body }) => {
    const respond = await pool.request({
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers,
      body: body ?? null,
    });
    const returned = flat(respond.headers);
    const bytes = Buffer.from(await respond.body.arrayBuffer());
    const encoding = /^(image|application\/octet-stream)/.test(returned['content-type'] ?? '') ? 'latin1' : 'utf8';
    return { status: respond.statusCode, headers: returned, text: bytes.toString(encoding), encoding };
  };

  const server = createServer((request, outgoing) => {
    respond(request, outgoing).catch(() => outgoing.destroy());
  });
  async function respond(request: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const [path = '', query = ''] = split(request.url ?? '');
    const method = request.method ?? 'GET';
    const incoming: IncomingRequest = {
      ...find(method, path),
      method,
      path,
      query,
      headers: flat(request.headers),
      body: parts.length === 0 ? undefined : Buffer.concat(parts),
    };
    const reply = await altered(incoming);
    if (reply === undefined) return void outgoing.destroy();
    const bytes = Buffer.from(reply.text, reply.encoding);
    outgoing.writeHead(reply.status, {
      ...reply.headers,
      ...(bytes.length > 0 || ![204, 304].includes(reply.status) ? { 'content-length': bytes.length } : {}),
    });
    outgoing.end(request.method === 'HEAD' ? undefined : bytes);
  }

  async function altered(incoming: IncomingRequest): Promise<Reply | undefined> {
    try {
      return await (alter === undefined ? next(incoming) : alter(incoming, next));
    } catch (error) {
      // Bodies that are nested too deeply to alter are passed on.
      if (error instanceof RangeError) return next(incoming);
      throw error;
    }
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    use(expected) {
      alter = expected;
    },
    async setTarget(other) {
      const before = pool;
      pool = new Pool(other, { connections: 16 });
      await before.destroy();
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await pool.destroy();
    },
  };
}

/** The operation of a method and a path. Fixed segments take precedence over parameters. */
export function finder(
  operations: readonly Operation[],
): (method: string, path: string) => Pick<IncomingRequest, 'operation' | 'template'> {
  const templates = [...new Set(operations.map((operation) => operation.path))]
    .sort((one, other) => one.split('{').length - other.split('{').length)
    .map((template) => ({ template, pattern: patternOf(template) }));
  return (method, path) => {
    const template = templates.find(({ pattern }) => pattern.test(path))?.template;
    const operation = operations.find((one) => one.path === template && one.method === method)?.id;
    return { template, operation };
  };
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`).replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);
}

function split(url: string): [path: string, query: string] {
  const mark = url.indexOf('?');
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name, value]) => !hopByHop.has(name) && value !== undefined);
  return Object.fromEntries(
    kept.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : String(value)]),
  );
}
