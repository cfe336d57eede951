import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { testService } from '../../test/service.ts';
import { WorkerPool } from '../platform/worker-pool.ts';
import { type BodyReport, LargeBodyChecks, type Task } from './large-body.ts';

/** A worker that never finishes a body that contains `spin`, and accepts all others. */
const spinning = new WorkerPool<Task, BodyReport>(
  new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { parentPort } from 'node:worker_threads';
      parentPort.on('message', ({ request: { bytes } }) => {
        while (Buffer.from(bytes).includes('spin'));
        parentPort.postMessage({ query: {}, body: { json: bytes, unstorable: [] } });
      });
      parentPort.postMessage('ready');
    `)}`,
  ),
  { workers: 2, cpu: 300, elapsed: 60_000 },
);
const { service, address, call, token, tenant, signIn, addTenant } = await testService({
  patience: { waitMs: { light: 60_000, heavy: 60_000 }, bodyMs: 1_000 },
  replace: ({ log }) => ({
    largeBodyChecks: new LargeBodyChecks(new Registry(), log, spinning),
  }),
});
const { shares } = service.admission;
const { heavy } = shares.limits;
const unitsInUse = () => shares.usage().units;
const other = await signIn({ roles: ['CNTCT_R'], tenant: await addTenant('other') });

const search = JSON.stringify({ where: { displayName: { _in: ['x'.repeat(400), 'y'.repeat(400)] } } }).padEnd(100_000);
const chunk = (bytes: Buffer) => [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')];
const whole = Buffer.from(search);
const gzipped = gzipSync(whole);
/** A body without its last byte, and what completes it. */
const bodies = [
  ['plain', [`Content-Length: ${whole.length}`], whole.subarray(0, -1), whole.subarray(-1)],
  ['chunked', ['Transfer-Encoding: chunked'], Buffer.concat(chunk(whole)), Buffer.from('0\r\n\r\n')],
  [
    'compressed',
    [`Content-Length: ${gzipped.length}`, 'Content-Encoding: gzip'],
    gzipped.subarray(0, -1),
    gzipped.subarray(-1),
  ],
] as const;

/** Sends a search whose body is not complete yet. */
function stall(headers: readonly string[], start: Buffer): { socket: Socket; status: Promise<string | undefined> } {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  atEnd(() => socket.destroy());
  const all = [`Host: x`, `Authorization: Bearer ${token}`, `Tenant: ${tenant.name}`, 'Content-Type: application/json'];
  socket.write(`POST /gql/v1/contacts/search HTTP/1.1\r\n${[...all, ...headers].join('\r\n')}\r\n\r\n`);
  socket.write(start);
  const status = new Promise<string | undefined>((resolve) => {
    socket.once('data', (data) => resolve(/^HTTP\/1\.1 (\d+)/.exec(String(data))?.[1]));
  });
  return { socket, status };
}

test.each(bodies)(
  'large bodies that stall lose their places, and the bodies of others are read: %s',
  async (_how, headers, start, end) => {
    const stalled = [stall(headers, start), stall(headers, start)];
    await expect.poll(() => unitsInUse()).toBeGreaterThanOrEqual(heavy);
    // A further one is not read before there is a place.
    const next = stall(headers, start);
    await expect.poll(() => shares.usage().waiting).toBeGreaterThan(0);
    next.socket.write(end);
    expect(await call('POST', '/gql/v1/contacts/search', {})).toMatchObject({ status: 200 });
    expect(await other.call('POST', '/gql/v1/contacts/search', search)).toMatchObject({ status: 200 });
    expect(await Promise.all(stalled.map(({ status }) => status))).toEqual(['413', '413']);
    expect(await next.status).toBe('200');
    await expect.poll(() => unitsInUse()).toBe(0);
  },
);

test('a large body whose sender disconnects makes room', async () => {
  const [, headers, start] = bodies[0];
  const { socket } = stall(headers, start);
  await expect.poll(() => unitsInUse()).toBe(heavy);
  socket.destroy();
  await expect.poll(() => unitsInUse()).toBe(0);
});

test('searchContacts › a body that takes too long to check is rejected, and other tenants do not wait for it', async () => {
  const path = '/gql/v1/contacts/search';
  const slow = call('POST', path, search.replace('xxxx', 'spin'));
  expect(await other.call('POST', path, search)).toMatchObject({ status: 200 });
  expect(await call('POST', path, {})).toMatchObject({ status: 200 });
  expect(await slow).toMatchObject({
    status: 413,
    body: { code: 'PAYLOAD_TOO_LARGE', detail: 'The body takes too long to check. Split the request.' },
  });
  expect(await call('POST', path, search)).toMatchObject({ status: 200 });
});
