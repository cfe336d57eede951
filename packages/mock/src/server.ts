/** The mock over HTTP: the service's own checks of requests, and the contract's examples from Prism. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listen } from '@financial-automation/server/listen';
import {
  checkByContract,
  documentAt,
  messages,
  newId,
  problemResult,
  Rejection,
  type RouteResult,
  send,
} from '@financial-automation/server/request-checks';
import { type Prism, startPrism } from './prism.ts';
import { chooseResponse, chosenOf, pageOf, responseDocument } from './responses.ts';

interface Options {
  /** 0 for any free port. */
  readonly port: number;
  readonly host?: string;
  /** Called after each response. */
  readonly onResponse?: (request: IncomingMessage, result: RouteResult, milliseconds: number) => void;
}

export interface RunningMock {
  /** Its URL, without a trailing slash. */
  readonly url: string;
  close(): Promise<void>;
}

/** On every response. Pages of any origin can use the mock, because it has no data to protect. Names in lower case, as Prism sends them. */
const common = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': '*',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** Starts the mock. @throws Error with a sentence if it cannot listen on the port */
export async function startMock({ port, host = '127.0.0.1', onResponse }: Options): Promise<RunningMock> {
  const { promise: ready, resolve: begin } = Promise.withResolvers<Prism>();
  const server = createServer(messages, async (request, response) => {
    const started = performance.now();
    const id = newId();
    try {
      const result = await resultOf(await ready, urlOf(server), request, response).catch((error) => {
        const failure = new Rejection('INTERNAL_ERROR', `The mock failed: ${error}`);
        return problemResult(error instanceof Rejection ? error : failure, id);
      });
      await send(response, result, { ...common, 'x-request-id': id });
      onResponse?.(request, result, performance.now() - started);
    } catch (error) {
      console.error(error);
      response.destroy();
    }
  });
  await listen(server, host, port, 'PORT');
  // Prism takes seconds to start, which a port that is in use does not have to wait for.
  const prism = await startPrism(responseDocument()).catch((error) => {
    server.close();
    throw error;
  });
  begin(prism);
  return {
    url: urlOf(server),
    async close() {
      await new Promise((resolve) => server.close(resolve).closeAllConnections());
      await prism.close();
    },
  };
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function resultOf(
  prism: Prism,
  own: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<RouteResult> {
  const { method, url, headers: sent } = request;
  const preflight = sent['access-control-request-method'];
  if (method === 'OPTIONS' && preflight !== undefined) {
    const allowed = {
      'access-control-allow-methods': preflight,
      'access-control-allow-headers': sent['access-control-request-headers'] ?? '*',
    };
    return { kind: 'page', status: 204, headers: allowed, text: '' };
  }
  const document = method === 'GET' ? await documentAt(url, own) : undefined;
  if (document !== undefined) return document;
  const accepted = await checkByContract(request, response);
  const { code, example } = chooseResponse(accepted, sent.prefer?.toString());
  const { headers: all, body } = await prism.response(accepted.operation, code, example);
  // The examples of these headers say what the mock does not do.
  const isTrue = (name: string) => name !== 'idempotency-replayed' && (name !== 'dry-run' || sent[name] === 'true');
  const headers = Object.fromEntries(Object.entries(all).filter(([name]) => isTrue(name)));
  if (body === undefined) return { kind: 'page', status: code, headers, text: '' };
  return {
    kind: 'json',
    status: code,
    headers,
    body: code === 200 ? chosenOf(accepted, pageOf(accepted, body)) : body,
  };
}
