import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { counted, jobStates, runBackground, type TestBackground, wait } from '../../test/background.ts';
import { testStore } from '../../test/database.ts';
import { count, insertOrg } from '../../test/rows.ts';
import { listJobs, retryJob } from '../operator/jobs.ts';
import { newId } from '../platform/store/new-id.ts';
import type { Transaction } from '../platform/store/store.ts';
import { defineJob, enqueue, type Job, JobLost } from './job.ts';

const { store, tenantId, otherTenantId } = await testStore();
const own = await testStore();
const operator = { service: { store } };

/** Gates that tests open, by the job's key. */
const gates = new Map<string, PromiseWithResolvers<void>>();
const gate = (key: string) => {
  const made = gates.get(key) ?? Promise.withResolvers<void>();
  gates.set(key, made);
  return made;
};
const errors = new Map<string, unknown>();

const plain = defineJob({
  name: 'plain',
  data: { key: 'string' },
  run: async ({ tenant, data, write }) => {
    await write(({ transaction }) => transaction.all(count(tenant.id, `plain ${data.key}`)));
  },
});
const shared = defineJob({
  name: 'shared',
  data: { key: 'string' },
  run: async ({ tenant, data, finish, signal }) => {
    await wait(5, signal);
    await finish(({ transaction }) => transaction.all(count(tenant.id, `shared ${data.key}`)));
  },
});
const failing = defineJob({
  name: 'failing',
  data: { key: 'string', times: 'number' },
  retries: 2,
  retryDelaySeconds: 1,
  maxRetryDelaySeconds: 1,
  run: async ({ tenant, data, attempt, write }) => {
    await write(({ transaction }) => transaction.all(count(tenant.id, `failing ${data.key} ${attempt}`)));
    if (attempt <= data.times) throw new Error(`Attempt ${attempt} failed.`);
  },
});
/** Signals its start, waits for its gate, and writes. */
const gated = defineJob({
  name: 'gated',
  data: { key: 'string' },
  concurrency: 4,
  concurrencyPerTenant: 2,
  leaseSeconds: 10,
  retryDelaySeconds: 1,
  maxRetryDelaySeconds: 1,
  run: async ({ tenant, data, attempt, write, finish }) => {
    await write(({ transaction }) => transaction.all(count(tenant.id, `gated ${data.key} begun`)));
    await gate(`${data.key} ${attempt}`).promise;
    const work = async () => {
      await write(({ transaction }) => transaction.all(count(tenant.id, `gated ${data.key} written`)));
      await finish(({ transaction }) => transaction.all(count(tenant.id, `gated ${data.key} finished`)));
    };
    await work().catch((error) => {
      errors.set(`${data.key} ${attempt}`, error);
      throw error;
    });
  },
});
const hasty = defineJob({
  name: 'hasty',
  data: { key: 'string' },
  timeoutSeconds: 1,
  retries: 0,
  run: async ({ tenant, data, write, signal }) => {
    await gate(data.key).promise;
    expect(signal.aborted).toBe(true);
    await write(({ transaction }) => transaction.all(count(tenant.id, `hasty ${data.key}`))).catch((error) =>
      errors.set(data.key, error),
    );
  },
});
/** Not run by any worker. */
const waiting = defineJob({ name: 'waiting', data: { key: 'string' }, run: async () => {} });
const jobs: readonly Job[] = [plain, shared, failing, gated, hasty];

let background: TestBackground;
beforeAll(async () => {
  background = await runBackground(store, { jobs });
});

const add = <Data extends Parameters<typeof enqueue>[2]>(tenant: number, job: Job, data: Data) =>
  store.write(tenant, (transaction) => enqueue(transaction, job, data));

describe('enqueue', () => {
  test('runs the job once its transaction has committed, for the tenant of the transaction', async () => {
    await add(tenantId, plain, { key: 'committed' });
    await add(otherTenantId, plain, { key: 'other' });
    await expect.poll(() => counted(store, tenantId, 'plain ')).toEqual({ committed: 1 });
    await expect.poll(() => counted(store, otherTenantId, 'plain ')).toEqual({ other: 1 });
  });

  test('runs nothing for a transaction or a savepoint that is rolled back', async () => {
    const write = store.write(tenantId, async (transaction) => {
      await enqueue(transaction, plain, { key: 'rolled back' });
      throw new Error('Rolled back.');
    });
    await expect(write).rejects.toThrow('Rolled back.');
    await store.write(tenantId, async (transaction) => {
      const part = transaction.savepoint(async () => {
        await enqueue(transaction, plain, { key: 'undone' });
        throw new Error('Undone.');
      });
      await expect(part).rejects.toThrow('Undone.');
      await enqueue(transaction, plain, { key: 'after' });
    });
    await expect.poll(() => counted(store, tenantId, 'plain ')).toMatchObject({ after: 1 });
    expect(Object.keys(await counted(store, tenantId, 'plain '))).not.toEqual(
      expect.arrayContaining([expect.stringMatching('rolled back|undone')]),
    );
  });

  test('does not start a job before its time', async () => {
    const at = Temporal.Now.instant().add({ milliseconds: 1_500 });
    await store.write(tenantId, async (transaction) => {
      await enqueue(transaction, plain, { key: 'later' });
      await transaction.all(sql`update background_job set due_at = ${at.toString()} where data ->> 'key' = 'later'`);
    });
    await expect.poll(() => counted(store, tenantId, 'plain ')).toMatchObject({ later: 1 });
    expect(Temporal.Instant.compare(Temporal.Now.instant(), at)).toBeGreaterThan(0);
  });

  test('fails in a transaction of the system, which has no tenant', async () => {
    const write = store.system((transaction) => enqueue(transaction, plain, { key: 'system' }));
    await expect(write).rejects.toThrow();
  });
});

test('jobs of another tenant can neither be read nor changed nor added', async () => {
  await add(otherTenantId, waiting, { key: 'foreign' });
  const within = <T>(work: (transaction: Transaction) => Promise<T>) => store.write(tenantId, work);
  expect(
    await within((transaction) => transaction.all(sql`select from background_job where name = 'waiting'`)),
  ).toEqual([]);
  expect(
    await within((transaction) =>
      transaction.all(sql`update background_job set data = '{}' where name = 'waiting' returning id`),
    ),
  ).toEqual([]);
  const insertion = within((transaction) =>
    transaction.all(
      sql`insert into background_job (tenant_id, id, name, data) values (${otherTenantId}, ${newId()}, 'waiting', '{}')`,
    ),
  );
  await expect(insertion).rejects.toMatchObject({ sqlState: '42501' });
  const deletion = within((transaction) => transaction.all(sql`delete from background_job`));
  await expect(deletion).rejects.toMatchObject({ sqlState: '42501' });
});

test('a job has the rights of requests, and cannot access other tenants', async () => {
  await store.write(otherTenantId, (transaction) => transaction.all(insertOrg(otherTenantId, 'foreign')));
  const seen = Promise.withResolvers<unknown>();
  const reading = defineJob({
    name: 'reading',
    data: { key: 'string' },
    run: async (run) => {
      const orgs = await run.read((session) => session.all(sql`select name from org`));
      const user = await run.read((session) => session.first(sql`select current_user as name`));
      seen.resolve({ orgs, user, tenant: run.tenant.name, data: run.data, attempt: run.attempt });
    },
  });
  const other = await runBackground(store, { jobs: [reading] });
  await add(tenantId, reading, { key: 'x' });
  expect(await seen.promise).toEqual({
    orgs: [],
    user: { name: 'financial_automation_service' },
    tenant: 'alpha',
    data: { key: 'x' },
    attempt: 1,
  });
  await other.stop(10_000);
});

test('two processes share 200 jobs, and none runs twice', async () => {
  const other = await runBackground(store, { jobs });
  const keys = Array.from({ length: 200 }, (_, index) => String(index));
  for (const tenant of [tenantId, otherTenantId]) {
    await store.write(tenant, async (transaction) => {
      for (const key of keys.slice(0, 100)) await enqueue(transaction, shared, { key });
    });
  }
  const expected = Object.fromEntries(
    keys
      .slice(0, 100)
      .toSorted()
      .map((key) => [key, 1]),
  );
  for (const tenant of [tenantId, otherTenantId]) {
    await expect.poll(() => counted(store, tenant, 'shared ')).toEqual(expected);
  }
  const share = async ({ service }: TestBackground) => {
    const { values } = (await service.metrics.registry.getSingleMetric('background_jobs_total')?.get()) ?? {
      values: [],
    };
    return values.filter(({ labels }) => labels.job === 'shared').reduce((sum, { value }) => sum + value, 0);
  };
  await other.stop(10_000);
  await expect.poll(async () => (await share(background)) + (await share(other))).toBe(200);
  expect(await share(background)).toBeGreaterThan(0);
  expect(await share(other)).toBeGreaterThan(0);
});

test('a job that fails runs again after a pause, until it succeeds', async () => {
  await add(tenantId, failing, { key: 'twice', times: 2 });
  await expect.poll(() => counted(store, tenantId, 'failing twice ')).toEqual({ 1: 1, 2: 1, 3: 1 });
  expect((await listJobs(operator)).dead).toEqual([]);
});

test('a job whose last retry fails becomes a dead letter, which the operator can list and retry', async () => {
  await add(tenantId, failing, { key: 'always', times: 3 });
  await expect
    .poll(async () => (await listJobs(operator)).dead)
    .toMatchObject([{ job: 'failing', tenant: 'alpha', attempts: 3, reason: 'Attempt 3 failed.' }]);
  expect(await counted(store, tenantId, 'failing always ')).toEqual({ 1: 1, 2: 1, 3: 1 });
  const metrics = await background.service.metrics.registry.metrics();
  expect(metrics).toContain('background_jobs_total{job="failing",outcome="dead"} 1');

  const [dead] = (await listJobs(operator)).dead;
  await expect(retryJob(operator, 'x')).rejects.toThrow('No dead job has the ID x.');
  await retryJob(operator, dead?.id ?? '');
  await expect.poll(() => counted(store, tenantId, 'failing always ')).toEqual({ 1: 2, 2: 2, 3: 2 });
  await expect.poll(async () => (await listJobs(operator)).dead).toHaveLength(1);
});

describe('a job that records its last failure', () => {
  const mortal = defineJob({
    name: 'mortal',
    data: { key: 'string' },
    retries: 0,
    run: async ({ tenant, data, write }) => {
      await write(({ transaction }) => transaction.all(count(tenant.id, `mortal ${data.key} run`)));
      throw new Error('It always fails.');
    },
    died: async ({ transaction, tenantId }, { key }) => {
      await transaction.all(count(tenantId, `mortal ${key} died`));
    },
  });
  const states = async () =>
    (await store.ownerStatements(`select status, failure from background_job where name = 'mortal' order by id`)).rows;

  test('does so once, when it becomes a dead letter', async () => {
    const running = await runBackground(store, { jobs: [mortal] });
    await add(tenantId, mortal, { key: 'a' });
    await expect.poll(states).toEqual([{ status: 'DEAD', failure: 'It always fails.' }]);
    expect(await counted(store, tenantId, 'mortal a ')).toEqual({ run: 1, died: 1 });
    await running.stop(1_000);
  });

  test('also if the process of its last run died', async () => {
    await add(tenantId, mortal, { key: 'b' });
    await store.ownerStatements(`
      update background_job set status = 'RUNNING', run_id = gen_random_uuid(), leased_until = '-infinity'
      where name = 'mortal' and status = 'WAITING'`);
    const running = await runBackground(store, { jobs: [mortal] });
    await expect.poll(async () => (await states())[1]).toMatchObject({ status: 'DEAD' });
    expect(await counted(store, tenantId, 'mortal b ')).toEqual({ died: 1 });
    await running.stop(1_000);
  });
});

test('a job with data that another version of the program stored fails, and is not run', async () => {
  const changed = defineJob({ name: failing.name, data: { key: 'string' }, run: async () => {} });
  await add(tenantId, changed, { key: 'without times' });
  await expect
    .poll(async () => (await listJobs(operator)).dead[0])
    .toMatchObject({ reason: 'The data of the job does not have the fields of failing.' });
  expect(await counted(store, tenantId, 'failing without times ')).toEqual({});
});

test('jobs of one tenant do not block those of another', async () => {
  for (const key of ['a1', 'a2', 'a3', 'a4', 'a5']) await add(tenantId, gated, { key });
  await expect.poll(() => counted(store, tenantId, 'gated a')).toEqual({ '1 begun': 1, '2 begun': 1 });
  await add(otherTenantId, gated, { key: 'b1' });
  await expect.poll(() => counted(store, otherTenantId, 'gated b')).toEqual({ '1 begun': 1 });
  expect(await counted(store, tenantId, 'gated a')).toEqual({ '1 begun': 1, '2 begun': 1 });
  for (const key of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1']) gate(`${key} 1`).resolve();
  await expect.poll(() => jobStates(store, 'gated')).toEqual({ COMPLETED: 6 });
});

test('tenants take turns, however many jobs one of them has added before', async () => {
  const order: string[] = [];
  const turns = defineJob({
    name: 'turns',
    data: { key: 'string' },
    concurrency: 1,
    run: async ({ data }) => void order.push(data.key),
  });
  for (const key of ['a1', 'a2', 'a3', 'a4', 'a5']) await add(tenantId, turns, { key });
  for (const key of ['b1', 'b2']) await add(otherTenantId, turns, { key });
  await runBackground(store, { jobs: [turns] });
  await expect.poll(() => order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'a4', 'a5']);
});

test('a run that has lost its job can no longer write, and its successor completes it once', async () => {
  await add(tenantId, gated, { key: 'lost' });
  await expect.poll(() => counted(store, tenantId, 'gated lost ')).toEqual({ begun: 1 });
  // Simulates another process that takes over after the lease has expired.
  await store.ownerStatements(`
    update background_job set status = 'WAITING', run_id = null, leased_until = null where name = 'gated' and status = 'RUNNING'`);
  await expect.poll(() => counted(store, tenantId, 'gated lost ')).toEqual({ begun: 2 });
  gate('lost 1').resolve();
  await expect.poll(() => errors.get('lost 1')).toBeInstanceOf(JobLost);
  expect(await counted(store, tenantId, 'gated lost ')).toEqual({ begun: 2 });
  gate('lost 2').resolve();
  await expect.poll(() => counted(store, tenantId, 'gated lost ')).toEqual({ begun: 2, written: 1, finished: 1 });
});

test('a run that exceeds its timeout fails, frees its place and can no longer write', async () => {
  for (const key of ['slow 1', 'slow 2', 'slow 3', 'slow 4', 'slow 5']) await add(tenantId, hasty, { key });
  await expect.poll(() => jobStates(store, 'hasty')).toEqual({ DEAD: 5 });
  for (const key of ['slow 1', 'slow 2', 'slow 3', 'slow 4', 'slow 5']) {
    gate(key).resolve();
    await expect.poll(() => errors.get(key)).toBeInstanceOf(JobLost);
  }
  expect(await counted(store, tenantId, 'hasty ')).toEqual({});
});

test('a stop lets a job finish within the grace period, and starts no other', async () => {
  const stopping = await runBackground(own.store, { jobs });
  await own.store.write(own.tenantId, (transaction) => enqueue(transaction, gated, { key: 'ends' }));
  await expect.poll(() => counted(own.store, own.tenantId, 'gated ends ')).toEqual({ begun: 1 });
  const stopped = stopping.stop(60_000);
  gate('ends 1').resolve();
  await stopped;
  expect(await counted(own.store, own.tenantId, 'gated ends ')).toEqual({ begun: 1, written: 1, finished: 1 });
  await own.store.write(own.tenantId, (transaction) => enqueue(transaction, plain, { key: 'after the stop' }));
  expect(await jobStates(own.store, 'plain')).toEqual({ WAITING: 1 });
});

test('a stop returns an unfinished job: another process runs it at once, and no retry is used up', async () => {
  const stopping = await runBackground(own.store, { jobs });
  await own.store.write(own.tenantId, (transaction) => enqueue(transaction, gated, { key: 'stays' }));
  await expect.poll(() => counted(own.store, own.tenantId, 'gated stays ')).toEqual({ begun: 1 });
  await stopping.stop(0);
  const { rows } = await own.store.ownerStatements(
    `select failures from background_job where name = 'gated' and status = 'WAITING'`,
  );
  expect(rows).toEqual([{ failures: 0 }]);
  gate('stays 1').resolve();
  await expect.poll(() => errors.get('stays 1')).toBeInstanceOf(JobLost);
  await runBackground(own.store, { jobs });
  gate('stays 2').resolve();
  await expect
    .poll(() => counted(own.store, own.tenantId, 'gated stays '))
    .toEqual({ begun: 2, written: 1, finished: 1 });
});

test.each(['No Name', 'x'])('defineJob › rejects the name %j', (name) => {
  expect(() => defineJob({ name, data: {}, run: async () => {} })).toThrow(`"${name}" is not a valid job name.`);
});

test('two jobs with the same name are rejected when the server starts', async () => {
  await expect(runBackground(store, { jobs: [plain, plain] })).rejects.toThrow('Two jobs have the name plain.');
});
