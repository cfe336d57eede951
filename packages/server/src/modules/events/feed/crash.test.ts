import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  type Call,
  createFirm,
  signInTo,
  subscribeTo,
  writeGroups,
  writtenGroups,
} from '../../../../test/event-writer.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { processEnvironment, startServer } from '../../../../test/process.ts';
import { startReceiver } from '../../../../test/receiver.ts';

/** How often the server is killed. A run with `KILL_ROUNDS=20` takes minutes. */
const rounds = Number(process.env.KILL_ROUNDS ?? (isNightly ? 2 : 1));

interface FeedPage {
  readonly data: {
    readonly id: string;
    readonly entityId: string;
    readonly sequence: number;
    readonly data: { name: string };
  }[];
  readonly hasMore: boolean;
  readonly nextCursor: string;
}

/** What a consumer has stored: the rows, and the position that they are of, together. */
interface Stored {
  readonly rows: ReadonlyMap<string, { readonly sequence: number; readonly name: string }>;
  readonly after: string | undefined;
}

/** A consumer that reads the feed and crashes now and then, before it has stored what it read. */
function feedConsumer() {
  let stored: Stored = { rows: new Map(), after: undefined };
  let crashes = 0;
  /** Reads one page. @returns whether there is more */
  const read = async (call: Call): Promise<boolean> => {
    const after = stored.after === undefined ? '' : `&after=${stored.after}`;
    const page = await call<FeedPage>('GET', `/api/v1/events?entityType=ClientGroup&pageSize=7${after}`);
    const rows = new Map(stored.rows);
    for (const { entityId, sequence, data } of page.data) {
      // The feed alone has every version, in its order, once.
      const known = rows.get(entityId)?.sequence ?? 0;
      expect(sequence).toBe(known + 1);
      rows.set(entityId, { sequence, name: data.name });
      if (Math.random() < 0.02) {
        crashes += 1;
        return true;
      }
    }
    stored = { rows, after: page.nextCursor };
    return page.hasMore;
  };
  return { read, stored: () => stored, crashes: () => crashes };
}

test('a consumer that drops deliveries and crashes reaches the state of a server that is killed, from the feed alone', async () => {
  const environment = { ...(await processEnvironment()), WEBHOOK_ALLOW_LOOPBACK: 'on', VALIDATE_RESPONSES: '0' };
  const apiKey = await createFirm(environment);
  const receiver = await startReceiver();
  // It confirms deliveries and forgets a third of them.
  const kept = new Set<string>();
  receiver.respond = ({ event }) => {
    if (Math.random() < 0.67) kept.add(event.id);
  };
  const consumer = feedConsumer();
  for (let round = 0; round < rounds; round++) {
    const server = await startServer(environment);
    const call = await signInTo(server, apiKey);
    if (round === 0) await subscribeTo(call, receiver.url);
    const isDown = new AbortController();
    const reading = (async () => {
      while (!isDown.signal.aborted) await consumer.read(call);
    })();
    const working = Promise.allSettled([
      reading,
      ...[1, 2, 3].map((writer) => writeGroups(call, `${round}-${writer}`)),
    ]);
    // Once there is something to lose.
    if (round === 0) await expect.poll(() => receiver.arrivals.length).toBeGreaterThan(0);
    await pause(500 + Math.random() * 1_500);
    server.kill('SIGKILL');
    isDown.abort();
    const results = await working;
    // A failed assertion of the consumer is none of the errors of a connection.
    for (const result of results)
      if (result.status === 'rejected' && result.reason?.name === 'AssertionError') throw result.reason;
    await server.finished;
  }
  const server = await startServer(environment);
  const call = await signInTo(server, apiKey);
  while (await consumer.read(call));
  const versions = await writtenGroups(call);
  expect(versions.size).toBeGreaterThan(0);
  const { rows } = consumer.stored();
  expect(new Map([...rows].map(([id, { sequence }]) => [id, sequence]))).toEqual(versions);
  expect(kept.size).toBeLessThan([...versions.values()].reduce((sum, version) => sum + version, 0));
  server.kill('SIGTERM');
  expect(await server.finished).toMatchObject({ code: 0 });
}, 600_000);
