import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { bulkWriteLimits, costlySearchLimits, type ShareLimits, Shares, shareLimits } from './shares.ts';

const rejected: string[] = [];
const limits: ShareLimits = { total: 4, perTenant: 3, perUser: 2, wait: 1_000, waiting: 5 };
let shares: Shares;
/** Names of started requests, in order. */
let started: string[];
let ends: Map<string, () => void>;

beforeEach(() => {
  // biome-ignore lint/plugin: it moves timers, and has no service
  vi.useFakeTimers();
  rejected.length = 0;
  started = [];
  ends = new Map();
  shares = new Shares(limits, { started() {}, rejected: (limit) => rejected.push(limit) });
});
afterEach(() => vi.useRealTimers());

/** Enters requests, named `tenant/user` and a number. */
function enter(...names: string[]): Promise<unknown>[] {
  return names.map((name) => {
    const [tenant = '', user = ''] = name.split(/[/ ]/);
    const entered = shares.enter(tenant, user).then((end) => {
      started.push(name);
      ends.set(name, end);
    });
    return entered.catch((error) => error);
  });
}

async function end(name: string): Promise<void> {
  ends.get(name)?.();
  await vi.advanceTimersByTimeAsync(0);
}

const settled = () => vi.advanceTimersByTimeAsync(0);

test('Shares › holds a tenant to its part of the bound of all processes, and tells which tenants are busy', async () => {
  let bound = 1;
  shares = new Shares(
    { ...limits, boundOf: (tenant) => (tenant === 'a' ? bound : 9) },
    { started() {}, rejected() {} },
  );
  enter('a/x 1', 'a/x 2', 'b/y 1', 'b/y 2');
  await settled();
  expect(started).toEqual(['a/x 1', 'b/y 1', 'b/y 2']);
  expect(shares.takeBusy()).toEqual(['a', 'b']);
  expect(shares.usageOf('a').limits).toMatchObject({ perTenant: 1, perUser: 1 });
  await end('b/y 1');
  expect(started).toHaveLength(3);
  bound = 3;
  enter('a/z 1');
  await end('b/y 2');
  expect(started).toEqual(['a/x 1', 'b/y 1', 'b/y 2', 'a/z 1', 'a/x 2']);
  for (const name of ['a/x 1', 'a/x 2', 'a/z 1']) await end(name);
  shares.takeBusy();
  expect(shares.takeBusy()).toEqual([]);
});

test('Shares › lets a tenant with rejected requests rest for as long as a request took, and nobody else', async () => {
  const resting = { ...limits, perTenant: 1, perUser: 1, restsIf: 'rejected' } as const;
  shares = new Shares(resting, { started() {}, rejected: (limit) => rejected.push(limit) });
  enter('a/x 1', 'a/x 2', 'a/x 3');
  await vi.advanceTimersByTimeAsync(900);
  await end('a/x 1');
  expect(started).toEqual(['a/x 1', 'a/x 2']);
  // The third one is rejected meanwhile.
  await vi.advanceTimersByTimeAsync(400);
  expect(rejected).toEqual(['user']);
  enter('a/x 4');
  await vi.advanceTimersByTimeAsync(200);
  await end('a/x 2');
  enter('a/x 5');
  await vi.advanceTimersByTimeAsync(590);
  expect(started).toEqual(['a/x 1', 'a/x 2']);
  enter('a/y 1', 'b/z 1');
  await settled();
  expect(started.slice(2)).toEqual(['a/y 1', 'b/z 1']);
  await end('a/y 1');
  await vi.advanceTimersByTimeAsync(20);
  expect(started.slice(4)).toEqual(['a/x 4']);
  expect(shares.usage()).toMatchObject({ inProgress: 2, waiting: 1 });
});

test('Shares › lets a tenant rest until the longest of its rests ends, and says why', async () => {
  const resting = { ...limits, perTenant: 2, restsIf: 'rejected', subject: 'costly searches' } as const;
  shares = new Shares(resting, { started() {}, rejected: (limit) => rejected.push(limit) });
  enter('a/x 1');
  await vi.advanceTimersByTimeAsync(900);
  enter('a/x 2', 'a/x 3');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(rejected).toEqual(['user']);
  await end('a/x 1');
  await vi.advanceTimersByTimeAsync(100);
  await end('a/x 2');
  const [outcome] = enter('a/x 4');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await outcome).toMatchObject({
    code: 'CONCURRENCY_LIMITED',
    message: 'Your API user sent too many costly searches. Send fewer at the same time, and try again in 1 second.',
  });
  enter('a/x 5');
  await vi.advanceTimersByTimeAsync(790);
  expect(started).toEqual(['a/x 1', 'a/x 2']);
  await vi.advanceTimersByTimeAsync(20);
  expect(started.slice(2)).toEqual(['a/x 5']);
});

test('Shares › lets an API user whose next request waits rest for as long as a request took, and nobody else', async () => {
  const resting = { ...limits, perTenant: 1, perUser: 1, restsIf: 'waiting' } as const;
  shares = new Shares(resting, { started() {}, rejected: (limit) => rejected.push(limit) });
  enter('a/x 1', 'a/x 2', 'b/z 1');
  await vi.advanceTimersByTimeAsync(300);
  await end('a/x 1');
  enter('a/y 1');
  await settled();
  expect(started).toEqual(['a/x 1', 'b/z 1', 'a/y 1']);
  await end('a/y 1');
  await vi.advanceTimersByTimeAsync(290);
  expect(started).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(20);
  expect(started.slice(3)).toEqual(['a/x 2']);
  await end('a/x 2');
  enter('a/x 3');
  await settled();
  expect(started.slice(4)).toEqual(['a/x 3']);
  expect(rejected).toEqual([]);
});

test('Shares › limits the requests of an API user and of a tenant', async () => {
  enter('a/x 1', 'a/x 2', 'a/x 3', 'a/y 1', 'a/y 2');
  await settled();
  expect(started).toEqual(['a/x 1', 'a/x 2', 'a/y 1']);
  expect(shares.usage()).toMatchObject({ inProgress: 3, waiting: 2 });
  await end('a/y 1');
  expect(started.at(-1)).toBe('a/y 2');
  await end('a/x 1');
  expect(started.at(-1)).toBe('a/x 3');
  expect(shares.usage()).toMatchObject({ inProgress: 3, waiting: 0 });
});

test('Shares › gives a free place to the least active tenant and user, however many wait', async () => {
  enter('a/x 1', 'a/x 2', 'a/y 1', 'b/x 1');
  await settled();
  enter('a/y 2', 'a/y 3', 'b/x 2', 'c/x 1', 'b/y 1');
  await settled();
  expect(started).toHaveLength(4);
  await end('a/y 1');
  expect(started.at(-1)).toBe('c/x 1');
  await end('a/x 1');
  expect(started.at(-1)).toBe('a/y 2');
  await end('c/x 1');
  expect(started.at(-1)).toBe('b/y 1');
});

test('Shares › lets tenants with the same usage take turns', async () => {
  enter('a/x 1', 'b/x 1', 'c/x 1', 'd/x 1');
  await settled();
  enter('a/x 2', 'b/x 2', 'b/x 3');
  await settled();
  await end('c/x 1');
  await end('d/x 1');
  expect(started.slice(4)).toEqual(['a/x 2', 'b/x 2']);
});

describe('a request that times out', () => {
  test.each([
    ['user', ['a/x 1', 'a/x 2'], 'CONCURRENCY_LIMITED', /^Your API user already has 2 requests in progress/],
    ['tenant', ['a/y 1', 'a/y 2', 'a/z 1'], 'CONCURRENCY_LIMITED', /^Your tenant already has 3 requests in progress/],
    ['service', ['b/x 1', 'b/x 2', 'c/x 1', 'c/x 2'], 'SERVICE_UNAVAILABLE', /^The service is busy/],
  ] as const)('reports which limit applied: %s', async (limit, before, code, detail) => {
    enter(...before);
    const [outcome] = enter('a/x 3');
    await vi.advanceTimersByTimeAsync(limits.wait - 1);
    expect(shares.usage().waiting).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toMatchObject({
      code,
      message: expect.stringMatching(detail),
      headers: { 'Retry-After': '1' },
    });
    expect(rejected).toEqual([limit]);
    expect(shares.usage()).toMatchObject({ inProgress: before.length, waiting: 0 });
  });

  test('does not occupy a place afterwards', async () => {
    enter('a/x 1', 'a/x 2', 'a/x 3');
    await vi.advanceTimersByTimeAsync(limits.wait);
    await end('a/x 1');
    expect(started).toEqual(['a/x 1', 'a/x 2']);
    expect(shares.usage().inProgress).toBe(1);
  });
});

test('Shares › limits the queue of a tenant', async () => {
  enter('a/x 1', 'a/x 2');
  enter(...[3, 4, 5, 6, 7].map((number) => `a/x ${number}`));
  const [beyond] = enter('a/x 8');
  expect(await beyond).toMatchObject({ code: 'CONCURRENCY_LIMITED', status: 429 });
  const [other] = enter('b/x 1');
  expect(await other).toBeUndefined();
});

test('Shares › reports usage by rank, which decays to zero', async () => {
  enter('a/x 1', 'b/x 1', 'b/x 2');
  await settled();
  await vi.advanceTimersByTimeAsync(60_000);
  const [busiest = 0, second = 0] = shares.usage().perTenant;
  expect(busiest).toBeCloseTo(2 * (1 - Math.exp(-1)));
  expect(second).toBeCloseTo(busiest / 2);
  for (const name of ['a/x 1', 'b/x 1', 'b/x 2']) await end(name);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(shares.usage().perTenant[0]).toBeCloseTo(busiest * Math.exp(-1));
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(shares.usage().perTenant).toEqual([]);
});

test.each([1, 2, 4, 10, 100])(
  'Shares › gives no tenant all of %i connections, unless there is only one',
  (connections) => {
    const { total, perTenant, perUser } = shareLimits(connections);
    expect(total).toBe(Math.max(1, connections - 1));
    expect(perUser).toBeGreaterThan(0);
    expect(perUser).toBeLessThanOrEqual(perTenant);
    if (total > 1) expect(perTenant).toBeLessThan(total);
  },
);

test.each([1, 2, 4, 10, 100])(
  'Shares › leaves most of %i connections to requests that are neither costly searches nor bulk writes',
  (connections) => {
    for (const { total, perTenant } of [costlySearchLimits(connections), bulkWriteLimits(connections)]) {
      expect(perTenant).toBeGreaterThan(0);
      expect(perTenant).toBeLessThan(total);
      if (connections >= 10) expect(total).toBeLessThan(shareLimits(connections).perTenant);
    }
  },
);
