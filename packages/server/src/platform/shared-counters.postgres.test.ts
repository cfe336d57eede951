import { operations } from '@financial-automation/spec';
import { expect, test } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { testDatabase, testStore } from '../../test/database.ts';
import { patientLimits } from '../../test/patient-limits.ts';
import { FailureLimit } from '../admission/failure-limit.ts';
import { SharedLimit } from '../admission/shared-limit.ts';
import { createPayLimits } from '../modules/billing/pay/limits.ts';
import type { Counters } from './counters.ts';
import { sharedCounters } from './shared-counters.ts';
import { openStore } from './store/store.ts';

const database = await testDatabase();
const { store } = await testStore(database);
const other = await openStore({ ...database, limits: patientLimits });
atEnd(() => other.close());

let calls = 0;
/** Two processes, each with a pool of its own. */
const processes = [store, other].map((one): Counters => {
  const counters = sharedCounters(one);
  return {
    add(key, points, seconds) {
      calls += 1;
      return counters.add(key, points, seconds);
    },
  };
});

test('SharedLimit › holds for two processes on one database, with less than a call for ten requests', async () => {
  calls = 0;
  const limits = processes.map((counters) => new SharedLimit(counters, { name: 'read', points: 600, seconds: 600 }));
  const taken = await Promise.all(
    Array.from({ length: 1_000 }, (_, index) => limits[index % 2]?.take('caller') ?? Promise.reject(new Error())),
  );
  expect(calls).toBeLessThan(100);
  let allowed = taken.filter(({ isAllowed }) => isAllowed).length;
  // A process that was faster than the other one may have reserved a few points more than it had requests.
  for (const limit of limits) while ((await limit.take('caller')).isAllowed) allowed += 1;
  expect(allowed).toBe(600);
  expect(await limits[0]?.take('another caller')).toMatchObject({ isAllowed: true, remaining: 599 });
});

test('createPayLimits › limits forms for a link in two processes together', async () => {
  const limits = processes.map((counters) => createPayLimits(1, counters));
  const outcomes: boolean[] = [];
  for (let form = 0; form < 12; form++) {
    const allowed = limits[form % 2]?.take('payment', 'link').then(
      () => true,
      () => false,
    );
    outcomes.push((await allowed) ?? false);
  }
  expect(outcomes).toEqual([...Array(10).fill(true), false, false]);
});

test('FailureLimit › a process knows of failures in another one once an attempt fails there', async () => {
  const limits = processes.map((counters) => new FailureLimit(1, counters));
  const rejects = (index: number, address: string) => {
    try {
      limits[index]?.check(address);
      return false;
    } catch {
      return true;
    }
  };
  for (let failure = 0; failure < operations.createToken.rateLimit.limit; failure++) {
    limits[0]?.count('192.0.2.1');
    // As requests come, and not all at the same time.
    await expect.poll(async () => failuresOf('192.0.2.1')).toBe(failure + 1);
  }
  expect([rejects(0, '192.0.2.1'), rejects(1, '192.0.2.1')]).toEqual([true, false]);
  limits[1]?.count('192.0.2.1');
  await expect.poll(() => rejects(1, '192.0.2.1')).toBe(true);
  expect(rejects(1, '192.0.2.2')).toBe(false);
});

async function failuresOf(address: string): Promise<number> {
  const { rows } = await store.ownerStatements(
    `select points from request_count where key like 'failure/' || $1 || '%'`,
    [address],
  );
  return Number(rows[0]?.points ?? 0);
}
