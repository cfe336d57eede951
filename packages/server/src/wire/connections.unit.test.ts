import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { arrivalLimits, type ConnectionBounds, Connections } from './connections.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const echo: RequestListener = async (request, response) => {
  try {
    response.end(await buffer(request));
  } catch {
    response.destroy();
  }
};

async function serve(
  bounds: ConnectionBounds,
  { limits = arrivalLimits, listener = echo }: { limits?: object; listener?: RequestListener } = {},
) {
  const connections = new Connections(bounds);
  const server = createServer(limits, connections.bounded(listener)).listen(0, '127.0.0.1');
  const registry = new Registry();
  connections.watch(server);
  connections.measure(registry);
  await once(server, 'listening');
  closing.push(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return {
    registry,
    /** Opens a connection, and collects what it receives until it is closed. */
    open(localAddress = '127.0.0.1'): { socket: Socket; received: Promise<string> } {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      closing.push(() => socket.destroy());
      socket.on('error', () => socket.destroy());
      const received = new Promise<string>((resolve) => {
        let text = '';
        socket.on('data', (data) => {
          text += data;
        });
        socket.on('close', () => resolve(text));
      });
      return { socket, received };
    },
  };
}

const request = (path: string, body = 'ok', length = body.length) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`;

/** Sends a request. @returns its status; undefined if the connection was closed */
async function statusOf({ socket }: { socket: Socket }, path = '/'): Promise<number | undefined> {
  socket.write(request(path));
  const [first] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  const [, status] = /^HTTP\/1\.1 (\d+)/.exec(String(first)) ?? [];
  return status === undefined ? undefined : Number(status);
}

test.each([
  ['a body', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n'],
  ['a header', 'POST / HTTP/1.1\r\nHost: x\r\nX-Long: '],
])('closes a connection whose %s trickles in, however steadily', async (_what, start) => {
  const limits = { headersTimeout: 200, requestTimeout: 400, connectionsCheckingInterval: 50 };
  const { open } = await serve({ total: 10 }, { limits });
  const { socket, received } = open();
  socket.write(start);
  const trickle = setInterval(() => socket.write('x'), 20);
  closing.push(() => clearInterval(trickle));
  expect(await received).toMatch(/^HTTP\/1\.1 408 /);
});

const isOpen = ({ socket }: { socket: Socket }) => !socket.closed && !socket.destroyed;
const openTimes = <Value>(count: number, open: () => Value) => Array.from({ length: count }, open);

test('idle connections make room for others', async () => {
  const { open, registry } = await serve({ total: 3 });
  const idle: ReturnType<typeof open>[] = [];
  for (let count = 0; count < 3; count++) {
    const connection = open();
    expect(await statusOf(connection)).toBe(200);
    idle.push(connection);
  }
  expect(idle.every(isOpen)).toBe(true);
  expect(await statusOf(open())).toBe(200);
  await expect.poll(() => idle.some(isOpen)).toBe(false);
  await expect.poll(() => registry.metrics()).toMatch(/^connections_open\{state="idle"\} 1$/m);
});

test('many connections that open at once and send their requests are all served', async () => {
  const { open } = await serve({ total: 200 });
  const statuses = await Promise.all(openTimes(200, async () => statusOf(open())));
  expect(statuses.every((status) => status === 200)).toBe(true);
});

test('a page of an allowed origin can read why all connections reject it, after its preflight', async () => {
  const origin = 'https://app.example.com';
  const { open, registry } = await serve({ total: 1, corsOrigins: [origin] });
  open().socket.write(request('/', 'par', 7));
  await expect.poll(() => registry.metrics()).toMatch(/^connections_open\{state="busy"\} 1$/m);
  const rejected = async (method: string, headers: string) => {
    const { socket, received } = open();
    socket.write(`${method} /gql/v1/orgs HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    return received;
  };
  const allows = new RegExp(`^Access-Control-Allow-Origin: ${origin}\r$`, 'm');
  const preflight = await rejected('OPTIONS', `Origin: ${origin}\r\nAccess-Control-Request-Method: GET\r\n`);
  expect(preflight).toMatch(/^HTTP\/1\.1 204 /);
  expect(preflight).toMatch(allows);
  const problem = await rejected('GET', `Origin: ${origin}\r\n`);
  expect(problem).toMatch(/^HTTP\/1\.1 503 /);
  expect(problem).toMatch(allows);
  expect(await rejected('GET', 'Origin: https://evil.example\r\n')).not.toContain('Access-Control-Allow-Origin');
});

test('a connection with a request in progress is never closed: others are rejected, and probes are served', async () => {
  const { open, registry } = await serve({ total: 4 });
  const busy = openTimes(4, open);
  for (const { socket } of busy) socket.write(request('/', 'par', 7));
  await expect.poll(() => registry.metrics()).toMatch(/^connections_open\{state="busy"\} 4$/m);
  const rejected = open();
  rejected.socket.write(request('/'));
  const text = await rejected.received;
  expect(text).toMatch(/^HTTP\/1\.1 503 /);
  expect(text).toMatch(/^Retry-After: 1\r$/m);
  expect(text).toContain('"code":"SERVICE_UNAVAILABLE"');
  for (const path of ['/healthz', '/readyz', '/metrics?x=1']) expect(await statusOf(open(), path)).toBe(200);
  // The first request of a connection must not bring in others.
  const pipelined = open();
  pipelined.socket.write(request('/healthz') + request('/'));
  expect((await pipelined.received).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 503']);
  for (const { socket } of busy) {
    socket.write('tial');
    const [response] = await once(socket, 'data');
    expect(String(response)).toMatch(/^HTTP\/1\.1 200 [\s\S]*partial$/);
  }
  const metrics = await registry.metrics();
  expect(metrics).toMatch(/^connections_rejected_total 2$/m);
});

test('closes connections whose request does not arrive within half a minute', () => {
  const server = createServer(arrivalLimits);
  expect(server.requestTimeout).toBe(30_000);
  expect(server.headersTimeout).toBe(5_000);
});

test('pipelined requests of a connection are served one after the other, in their order', async () => {
  const [seen, running]: [string[], number[]] = [[], []];
  let inProgress = 0;
  const listener: RequestListener = async ({ url = '' }, response) => {
    inProgress += 1;
    seen.push(url);
    running.push(inProgress);
    await setImmediate();
    inProgress -= 1;
    response.end(url);
  };
  const { open } = await serve({ total: 10 }, { listener });
  const { socket, received } = open();
  const paths = Array.from({ length: 9 }, (_, index) => `/${index}`);
  socket.write(
    paths
      .slice(0, -1)
      .map((path) => request(path))
      .join(''),
  );
  socket.write(request('/8').replace('Host', 'Connection: close\r\nHost'));
  const bodies = (await received).match(/(?<=\r\n)\/\d/g);
  expect([seen, bodies]).toEqual([paths, paths]);
  expect(Math.max(...running)).toBe(1);
});

test('a connection that pipelines more requests than may wait is closed, and no more of them are served', async () => {
  let served = 0;
  const listener: RequestListener = async (_request, response) => {
    served += 1;
    await setImmediate();
    response.end('x'.repeat(1_000_000));
  };
  const { open, registry } = await serve({ total: 10 }, { listener });
  const other = open();
  const many = open();
  many.socket.write(request('/').repeat(1_000));
  await many.received;
  expect(served).toBe(1);
  expect(await registry.metrics()).toMatch(/^connections_closed_total 1$/m);
  expect(await statusOf(other)).toBe(200);
});

test('pipelined requests behind one whose caller does not read are not served', async () => {
  let served = 0;
  const listener: RequestListener = (_request, response) => {
    served += 1;
    response.end(Buffer.alloc(8_000_000));
  };
  const { open } = await serve({ total: 10 }, { listener });
  const { socket, received } = open();
  socket.pause();
  for (let sent = 0; sent < 5; sent++) socket.write(request(`/${sent}`));
  expect(await statusOf(open())).toBe(200);
  expect(served).toBe(2);
  socket.resume();
  await expect.poll(() => served).toBe(6);
  socket.end();
  expect((await received).length).toBeGreaterThan(5 * 8_000_000);
});
