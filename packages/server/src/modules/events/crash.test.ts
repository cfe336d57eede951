import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { atEnd } from '../../../test/at-end.ts';
import { engineName } from '../../../test/database.ts';
import {
  arrivedVersions,
  type Call,
  createFirm,
  expectedVersions,
  signInTo,
  subscribeTo,
  writeGroups,
  writtenGroups,
} from '../../../test/event-writer.ts';
import { freePort } from '../../../test/free-port.ts';
import { isNightly } from '../../../test/nightly.ts';
import { nightlyTest } from '../../../test/nightly-test.ts';
import { processEnvironment, startServer } from '../../../test/process.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { serve } from '../../main/main.ts';

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

interface FeedPage {
  readonly data: {
    readonly id: string;
    readonly entityId: string;
    readonly sequence: number;
  }[];
  readonly hasMore: boolean;
  readonly nextCursor: string;
}

/** What a consumer has stored: the version of each row, and the position that they are of, together. */
interface Stored {
  readonly versions: ReadonlyMap<string, number>;
  readonly after: string | undefined;
}

/** A consumer that reads the feed and crashes now and then, before it has stored what it read. */
function feedConsumer() {
  let stored: Stored = { versions: new Map(), after: undefined };
  /** Reads one page. @returns whether there is more */
  const read = async (call: Call): Promise<boolean> => {
    const after = stored.after === undefined ? '' : `&after=${stored.after}`;
    const page = await call<FeedPage>('GET', `/api/v1/events?entityType=ClientGroup&pageSize=7${after}`);
    const versions = new Map(stored.versions);
    for (const { entityId, sequence } of page.data) {
      // The feed has every version, in its order, once.
      expect(sequence).toBe((versions.get(entityId) ?? 0) + 1);
      versions.set(entityId, sequence);
      if (Math.random() < 0.02) return true;
    }
    stored = { versions, after: page.nextCursor };
    return page.hasMore;
  };
  return { read, versions: () => stored.versions };
}

test('a server that is killed at any point loses no event, and keeps the order of each row, in deliveries and in the feed', async () => {
  const environment = { ...(await processEnvironment()), ...development };
  const apiKey = await createFirm(environment);
  const receiver = await flakyReceiver();
  const consumer = feedConsumer();
  for (let round = 0; round < rounds; round++) {
    const server = await startServer(environment);
    const call = await signInTo(server, apiKey);
    if (round === 0) await subscribeTo(call, receiver.url);
    const isDown = new AbortController();
    const reading = async () => {
      while (!isDown.signal.aborted) await consumer.read(call);
    };
    const working = Promise.allSettled([
      reading(),
      ...[1, 2, 3].map((writer) => writeGroups(call, `${round}-${writer}`)),
    ]);
    // Once there is something to lose.
    if (round === 0) await expect.poll(() => receiver.arrivals.length).toBeGreaterThan(0);
    await pause(Math.random() * 1_500);
    server.kill('SIGKILL');
    isDown.abort();
    // A failed assertion of the consumer is none of the errors of a connection.
    for (const result of await working)
      if (result.status === 'rejected' && result.reason?.name === 'AssertionError') throw result.reason;
    await server.finished;
  }
  // The next process is this one.
  const next = await serve({ ...environment, LOG_LEVEL: 'silent' });
  atEnd(() => next.stop());
  const call = await signInTo(next, apiKey);
  await everythingArrives(call, receiver);
  while (await consumer.read(call));
  expect(consumer.versions()).toEqual(await writtenGroups(call));
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
