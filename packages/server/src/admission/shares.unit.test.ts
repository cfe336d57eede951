import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { millisecondsOf } from '../contract/durations.ts';
import { Admitted, standardWaitMs } from './admission.ts';
import type { Weight } from './holder.ts';
import { type ShareLimits, Shares, type Slot, shareLimits } from './shares.ts';

const rejected: string[] = [];
const waitMs = { light: 1_000, heavy: 5_000 };
const limits: ShareLimits = { units: 5, heavy: 2, allHeavy: 2, waitMs, maxWaiting: 5 };
let shares: Shares;
/** Names of started requests, in order, and their places. */
let started: string[];
let places: Map<string, Slot>;

function open(changed: Partial<ShareLimits> = {}): void {
  shares = new Shares({ ...limits, ...changed }, { started() {}, rejected: (limit) => rejected.push(limit) });
}

beforeEach(() => {
  // biome-ignore lint/plugin: it moves timers, and has no service
  vi.useFakeTimers();
  rejected.length = 0;
  started = [];
  places = new Map();
  open();
});
afterEach(() => vi.useRealTimers());

/** Enters requests, named `tenant/user` and a number; those with a `+` at their end are heavy. @returns their errors */
async function enter(...names: string[]): Promise<Promise<unknown>[]> {
  const outcomes = names.map((name) => {
    const [tenant = '', user = ''] = name.split(/[/ ]/);
    const weight: Weight = name.endsWith('+') ? 'heavy' : 'light';
    const entered = shares.enter(tenant, user, weight).then((place) => {
      started.push(name);
      places.set(name, place);
    });
    return entered.catch((error) => error);
  });
  await vi.advanceTimersByTimeAsync(0);
  return outcomes;
}

async function end(name: string): Promise<void> {
  places.get(name)?.end();
  await vi.advanceTimersByTimeAsync(0);
}

/** Whoever was seen just before is not alone for a second. */
const later = () => vi.advanceTimersByTimeAsync(1_000);

describe('Shares', () => {
  test('gives everything but one unit to who is alone, as a tenant and as an API user of it', async () => {
    await enter('a/x 1', 'a/x 2', 'a/x 3', 'a/x 4', 'a/x 5');
    expect(started).toEqual(['a/x 1', 'a/x 2', 'a/x 3', 'a/x 4']);
    await end('a/x 1');
    expect(started.at(-1)).toBe('a/x 5');
  });

  test('gives half at most to a tenant, and half of that to an API user, next to others that were there just before', async () => {
    open({ units: 4 });
    await enter('b/y 1');
    await end('b/y 1');
    await enter('a/x 1', 'a/x 2', 'a/x 3', 'a/y 1');
    expect(started.slice(1)).toEqual(['a/x 1', 'a/x 2']);
    expect(shares.usageOf('a')).toMatchObject({ units: 2, waiting: 2, most: 2 });
    await end('a/x 1');
    // Next to the other user of its tenant, the first one has its half.
    expect(started.slice(3)).toEqual(['a/y 1']);
    await later();
    await end('a/x 2');
    await enter('a/z 1', 'a/z 2', 'a/z 3');
    expect(shares.usageOf('a').most).toBe(3);
  });

  test('gives what gets free to the tenant and API user with the fewest units, however many wait', async () => {
    await enter('a/x 1', 'a/x 2', 'a/x 3', 'a/x 4', 'd/x 1');
    await enter('a/y 1', 'a/y 2', 'b/x 1', 'c/x 1', 'b/y 1');
    expect(started).toHaveLength(5);
    for (const name of ['a/x 1', 'a/x 2']) await end(name);
    expect(started.slice(5)).toEqual(['b/x 1', 'c/x 1']);
    for (const name of ['c/x 1', 'a/x 3']) await end(name);
    expect(started.slice(7)).toEqual(['b/y 1', 'a/y 1']);
  });

  test('leaves units to light requests, whatever number of heavy ones there is', async () => {
    open({ units: 6 });
    await enter('a/x 1+', 'a/x 2+', 'b/x 1+', 'a/x 3', 'b/x 2');
    expect(started).toEqual(['a/x 1+', 'a/x 3', 'b/x 2']);
    await end('a/x 1+');
    expect(started.slice(3)).toEqual(['a/x 2+']);
  });

  test('rejects no report of six users of a tenant that is alone, even if each takes all of the time that a read may take', async () => {
    open(shareLimits(10, standardWaitMs));
    const reportMs = millisecondsOf('read');
    const users = ['a', 'b', 'c', 'd', 'e', 'f'].map(async (user) => {
      for (let report = 1; report <= 4; report++) {
        const slot = await shares.enter('tenant', user, 'heavy');
        await new Promise((resolve) => setTimeout(resolve, reportMs));
        slot.end();
        started.push(`${user} ${report}`);
      }
    });
    const outcomes = Promise.allSettled(users);
    await vi.advanceTimersByTimeAsync(users.length * 4 * reportMs);
    expect(await outcomes).toEqual(users.map(() => ({ status: 'fulfilled', value: undefined })));
    expect(started).toHaveLength(users.length * 4);
  });

  test('lets no light request take what a heavy one waits for, if it is its turn', async () => {
    await enter('a/x 1', 'a/x 2', 'a/x 3', 'a/x 4', 'd/x 1');
    await enter('b/x 1+');
    await end('a/x 1');
    await enter('c/x 1');
    expect(started).toHaveLength(5);
    await end('a/x 2');
    expect(started.slice(5)).toEqual(['b/x 1+']);
    await end('a/x 3');
    expect(started.slice(6)).toEqual(['c/x 1']);
  });

  test('gives back what a heavy request no longer needs', async () => {
    await enter('a/x 1+', 'a/x 2+');
    places.get('a/x 1+')?.lighten();
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toEqual(['a/x 1+', 'a/x 2+']);
    expect(shares.usage().units).toBe(3);
    for (const name of started) await end(name);
    await end('a/x 1+');
    expect(shares.usage()).toMatchObject({ units: 0, waiting: 0 });
  });

  test('lets an API user with several heavy requests rest after each for as long as it took, next to others alone', async () => {
    await enter('a/x 1+', 'a/x 2+', 'a/x 3+');
    await vi.advanceTimersByTimeAsync(300);
    await end('a/x 1+');
    expect(started).toEqual(['a/x 1+', 'a/x 2+']);
    await enter('b/x 1');
    await vi.advanceTimersByTimeAsync(700);
    await end('a/x 2+');
    await end('b/x 1');
    await enter('b/x 2+');
    expect(started.slice(2)).toEqual(['b/x 1', 'b/x 2+']);
    await end('b/x 2+');
    await vi.advanceTimersByTimeAsync(690);
    expect(started).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(20);
    expect(started.slice(4)).toEqual(['a/x 3+']);
    // One at a time needs no rest.
    await end('a/x 3+');
    await enter('b/x 3', 'a/x 4+');
    expect(started.slice(5)).toEqual(['b/x 3', 'a/x 4+']);
    expect(rejected).toEqual([]);
  });

  test('holds a tenant to its part of the bound of all processes, and tells which tenants are busy', async () => {
    let bound = 1;
    open({ boundOf: (tenant) => (tenant === 'a' ? bound : 9) });
    await enter('a/x 1', 'a/x 2', 'b/y 1');
    expect(started).toEqual(['a/x 1', 'b/y 1']);
    expect(shares.takeBusy()).toEqual(['a']);
    bound = 3;
    await enter('a/z 1');
    expect(started.slice(2)).toEqual(['a/z 1']);
    for (const name of ['a/x 1', 'a/z 1', 'a/x 2', 'b/y 1']) await end(name);
    shares.takeBusy();
    expect(shares.takeBusy()).toEqual([]);
  });

  test('limits the queue of a tenant', async () => {
    await enter(...[1, 2, 3, 4].map((number) => `a/x ${number}`));
    await enter(...[5, 6, 7, 8, 9].map((number) => `a/x ${number}`));
    const [beyond] = await enter('a/x 10');
    expect(await beyond).toMatchObject({ status: 429 });
    const [other] = await enter('b/x 1');
    expect(await other).toBeUndefined();
  });

  test('reports usage by rank, which decays to zero', async () => {
    await enter('a/x 1', 'b/x 1', 'b/x 2');
    await vi.advanceTimersByTimeAsync(60_000);
    const [busiest = 0, second = 0] = shares.usage().averages;
    expect(busiest).toBeCloseTo(2 * (1 - Math.exp(-1)));
    expect(second).toBeCloseTo(busiest / 2);
    for (const name of ['a/x 1', 'b/x 1', 'b/x 2']) await end(name);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(shares.usage().averages[0]).toBeCloseTo(busiest * Math.exp(-1));
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(shares.usage().averages).toEqual([]);
  });
});

test.each([
  ['alone', false],
  ['next to others', true],
])(
  'Shares › rejects none of six API users of a tenant with a report of a second each at a time: %s',
  async (_, isBeside) => {
    open(shareLimits(10, standardWaitMs));
    if (isBeside) await enter('b/x 0');
    const outcomes = await enter(...[1, 2, 3, 4, 5, 6].map((user) => `a/user${user} 1+`));
    for (let second = 0; second < 10; second++) {
      const running = started.filter((name) => name.endsWith('+'));
      await vi.advanceTimersByTimeAsync(1_000);
      for (const name of running) await end(name);
    }
    expect(await Promise.all(outcomes)).toEqual(Array(6).fill(undefined));
  },
);

describe('a request that times out', () => {
  test.each([
    [
      'user',
      ['b/x 1', 'a/y 1', 'a/x 1', 'a/x 2'],
      'CONCURRENCY_LIMITED',
      /^Your API user has too many requests in pro/,
    ],
    [
      'tenant',
      ['b/x 1', 'a/y 1', 'a/y 2', 'a/x 1', 'a/z 1'],
      'CONCURRENCY_LIMITED',
      /^Your tenant has too many requests/,
    ],
    [
      'service',
      ['b/x 1', 'b/x 2', 'b/x 3', 'b/x 4', 'c/x 1', 'c/x 2', 'c/x 3'],
      'SERVICE_UNAVAILABLE',
      /^The service is busy/,
    ],
  ] as const)('reports which limit applied: %s', async (limit, before, code, detail) => {
    open({ units: limit === 'service' ? 7 : 6 });
    await enter(...before);
    // The others are still there.
    const [outcome] = await enter(limit === 'user' ? 'a/x 3' : 'a/v 1');
    await vi.advanceTimersByTimeAsync(waitMs.light);
    expect(await outcome).toMatchObject({
      code,
      message: expect.stringMatching(detail),
      headers: { 'Retry-After': '1' },
    });
    expect(rejected.at(-1)).toBe(limit);
  });

  test('waits longer if it is heavy, and does not occupy a place afterwards', async () => {
    await enter('a/x 1', 'a/x 2', 'a/x 3', 'a/x 4');
    const [light, heavy] = await enter('a/y 1', 'a/y 2+');
    await vi.advanceTimersByTimeAsync(waitMs.light);
    expect(await light).toMatchObject({ status: 429 });
    expect(shares.usage().waiting).toBe(1);
    await vi.advanceTimersByTimeAsync(waitMs.heavy - waitMs.light);
    expect(await heavy).toMatchObject({ message: expect.stringContaining('costly searches, bulk writes or large') });
    for (const name of started) await end(name);
    expect(started).toHaveLength(4);
    expect(shares.usage()).toMatchObject({ units: 0, waiting: 0 });
  });
});

test.each([1, 2, 3, 4, 10, 24, 100])(
  'shareLimits › of %i connections leaves most of them to light requests',
  (connections) => {
    const { units, heavy, allHeavy } = shareLimits(connections, waitMs);
    expect(units).toBe(Math.max(1, connections - 1));
    expect(heavy).toBeGreaterThan(0);
    expect(allHeavy).toBeGreaterThanOrEqual(heavy);
    if (units > 1) expect(allHeavy).toBeLessThan(units);
    // Whoever is alone has two heavy ones at a time.
    if (connections >= 10) expect(allHeavy).toBeGreaterThanOrEqual(2 * heavy);
  },
);

test('drops those whose caller has gone when it is their turn', async () => {
  await enter('a/x 1', 'a/x 2', 'a/x 3', 'a/x 4');
  const gone = shares.enter('a', 'x', 'light', () => true).catch((error) => error);
  await enter('a/x 5');
  await end('a/x 1');
  expect(await gone).toMatchObject({ code: 'CONCURRENCY_LIMITED' });
  expect(started.at(-1)).toBe('a/x 5');
  expect(shares.usage()).toMatchObject({ units: 4, waiting: 0 });
});

describe('Admitted', () => {
  test('keeps no slot for work that ends after its request', async () => {
    open({ units: 8, allHeavy: 4 });
    const admitted = new Admitted((weight) => shares.enter('a', 'x', weight), await shares.enter('a', 'x', 'light'));
    const works = [1, 2].map(() => Promise.withResolvers<void>());
    const all = works.map(({ promise }) => admitted.heavy(() => promise));
    await vi.advanceTimersByTimeAsync(0);
    const late = admitted.heavy(async () => {}).catch((error) => error);
    await vi.advanceTimersByTimeAsync(limits.waitMs.heavy);
    expect(await late).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    admitted.end();
    for (const { resolve } of works) resolve();
    await Promise.all(all);
    expect(shares.usage()).toMatchObject({ units: 0, waiting: 0 });
  });
});
