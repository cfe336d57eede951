import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { arrivalLimits, boundConnections, type ConnectionBounds } from './connections.ts';

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

async function serve(bounds: ConnectionBounds, limits: object = arrivalLimits) {
  const server = createServer(limits, echo).listen(0, '127.0.0.1');
  const registry = new Registry();
  boundConnections(server, bounds, registry);
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

const request = 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok';
async function isServed({ socket }: { socket: Socket }): Promise<boolean> {
  socket.write(request);
  const [first] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  return String(first).startsWith('HTTP/1.1 200');
}

test.each([
  ['a body', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n'],
  ['a header', 'POST / HTTP/1.1\r\nHost: x\r\nX-Long: '],
])('closes a connection whose %s trickles in, however steadily', async (_what, start) => {
  const { open } = await serve(
    { total: 10, perAddress: 10 },
    { headersTimeout: 200, requestTimeout: 400, connectionsCheckingInterval: 50 },
  );
  const { socket, received } = open();
  socket.write(start);
  const trickle = setInterval(() => socket.write('x'), 20);
  closing.push(() => clearInterval(trickle));
  expect(await received).toMatch(/^HTTP\/1\.1 408 /);
});

test('limits the connections of one address, and accepts a new one for each that closes', async () => {
  const { open, registry } = await serve({ total: 10, perAddress: 2 });
  const first = open();
  const second = open();
  expect([await isServed(first), await isServed(second)]).toEqual([true, true]);
  expect(await isServed(open())).toBe(false);
  expect(await isServed(open('127.0.0.2'))).toBe(true);
  first.socket.destroy();
  await expect.poll(() => isServed(open())).toBe(true);
  const metrics = await registry.metrics();
  expect(metrics).toMatch(/^connections_rejected_total\{limit="address"\} [1-9]/m);
  expect(metrics).toMatch(/^connections_open [234]$/m);
});

test('limits the connections of all addresses together', async () => {
  const { open, registry } = await serve({ total: 2, perAddress: undefined });
  expect([await isServed(open()), await isServed(open('127.0.0.2'))]).toEqual([true, true]);
  expect(await isServed(open('127.0.0.3'))).toBe(false);
  expect(await registry.metrics()).toMatch(/^connections_rejected_total\{limit="service"\} 1$/m);
});

test('closes connections whose request does not arrive within half a minute', () => {
  const server = createServer(arrivalLimits);
  expect(server.requestTimeout).toBe(30_000);
  expect(server.headersTimeout).toBe(10_000);
});
