import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Pool } from 'undici';
import { CannotRun } from '../cannot-run.ts';
import type { Candidate } from '../finding/finding.ts';
import { responseOf } from '../http/client.ts';
import type { CheckOptions } from '../options.ts';
import type { Report } from '../report/report.ts';
import { TrafficJudge } from './traffic.ts';

export interface ProxyOptions extends CheckOptions {
  readonly url: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly onFinding?: (finding: Candidate) => void;
}

export interface RunningProxy {
  readonly url: string;
  /** Stops the proxy and returns the report. */
  stop(): Promise<Report>;
}

/** Headers of a single connection (RFC 9110, 7.6.1), and headers that the proxy sets itself. */
const hopByHop = new Set(
  (
    'connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding ' +
    'upgrade host content-length expect'
  ).split(' '),
);

/**
 * Forwards requests between a client and a server, and checks the traffic.
 *
 * @throws CannotRun if the port is in use.
 */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const judge = await TrafficJudge.create(options);
  const target = new URL(options.url);
  const pool = new Pool(target.origin);
  const server = createServer((request, outgoing) => {
    forward(request, outgoing).catch((error: unknown) => {
      if (!outgoing.headersSent) outgoing.writeHead(502, { 'content-type': 'text/plain' });
      outgoing.end(
        `The server at ${options.url} cannot be reached: ${error instanceof Error ? error.message : String(error)}\n`,
      );
    });
  });

  async function forward(request: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const headers = passing(request.headers);
    const path = `${target.pathname.replace(/\/$/, '')}${request.url ?? '/'}`;
    const started = performance.now();
    const got = await pool.request({
      method: (request.method ?? 'GET') as 'GET',
      path,
      headers,
      ...(body.length > 0 ? { body } : {}),
    });
    const response = Buffer.from(await got.body.arrayBuffer());
    const received = passing(got.headers);
    outgoing.writeHead(got.statusCode, {
      ...received,
      ...(request.method === 'HEAD' ? {} : { 'content-length': response.length }),
    });
    outgoing.end(response);
    const sent = {
      method: request.method ?? 'GET',
      url: `${target.origin}${path}`,
      headers: joined(headers),
      body: body.length > 0 ? body.toString() : undefined,
    };
    // A compressed body is forwarded, but not checked.
    if (got.headers['content-encoding'] !== undefined) return;
    const findings = judge.add(
      sent,
      responseOf(got.statusCode, joined(received), response.toString(), performance.now() - started),
    );
    for (const finding of findings) options.onFinding?.(finding);
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new CannotRun(`Port ${options.port} is in use. Choose another one with --proxy PORT.`)
          : error,
      ),
    );
    server.listen(options.port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await pool.destroy();
      return judge.report(options.url);
    },
  };
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

function passing(headers: Headers): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || hopByHop.has(name) ? [] : [[name, value]],
    ),
  );
}

function joined(headers: Readonly<Record<string, string | string[]>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}
