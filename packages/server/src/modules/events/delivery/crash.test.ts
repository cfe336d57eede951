import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { engineName } from '../../../../test/database.ts';
import {
  arrivedVersions,
  type Call,
  createFirm,
  expectedVersions,
  signInTo,
  subscribeTo,
  writeGroups,
  writtenGroups,
} from '../../../../test/event-writer.ts';
import { freePort } from '../../../../test/free-port.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { nightlyTest } from '../../../../test/nightly-test.ts';
import { processEnvironment, startServer } from '../../../../test/process.ts';
import { startReceiver } from '../../../../test/receiver.ts';

/** How often the server is killed. A run with `KILL_ROUNDS=20` takes minutes. */
const rounds = Number(process.env.KILL_ROUNDS ?? (isNightly ? 2 : 1));
const development = { WEBHOOK_ALLOW_LOOPBACK: 'on', VALIDATE_RESPONSES: '0' };

/**
 * A receiver that fails now and then, once per event at most: after a second failure an event, and every later one of its row,
 * waits for five minutes.
 */
async function flakyReceiver() {
  const receiver = await startReceiver();
  const failed = new Set<string>();
  receiver.respond = async ({ event }, response) => {
    await pause(Math.random() * 10);
    if (failed.has(event.id) || Math.random() >= 0.03) return;
    failed.add(event.id);
    response.writeHead(503).end();
  };
  return receiver;
}

async function everythingArrives(call: Call, receiver: Awaited<ReturnType<typeof startReceiver>>): Promise<void> {
  const written = await writtenGroups(call);
  expect(written.size).toBeGreaterThan(0);
  const expected = expectedVersions(written);
  const missing = () => {
    const arrived = arrivedVersions(receiver);
    return [...expected].filter(([id, versions]) => (arrived.get(id)?.length ?? 0) < versions.length).map(([id]) => id);
  };
  // An event whose receiver failed waits for its next attempt, and on a busy machine several do.
  await expect.poll(missing, { interval: 200, timeout: 120_000 }).toEqual([]);
  // In order, and nothing that was not written.
  expect(new Map([...arrivedVersions(receiver)].sort())).toEqual(new Map([...expected].sort()));
  expect(receiver.faults).toEqual([]);
}

test('a server that is killed at any point loses no event, and keeps the order of each row', async () => {
  const environment = { ...(await processEnvironment()), ...development };
  const apiKey = await createFirm(environment);
  const receiver = await flakyReceiver();
  for (let round = 0; round < rounds; round++) {
    const server = await startServer(environment);
    const call = await signInTo(server, apiKey);
    if (round === 0) await subscribeTo(call, receiver.url);
    const writing = Promise.allSettled([1, 2, 3].map((writer) => writeGroups(call, `${round}-${writer}`)));
    // Once there is something to lose.
    if (round === 0) await expect.poll(() => receiver.arrivals.length).toBeGreaterThan(0);
    await pause(Math.random() * 1_500);
    server.kill('SIGKILL');
    await writing;
    await server.finished;
  }
  const server = await startServer(environment);
  await everythingArrives(await signInTo(server, apiKey), receiver);
  server.kill('SIGTERM');
  expect(await server.finished).toMatchObject({ code: 0 });
});

// `isolation.test.ts` has two deliverers in one process, one of which takes over the work of the other.
nightlyTest?.runIf(engineName === 'postgres')(
  'one of two servers that share deliveries takes them over when the other is killed',
  async () => {
    const environment = { ...(await processEnvironment()), ...development };
    const apiKey = await createFirm(environment);
    // Several receivers, so that there is work to share.
    const receivers = await Promise.all(Array.from({ length: 6 }, flakyReceiver));
    const survivor = await startServer(environment);
    const other = await startServer({ ...environment, PORT: String(await freePort()) });
    const calls = [await signInTo(survivor, apiKey), await signInTo(other, apiKey)] as const;
    for (const receiver of receivers) await subscribeTo(calls[0], receiver.url);
    const stop = new AbortController();
    const writing = Promise.allSettled(calls.map((call, index) => writeGroups(call, `server-${index}`, stop.signal)));
    await pause(1_500 + Math.random() * 500);
    other.kill('SIGKILL');
    await pause(500);
    stop.abort();
    await writing;
    for (const receiver of receivers) await everythingArrives(calls[0], receiver);
    survivor.kill('SIGTERM');
    expect(await survivor.finished).toMatchObject({ code: 0 });
  },
);

nightlyTest?.('events that were written where no deliveries run arrive when they do', async () => {
  const environment = { ...(await processEnvironment()), ...development };
  const apiKey = await createFirm(environment);
  const receiver = await startReceiver();
  const writing = await startServer({ ...environment, BACKGROUND: 'off' });
  const call = await signInTo(writing, apiKey);
  await subscribeTo(call, receiver.url);
  const record = { type: 'ClientGroup', systemRef: 'quiet', attributes: { name: 'quiet' } };
  await call('POST', '/api/v1/records', { records: [record] });
  expect(receiver.arrivals).toEqual([]);
  writing.kill('SIGTERM');
  await writing.finished;
  const delivering = await startServer(environment);
  await expect.poll(() => receiver.arrivals.length).toBe(1);
  delivering.kill('SIGTERM');
  expect(await delivering.finished).toMatchObject({ code: 0 });
});
