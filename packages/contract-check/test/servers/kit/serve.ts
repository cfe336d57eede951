import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Auth } from '../../../src/run/options.ts';
import { type Body, essence, readBody } from './body.ts';
import type { Contract, Media, Operation } from './contract.ts';
import { readParameters, type Values } from './parameters.ts';
import { Rejection, rejection } from './rejection.ts';
import { judgeOf } from './validate.ts';
import { writeXml } from './xml.ts';

export interface Request {
  readonly method: string;
  /** Path and query, as sent. */
  readonly url: string;
  /** By lower-case name. Repeated headers are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A response before serialization: the body is a value for JSON media types, otherwise a text or bytes. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: unknown;
}

/**
 * Wraps the handling of requests. `next` handles this request or another one, any number of times; the returned
 * response is sent. `operation` is undefined if the request matches none.
 */
export type Alter = (
  request: Request,
  next: (request: Request) => Promise<Reply>,
  operation: Operation | undefined,
) => Promise<Reply> | Reply;

export interface Call<Caller> {
  readonly operation: Operation;
  readonly request: Request;
  readonly values: Values;
  readonly body: Body;
  readonly caller: Caller;
  /** The base URL of this server, without a trailing slash. */
  readonly base: string;
}

/** A handler's response. The default media type is the first that the contract declares for the status. */
export interface Result {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: unknown;
  readonly mediaType?: string;
}

export type Handler<Caller> = (call: Call<Caller>) => Result | Promise<Result>;

export interface Design<Caller> {
  readonly contract: Contract;
  readonly handlers: Readonly<Record<string, Handler<Caller>>>;
  /** @throws Rejection if the request is not authenticated or not authorized. */
  readonly authenticate: (operation: Operation, request: Request) => Caller;
  /** A rejection in the format of the contract. Without a matching path there is no operation. */
  readonly reject: (rejected: Rejection, operation: Operation | undefined) => Result;
  /** Sent with every response. */
  readonly headers?: (call: { operation: Operation | undefined; status: number }) => Readonly<Record<string, string>>;
  /** The status for an invalid body. */
  readonly invalid?: number;
  /** Responds to HEAD like GET if the contract does not declare it. Otherwise it is rejected with 405. */
  readonly head?: boolean;
  /** Ignores unknown query parameters. Otherwise they are rejected with 400. */
  readonly lenient?: boolean;
  /** In bytes. */
  readonly bodyLimit?: number;
}

export interface Running {
  readonly url: string;
  close(): Promise<void>;
}

/** A started server. */
export interface Started extends Running {
  readonly auth?: Auth;
  /** The path of the contract as published. */
  readonly specification: string;
  /** The path of the corrected contract, if it has corrections. */
  readonly corrected?: string;
}

export interface Options {
  readonly alter?: Alter;
}

interface Route {
  readonly operation: Operation;
  readonly pattern: RegExp;
  readonly names: readonly string[];
}

const xmlType = /[/+]xml$/;
export const jsonType = /[/+]json$/;

/** Serves a design on a free local port. */
export async function serve<Caller>(design: Design<Caller>, { alter }: Options = {}): Promise<Running> {
  const routes = design.contract.operations.map(routeOf).sort(concreteFirst);
  const judge = judgeOf(design.contract, 'request');
  let base = '';

  const handle = async (request: Request): Promise<Reply> => {
    const operation = find(design, routes, request);
    try {
      return finish(design, request, operation, await response(request));
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      return rejected(design, request, operation, error);
    }
  };

  const response = async (request: Request): Promise<Result> => {
    if (request.method === 'OPTIONS') return options(design, routes, request);
    const { operation, path } = match(design, routes, request);
    const caller = design.authenticate(operation, request);
    const values = readParameters(
      design.contract,
      operation,
      { path, query: queryOf(request.url), headers: request.headers },
      judge,
      design.lenient === true,
    );
    const { invalid = 400 } = design;
    const body = await readBody(design.contract, operation, request.headers, request.body, judge, invalid);
    const handler = design.handlers[operation.id];
    if (handler === undefined) throw new Error(`${operation.id} has no handler`);
    return handler({ operation, request, values, body, caller, base });
  };

  const limit = design.bodyLimit ?? 1024 * 1024;
  // Large, so that long but valid parameters are rejected by the contract and not by the transport.
  const server = createServer({ maxHeaderSize: 1024 * 1024, keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
    respond(incoming, outgoing).catch((error) => {
      console.error(error);
      outgoing.writeHead(500).end();
    });
  });

  const respond = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const bytes = await receive(incoming, limit);
    const request = requestOf(incoming, bytes ?? Buffer.alloc(0));
    const operation = find(design, routes, request);
    const tooLarge = rejection(413, `a body may have ${limit} bytes`, { connection: 'close' });
    const next = bytes === undefined ? () => Promise.resolve(rejected(design, request, operation, tooLarge)) : handle;
    send(outgoing, request, await (alter === undefined ? next(request) : alter(request, next, operation)));
  };

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: base,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function rejected<Caller>(
  design: Design<Caller>,
  request: Request,
  operation: Operation | undefined,
  why: Rejection,
): Reply {
  const result = design.reject(why, operation);
  return finish(design, request, operation, { ...result, headers: { ...why.headers, ...result.headers } });
}

function routeOf(operation: Operation): Route {
  const names = [...operation.path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name);
  const pattern = operation.path
    .split(/\{[^}]+\}/)
    .map((text) => text.replaceAll(/[.*+?^$()[\]|\\]/g, '\\$&'))
    .join('([^/]+)');
  return { operation, names, pattern: new RegExp(`^${pattern}$`) };
}

/** Paths without parameters come before those whose parameters would also match. */
function concreteFirst(one: Route, other: Route): number {
  return one.names.length - other.names.length;
}

function pathOf(url: string): string {
  return url.split('?')[0] ?? '';
}

function queryOf(url: string): string {
  return url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
}

function matching(routes: readonly Route[], request: Request): Route[] {
  const path = pathOf(request.url);
  const found = routes.filter(({ pattern }) => pattern.test(path));
  return found.filter(({ operation }) => operation.path === found[0]?.operation.path);
}

function methodsOf<Caller>(design: Design<Caller>, found: readonly Route[]): string[] {
  const methods = found.map(({ operation }) => operation.method);
  const implied = design.head === true && methods.includes('GET') && !methods.includes('HEAD') ? ['HEAD'] : [];
  return [...methods, ...implied, 'OPTIONS'].sort();
}

function find<Caller>(design: Design<Caller>, routes: readonly Route[], request: Request): Operation | undefined {
  return routeFor(design, matching(routes, request), request.method)?.operation;
}

function routeFor<Caller>(design: Design<Caller>, found: readonly Route[], method: string): Route | undefined {
  const exact = found.find(({ operation }) => operation.method === method);
  const implied = method === 'HEAD' && design.head === true;
  return exact ?? (implied ? found.find(({ operation }) => operation.method === 'GET') : undefined);
}

function match<Caller>(design: Design<Caller>, routes: readonly Route[], request: Request) {
  const found = matching(routes, request);
  if (found.length === 0) throw rejection(404, 'there is nothing at this path');
  const route = routeFor(design, found, request.method);
  if (route === undefined) {
    throw rejection(405, `${request.method} is not for this path`, { allow: methodsOf(design, found).join(', ') });
  }
  const texts = route.pattern.exec(pathOf(request.url))?.slice(1) ?? [];
  // In a path, plus is literal.
  const path = Object.fromEntries(
    route.names.map((name, index) => [name, (texts[index] ?? '').replaceAll('+', '%2B')]),
  );
  return { operation: route.operation, path };
}

function options<Caller>(design: Design<Caller>, routes: readonly Route[], request: Request): Result {
  const found = matching(routes, request);
  if (found.length === 0) throw rejection(404, 'there is nothing at this path');
  return { status: 204, headers: { allow: methodsOf(design, found).join(', ') } };
}

/** The bytes of a body; undefined if there are too many, which are discarded as they arrive. */
async function receive(incoming: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
    else chunks.length = 0;
  }
  return size > limit ? undefined : Buffer.concat(chunks);
}

function requestOf(incoming: IncomingMessage, body: Buffer): Request {
  const headers = Object.entries(incoming.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  );
  return {
    method: incoming.method ?? 'GET',
    url: incoming.url ?? '/',
    headers: Object.fromEntries(headers) as Record<string, string>,
    body,
  };
}

function finish<Caller>(
  design: Design<Caller>,
  request: Request,
  operation: Operation | undefined,
  result: Result,
): Reply {
  const more = design.headers?.({ operation, status: result.status }) ?? {};
  const headers = { ...more, ...result.headers };
  if (result.body === undefined) return { status: result.status, headers };
  const declared = mediaOf(operation, result.status);
  const mediaType = result.mediaType ?? preferred(request.headers.accept ?? '*/*', declared);
  if (!xmlType.test(mediaType)) {
    return { status: result.status, headers: { ...headers, 'content-type': mediaType }, body: result.body };
  }
  const schema = declared.find(({ type }) => type === mediaType)?.schema ?? {};
  const body = writeXml(design.contract, schema, result.body);
  return { status: result.status, headers: { ...headers, 'content-type': mediaType }, body };
}

function mediaOf(operation: Operation | undefined, status: number): readonly Media[] {
  const responses = operation?.responses;
  return (responses?.get(String(status)) ?? responses?.get('default'))?.media ?? [];
}

/** JSON, unless XML is declared and preferred. */
function preferred(accept: string, declared: readonly Media[]): string {
  const json = declared.find(({ type }) => jsonType.test(type))?.type ?? declared[0]?.type ?? 'application/json';
  const xml = declared.find(({ type }) => xmlType.test(type))?.type;
  return xml !== undefined && weight(accept, xml) > weight(accept, json) ? xml : json;
}

function weight(accept: string, mediaType: string): number {
  const ranges = accept
    .split(',')
    .map((range) => ({ name: essence(range), q: /;\s*q=([\d.]+)/.exec(range)?.[1] ?? '1' }));
  const [kind] = mediaType.split('/');
  for (const name of [mediaType, `${kind}/*`, '*/*']) {
    const range = ranges.find((one) => one.name === name);
    if (range !== undefined) return Number(range.q);
  }
  return 0;
}

function send(outgoing: ServerResponse, request: Request, reply: Reply): void {
  const type = String(reply.headers['content-type'] ?? '');
  const bytes = bytesOf(reply.body, type);
  const hasNoBody = reply.status === 204 || reply.status === 304;
  const length = hasNoBody ? {} : { 'content-length': String(bytes.length) };
  outgoing.writeHead(reply.status, { ...reply.headers, ...length });
  outgoing.end(hasNoBody || request.method === 'HEAD' ? undefined : bytes);
}

function bytesOf(body: unknown, type: string): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' && !jsonType.test(essence(type)) ? body : JSON.stringify(body));
}
