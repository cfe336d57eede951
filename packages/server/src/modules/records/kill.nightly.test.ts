import { setTimeout as pause } from 'node:timers/promises';
import type { components } from '@financial-automation/spec';
import { expect, test } from 'vitest';
import { createFirm, signInTo, subscribeTo, writtenGroups } from '../../../test/event-writer.ts';
import { processEnvironment, startServer } from '../../../test/process.ts';
import { startReceiver } from '../../../test/receiver.ts';

type Batch = components['schemas']['RecordBatch'];

const development = { WEBHOOK_ALLOW_LOOPBACK: 'on', VALIDATE_RESPONSES: '0' };
const records = Array.from({ length: 1_000 }, (_, index) => ({
  type: 'ClientGroup',
  // Without a reference, so that a record that is written twice is two rows.
  attributes: { name: `Group ${index}` },
}));

test('createRecordBatch continues after each SIGKILL of the server, and writes and announces every record once', async () => {
  const environment = { ...(await processEnvironment()), ...development };
  const apiKey = await createFirm(environment);
  const receiver = await startReceiver();
  let id = '';
  const seen: number[] = [];
  for (let kills = 0; kills < 3; kills++) {
    const server = await startServer(environment);
    const call = await signInTo(server, apiKey);
    const batch = () => call<Batch>('GET', `/api/v1/batches/${id}`);
    if (kills === 0) {
      await subscribeTo(call, receiver.url);
      ({ id } = await call<Batch>('POST', '/api/v1/records/batch', { records }));
    }
    const before = seen.at(-1) ?? 0;
    const more = async () => (await batch()).created;
    await expect.poll(more, { interval: 3, timeout: 120_000 }).toBeGreaterThan(before);
    await pause(Math.random() * 20);
    seen.push((await batch()).created);
    server.kill('SIGKILL');
    await server.finished;
  }
  expect(seen[0]).toBeLessThan(1_000);
  const server = await startServer(environment);
  const call = await signInTo(server, apiKey);
  const batch = () => call<Batch>('GET', `/api/v1/batches/${id}`);
  await expect.poll(async () => (await batch()).status, { timeout: 120_000 }).toBe('COMPLETED');
  expect(await batch()).toMatchObject({ created: 1_000, updated: 0, unchanged: 0, failed: 0 });
  const versions = await writtenGroups(call);
  expect([versions.size, new Set(versions.values())]).toEqual([1_000, new Set([1])]);
  await expect
    .poll(() => new Set(receiver.arrivals.map(({ event }) => event.id)).size, { timeout: 120_000 })
    .toBe(1_000);
  expect(new Set(receiver.arrivals.map(({ event }) => event.entityId))).toEqual(new Set(versions.keys()));
});
