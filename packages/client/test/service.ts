/** An HTTP server that returns what a test defines, and records the requests. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ClientOptions, createClient } from '../src/index.ts';

export interface Received {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: IncomingHttpHeaders;
  /** The parsed JSON, or undefined without a body. */
  body: unknown;
}

export type Reply =
  | { status?: number; headers?: Record<string, string>; body?: unknown; text?: string }
  /** The connection breaks, after the request has arrived. */
  | 'reset'
  /** The server never responds. */
  | 'silence';

export type Handler = (request: Received, index: number) => Reply | Promise<Reply>;

export class Service {
  /** The received requests, without exchanges of tokens. */
  readonly received: Received[] = [];
  readonly exchanges: Received[] = [];
  /** Responds to calls; `index` counts them from 0. */
  respond: Handler = () => ({ body: {} });
  /** Responds to exchanges of the API key. By default with `token-1`, `token-2` and so on, valid for 15 minutes. */
  exchange: Handler = (_, index) => ({ body: tokenNamed(`token-${index + 1}`) });
  readonly #server = createServer((request, response) => {
    void this.#serve(request, response);
  });

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  breakConnections(): void {
    this.#server.closeAllConnections();
  }

  async stop(): Promise<void> {
    this.breakConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get baseUrl(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  client(options: Partial<Omit<ClientOptions, 'apiKey' | 'accessToken'>> = {}) {
    return createClient({ baseUrl: this.baseUrl, tenant: 'hartwell', apiKey: 'key', ...options });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await read(request);
    const isExchange = received.path === '/v1/auth/token';
    const all = isExchange ? this.exchanges : this.received;
    all.push(received);
    const reply = await (isExchange ? this.exchange : this.respond)(received, all.length - 1);
    if (reply === 'silence') return;
    if (reply === 'reset') {
      request.socket.destroy();
      return;
    }
    const { status = 200, headers = {}, body, text = JSON.stringify(body) } = reply;
    response.writeHead(status, {
      'Content-Type': status < 400 ? 'application/json' : 'application/problem+json',
      ...headers,
    });
    response.end(text);
  }
}

export function tokenNamed(access_token: string, expires_in = 900) {
  return { access_token, token_type: 'Bearer', expires_in };
}

export function problem(status: number, code: string, headers: Record<string, string> = {}): Reply {
  const requestId = '0199a3c4-7d10-7b2e-9c41-6f0a8e5d2b17';
  const type = `urn:financial-automation:problem:${code}`;
  return {
    status,
    headers,
    body: {
      type,
      title: code,
      status,
      detail: 'Told by the test.',
      instance: `urn:uuid:${requestId}`,
      code,
      requestId,
    },
  };
}

async function read(request: IncomingMessage): Promise<Received> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const text = Buffer.concat(parts).toString();
  const url = new URL(request.url ?? '/', 'http://service');
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: request.headers,
    body: text === '' ? undefined : request.headers['content-type'] === 'application/json' ? JSON.parse(text) : text,
  };
}
