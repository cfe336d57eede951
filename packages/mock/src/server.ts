/** The mock over HTTP. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import accepts from 'accepts';
import { operationsOf, readContract } from './contract.ts';
import { createMock, type Mock, type MockRequest } from './prism.ts';
import { type MockResponse, ownProblem } from './problems.ts';
import { MalformedBody } from './validation.ts';

interface Options {
  /** 0 for any free port. */
  port: number;
  host?: string;
  /** Called after each response. */
  onResponse?: (request: MockRequest, response: MockResponse, milliseconds: number) => void;
}

export interface RunningMock {
  /** Its URL, without a trailing slash. */
  url: string;
  close(): Promise<void>;
}

/** More than the body limit of any operation; larger bodies are not kept in memory. */
const readLimit = 10 * 1024 * 1024;

/** Starts the mock. Rejects with Node's error if the port is in use (`EADDRINUSE`) or not allowed (`EACCES`). */
export async function startMock({ port, host = '127.0.0.1', onResponse }: Options): Promise<RunningMock> {
  const contract = await readContract();
  const mock = await createMock(contract, operationsOf(contract));
  const document = JSON.stringify(contract);
  const server = createServer((incoming, outgoing) => {
    handle(mock, document, incoming, outgoing, onResponse).catch((error) => {
      console.error(error);
      outgoing.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(
  mock: Mock,
  document: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  onResponse: Options['onResponse'],
) {
  // Pages of any origin can use the mock, because it has no data to protect.
  outgoing.setHeader('access-control-allow-origin', '*');
  outgoing.setHeader('access-control-expose-headers', '*');
  if (incoming.method === 'OPTIONS' && incoming.headers['access-control-request-method'] !== undefined) {
    outgoing.setHeader('access-control-allow-methods', incoming.headers['access-control-request-method']);
    outgoing.setHeader('access-control-allow-headers', incoming.headers['access-control-request-headers'] ?? '*');
    outgoing.writeHead(204).end();
    return;
  }
  if (incoming.method === 'GET' && incoming.url === '/openapi.json') {
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(document);
    return;
  }
  const started = performance.now();
  const request = await read(incoming);
  const response = await mock(request).catch((error: Error) => ownProblem({ kind: 'fault', detail: error.message }));
  const hasBody = response.body !== undefined;
  // Prism sends a media type even if there is no body.
  const headers = Object.entries(response.headers).filter(([name]) => hasBody || name.toLowerCase() !== 'content-type');
  outgoing.writeHead(response.status, Object.fromEntries(headers));
  outgoing.end(hasBody ? JSON.stringify(response.body) : undefined);
  onResponse?.(request, response, performance.now() - started);
}

async function read(incoming: IncomingMessage): Promise<MockRequest> {
  const chunks: Buffer[] = [];
  let bodyLength = 0;
  for await (const chunk of incoming) {
    bodyLength += chunk.length;
    if (bodyLength <= readLimit) chunks.push(chunk);
  }
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
  return {
    method: incoming.method ?? 'GET',
    url: new URL(incoming.url ?? '/', 'http://mock'),
    headers,
    body: bodyOf(Buffer.concat(chunks), headers['content-type'] ?? ''),
    bodyLength,
    acceptsJson: accepts(incoming).type(['application/json', 'application/problem+json']) !== false,
  };
}

function bodyOf(bytes: Buffer, contentType: string): unknown {
  if (!/^application\/json\s*(;|$)/i.test(contentType)) return bytes.toString();
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    return new MalformedBody(error instanceof Error ? error.message : String(error));
  }
}
