import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, test, vi } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { portOf } from '../../test/free-port.ts';
import { Unsent, type UnsentLimits } from './unsent.ts';

const mebibyte = 1024 * 1024;
/** More than the system takes over for a caller who does not read. */
const longBody = Buffer.alloc(16 * mebibyte);
const patient = { perCaller: 1_000 * mebibyte, total: 1_000 * mebibyte, patience: 60_000, rate: 1_000_000 };

/** Serves a long body to the caller who is named by the path. */
async function serve(
  limits: Partial<UnsentLimits>,
  write = async (response: ServerResponse, unsent: Unsent, caller: string) => {
    response.end(longBody);
    await unsent.sent(response, caller);
  },
) {
  const registry = new Registry();
  const unsent = new Unsent(registry, { ...patient, ...limits });
  const outcomes: string[] = [];
  const server = createServer(async (request, response) => {
    const caller = request.url ?? '';
    await write(response, unsent, caller).then(
      () => outcomes.push(`${caller} sent`),
      () => outcomes.push(`${caller} closed`),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => void server.close().closeAllConnections());
  return {
    registry,
    outcomes,
    port: portOf(server),
    /** Sends a request of a caller who does not read, and waits until its response is written. */
    async open(caller: string): Promise<Socket> {
      const socket = connect(portOf(server), '127.0.0.1').pause();
      atEnd(() => socket.destroy());
      socket.on('error', () => undefined).write(`GET ${caller} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await once(socket, 'readable');
      return socket;
    },
  };
}

const unsentBytes = async (registry: Registry) =>
  Number(/^response_bytes_unsent (\d+)$/m.exec(await registry.metrics())?.[1]);

test('a response that the system takes over at once does not wait', async () => {
  let watchers: number | undefined;
  const { open, outcomes, registry } = await serve({}, async (response, unsent, caller) => {
    response.end('short');
    const sent = unsent.sent(response, caller);
    watchers = response.listenerCount('drain');
    await sent;
  });
  await open('/a');
  expect({ outcomes, watchers }).toEqual({ outcomes: ['/a sent'], watchers: 0 });
  expect(await unsentBytes(registry)).toBe(0);
});

test('nothing watches a response whose caller was gone before it was written', async () => {
  // biome-ignore lint/plugin: only timers, not the clock of a service
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  atEnd(() => vi.useRealTimers());
  const { outcomes, port } = await serve({}, async (response, unsent, caller) => {
    await once(response, 'close');
    response.end('late');
    await unsent.sent(response, caller);
  });
  const socket = connect(port, '127.0.0.1');
  socket.end('GET /a HTTP/1.1\r\nHost: x\r\n\r\n').destroySoon();
  await expect.poll(() => outcomes).toEqual(['/a closed']);
  expect(vi.getTimerCount()).toBe(0);
});

test('what waits is counted until its caller has received it', async () => {
  const { open, outcomes, registry } = await serve({});
  const socket = await open('/a');
  await expect.poll(() => unsentBytes(registry)).toBeGreaterThanOrEqual(longBody.length);
  socket.resume();
  await expect.poll(() => outcomes).toEqual(['/a sent']);
  expect(await unsentBytes(registry)).toBe(0);
});

test('beyond the limit of a caller, its oldest responses are closed, and those of others are not', async () => {
  const { open, outcomes, registry } = await serve({ perCaller: 2.5 * longBody.length });
  await open('/other');
  for (let count = 0; count < 5; count++) await open('/a');
  await expect.poll(() => outcomes).toEqual(['/a closed', '/a closed', '/a closed']);
  expect(await registry.metrics()).toMatch(/^responses_cut_off_total\{reason="room"\} 3$/m);
});

test('a single response is sent, however long it is', async () => {
  const { open, outcomes } = await serve({ perCaller: mebibyte });
  const socket = await open('/a');
  socket.resume();
  await expect.poll(() => outcomes).toEqual(['/a sent']);
});

test('beyond the limit in all, the oldest response of the caller with the most is closed', async () => {
  const { open, outcomes } = await serve({ total: 4.5 * longBody.length });
  for (const caller of ['/quiet', '/a', '/a', '/a', '/b']) await open(caller);
  await expect.poll(() => outcomes).toEqual(['/a closed']);
});

test.each([
  ['written at once', undefined],
  [
    'written in parts',
    async (response: ServerResponse, unsent: Unsent) => {
      unsent.watch(response);
      await pipeline(Readable.from(Array.from({ length: 256 }, () => Buffer.alloc(64 * 1024))), response);
    },
  ],
])('the connection of a caller who does not read a response that is %s is closed after a time', async (_, write) => {
  const { open, outcomes, registry } = await serve({ patience: 200 }, write);
  const socket = await open('/a');
  await expect.poll(() => outcomes).toEqual(['/a closed']);
  expect(await registry.metrics()).toMatch(/^responses_cut_off_total\{reason="time"\} 1$/m);
  socket.resume();
  await once(socket, 'close');
  expect(socket.bytesRead).toBeLessThan(longBody.length);
});

test('a caller who receives a response in parts slowly, and a source that is slow, have all the time they need', async () => {
  // biome-ignore lint/plugin: only timers, not the clock of a service
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  atEnd(() => vi.useRealTimers());
  let [yielded, more] = [0, () => {}];
  const { open, outcomes } = await serve({ patience: 1_000 }, async (response, unsent) => {
    unsent.watch(response);
    const parts = async function* () {
      for (; yielded < 40; yielded++) yield longBody.subarray(0, mebibyte / 2);
      await new Promise<void>((resolve) => {
        more = resolve;
      });
      yield longBody.subarray(0, 1);
    };
    await pipeline(Readable.from(parts()), response);
  });
  const socket = await open('/a');
  // Each time, the caller makes room for at least one part, and is almost too late.
  for (let rounds = 0; yielded < 40 && rounds < 100; rounds++) {
    vi.advanceTimersByTime(900);
    const before = yielded;
    while (yielded === before) {
      socket.read();
      await setImmediate();
    }
  }
  socket.resume();
  await expect.poll(() => socket.bytesRead).toBeGreaterThan(20 * mebibyte);
  vi.advanceTimersByTime(10_000);
  expect(outcomes).toEqual([]);
  more();
  await expect.poll(() => outcomes).toEqual(['/a sent']);
});
