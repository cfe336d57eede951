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
  const { open } = await serve({ total: 10, perAddress: 10 }, { limits });
  const { socket, received } = open();
  socket.write(start);
  const trickle = setInterval(() => socket.write('x'), 20);
  closing.push(() => clearInterval(trickle));
  expect(await received).toMatch(/^HTTP\/1\.1 408 /);
});

const isOpen = ({ socket }: { socket: Socket }) => !socket.closed && !socket.destroyed;
const openTimes = <Value>(count: number, open: () => Value) => Array.from({ length: count }, open);

test('the longest idle connection makes room for a request', async () => {
  const { open, registry } = await serve({ total: 3, perAddress: undefined });
  const idle: ReturnType<typeof open>[] = [];
  for (let count = 0; count < 3; count++) {
    const connection = open();
    expect(await statusOf(connection)).toBe(200);
    idle.push(connection);
  }
  // The first one is no longer the longest idle.
  expect(await statusOf(idle[0] ?? open())).toBe(200);
  expect(await statusOf(open())).toBe(200);
  await expect.poll(() => idle.map(isOpen)).toEqual([true, false, true]);
  const metrics = await registry.metrics();
  expect(metrics).toMatch(/^connections_closed_total\{state="idle"\} 1$/m);
  expect(metrics).toMatch(/^connections_open\{state="idle"\} 3$/m);
});

test('an address with many idle connections loses its own, not those of others', async () => {
  const { open } = await serve({ total: 6, perAddress: 5 });
  const other = open('127.0.0.2');
  expect(await statusOf(other)).toBe(200);
  const many: ReturnType<typeof open>[] = [];
  for (let count = 0; count < 20; count++) {
    many.push(open());
    expect(await statusOf(many.at(-1) ?? other)).toBe(200);
  }
  await expect.poll(() => many.filter(isOpen).length).toBe(5);
  expect(many.slice(-5).every(isOpen)).toBe(true);
  expect(await statusOf(other)).toBe(200);
});

test('connections without a complete header have few places, of which the oldest makes room', async () => {
  const limits = { ...arrivalLimits, headersTimeout: 120_000, requestTimeout: 120_000 };
  const { open, registry } = await serve({ total: 8, perAddress: undefined }, { limits });
  const halfOpen: ReturnType<typeof open>[] = [];
  for (let count = 0; count < 20; count++) {
    const connection = open(`127.0.0.${10 + (count % 5)}`);
    connection.socket.write('GET / HTTP/1.1\r\nHost: x\r\n');
    halfOpen.push(connection);
    await once(connection.socket, 'connect');
    expect(await statusOf(open())).toBe(200);
  }
  await expect.poll(() => halfOpen.filter(isOpen).length).toBe(2);
  expect(await registry.metrics()).toMatch(/^connections_closed_total\{state="new"\} 18$/m);
});

test('connections without a header are closed a few at a time, so that requests do not wait until all are closed', async () => {
  const { open, registry } = await serve({ total: 8, perAddress: undefined });
  const closed = async () => {
    const { values = [] } = (await registry.getSingleMetric('connections_closed_total')?.get()) ?? {};
    return values.reduce((sum, { value }) => sum + value, 0);
  };
  const silent = openTimes(60, open);
  await Promise.all(silent.map(({ socket }) => once(socket, 'connect')));
  const perTurn: number[] = [];
  for (let before = 0; before < 58; ) {
    await setImmediate();
    const now = await closed();
    perTurn.push(now - before);
    before = now;
  }
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(8);
  await expect.poll(() => silent.filter(isOpen).length).toBe(2);
  expect(silent.slice(-2).every(isOpen)).toBe(true);
});

test('many connections that open at once and send their requests are all served', async () => {
  const { open } = await serve({ total: 200, perAddress: undefined });
  const statuses = await Promise.all(openTimes(200, async () => statusOf(open())));
  expect(statuses.every((status) => status === 200)).toBe(true);
});

test('a page of an allowed origin can read why all connections reject it, after its preflight', async () => {
  const origin = 'https://app.example.com';
  const { open, registry } = await serve({ total: 1, perAddress: undefined, corsOrigins: [origin] });
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
  const { open, registry } = await serve({ total: 4, perAddress: undefined });
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
  expect(metrics).toMatch(/^connections_rejected_total\{limit="service"\} 2$/m);
});

test('addresses with many requests in progress leave places for others', async () => {
  const { open, registry } = await serve({ total: 12, perAddress: 10 });
  const rejected: string[] = [];
  for (let count = 0; count < 30; count++) {
    const { socket, received } = open(`127.0.0.${10 + (count % 3)}`);
    socket.write(request('/', '', 5));
    void received.then((text) => rejected.push(text));
    const done = async () => (await registry.metrics()).match(/^connections_open\{state="busy"\} (\d+)$/m)?.[1];
    await expect.poll(async () => Number(await done()) + rejected.length).toBe(count + 1);
  }
  expect(rejected.length).toBeGreaterThan(15);
  for (const text of rejected) expect(text).toMatch(/^HTTP\/1\.1 429 [\s\S]*"code":"CONCURRENCY_LIMITED"/);
  expect(await statusOf(open('127.0.0.2'))).toBe(200);
  expect(await registry.metrics()).toMatch(/^connections_rejected_total\{limit="address"\} \d/m);
});

test.each([
  ['do not send a header', 'POST / HTTP/1.1\r\nHost: x\r\n'],
  ['do not send their body', request('/', 'par', 7)],
])('an address whose connections %s again and again loses new ones, and others do not', async (_what, text) => {
  const rejecting: RequestListener = (_request, response) => response.writeHead(413, { Connection: 'close' }).end();
  const { open, registry } = await serve({ total: 8, perAddress: 8 }, { listener: rejecting });
  const rejected = async () =>
    Number(/^connections_rejected_total\{limit="waste"\} (\d+)$/m.exec(await registry.metrics())?.[1]);
  const attack = async () => {
    const { socket, received } = open('127.0.0.2');
    socket.write(text);
    await Promise.race([received, once(socket, 'connect')]);
  };
  for (let round = 0; round < 100; round += 1) await Promise.all(openTimes(10, attack));
  await expect.poll(rejected).toBeGreaterThan(100);
  expect(await statusOf(open('127.0.0.3'))).toBe(413);
});

test('an address whose requests are whole may open as many connections as it likes', async () => {
  const { open } = await serve({ total: 8, perAddress: 8 });
  for (let count = 0; count < 300; count += 1) {
    const connection = open();
    expect(await statusOf(connection)).toBe(200);
    connection.socket.destroy();
  }
});

test('an address whose requests are rejected before their bodies arrive keeps its connections if it sends them', async () => {
  const rejecting: RequestListener = (_request, response) => response.writeHead(401).end();
  const { open } = await serve({ total: 8, perAddress: 8 }, { listener: rejecting });
  for (let count = 0; count < 300; count += 1) {
    const { socket } = open();
    socket.write(request('/', '', 5));
    const [response] = await once(socket, 'data');
    expect(String(response)).toMatch(/^HTTP\/1\.1 401 /);
    socket.end('whole');
    await once(socket, 'close');
  }
});

test('behind a proxy, no connection counts as wasted: all come from its address', async () => {
  const { open } = await serve({ total: 8, perAddress: undefined });
  for (let count = 0; count < 300; count += 1) {
    const { socket } = open();
    socket.write(request('/', 'par', 7));
    socket.end();
    await once(socket, 'close');
  }
  expect(await statusOf(open())).toBe(200);
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
  const { open } = await serve({ total: 10, perAddress: undefined }, { listener });
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
  const { open, registry } = await serve({ total: 10, perAddress: undefined }, { listener });
  const other = open();
  const many = open();
  many.socket.write(request('/').repeat(1_000));
  await many.received;
  expect(served).toBe(1);
  expect(await registry.metrics()).toMatch(/^connections_closed_total\{state="busy"\} 1$/m);
  expect(await statusOf(other)).toBe(200);
});

test('pipelined requests behind one whose caller does not read are not served', async () => {
  let served = 0;
  const listener: RequestListener = (_request, response) => {
    served += 1;
    response.end(Buffer.alloc(8_000_000));
  };
  const { open } = await serve({ total: 10, perAddress: undefined }, { listener });
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
