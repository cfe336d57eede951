import { once } from 'node:events';
import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { afterAll, describe, expect, test } from 'vitest';
import { isNightly } from '../../../test/nightly.ts';
import { sharedService, type TestCaller } from '../../../test/service.ts';
import { startBackground } from '../../background/background.ts';
import { contract } from '../../contract/contract.ts';
import { writeRecordBatch } from './write-record-batch.ts';

type Batch = components['schemas']['RecordBatch'];
type Result = components['schemas']['RecordBatchResult'];

const main = await sharedService();
const path = '/api/v1/records/batch';
const group = (systemRef: string, name = systemRef) => ({ type: 'ClientGroup', systemRef, attributes: { name } });
const groups = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => group(`${prefix}-${index}`));
const lines = (records: readonly unknown[]) => records.map((one) => `${JSON.stringify(one)}\n`).join('');
const asLines = { 'Content-Type': 'application/x-ndjson' };

const runs: { stop(milliseconds: number): Promise<unknown> }[] = [];
/** Runs the jobs, with the storage of the service. */
async function work(job = writeRecordBatch) {
  const background = await startBackground(main.service, { jobs: [job], clockTasks: [] });
  runs.push(background);
  return background;
}
afterAll(() => Promise.all(runs.map((one) => one.stop(0))));

/** The job, each run of which waits after its first transaction until it must end. */
const interruptedJob: typeof writeRecordBatch = {
  ...writeRecordBatch,
  run: (run) =>
    writeRecordBatch.run({
      ...run,
      async write(...one) {
        const written = await run.write(...one);
        await once(run.signal, 'abort');
        return written;
      },
    }),
};

async function finished(location: string, { call }: TestCaller = main): Promise<Batch> {
  await expect
    .poll(async () => (await call<Batch>('GET', location)).body.status, { timeout: 30_000 })
    .toBe('COMPLETED');
  return (await call<Batch>('GET', location)).body;
}

async function resultsOf({ resultUrl }: Batch): Promise<Result[]> {
  const { pathname, search } = new URL(resultUrl ?? '');
  const response = await fetch(main.address + pathname + search);
  expect(response.headers.get('Content-Type')).toBe('application/x-ndjson');
  return (await response.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('createRecordBatch', () => {
  const count = isNightly ? 1_000 : 300;
  test('writes many lines in their order, after a stop from where it was, with a line of the result for each', async () => {
    const records: unknown[] = groups('season', count);
    records[3] = { ...group('season-3'), attributes: { name: 7 } };
    records[count - 2] = 'no record';
    records[count - 1] = group('season-0', 'Renamed');
    const accepted = await main.call<Batch>('POST', path, `\n${lines(records)}`, asLines);
    expect(accepted).toMatchObject({
      status: 202,
      body: { status: 'PENDING', total: count, failed: 0, resultUrl: null },
    });
    const location = accepted.headers.get('Location') ?? '';
    const interrupted = await work(interruptedJob);
    await expect
      .poll(async () => (await main.call<Batch>('GET', location)).body.created, { interval: 5 })
      .toBeGreaterThan(0);
    await interrupted.stop(0);
    const { body: partial } = await main.call<Batch>('GET', location);
    expect(partial).toMatchObject({ status: 'PROCESSING', resultFileId: null });
    expect(partial.created + partial.failed).toBeLessThan(count);
    await work();
    const batch = await finished(location);
    expect(batch).toMatchObject({ created: count - 3, updated: 1, unchanged: 0, failed: 2 });
    expect(batch.failures).toMatchObject([
      {
        index: 3,
        systemRef: 'season-3',
        id: null,
        error: { pointer: '/records/3/attributes/name', errors: [{ code: 'TYPE' }] },
      },
      { index: count - 2, type: null, systemRef: null },
    ]);
    const results = await resultsOf(batch);
    expect(results.map(({ index }) => index)).toEqual(Array.from({ length: count }, (_, index) => index));
    expect(results[count - 1]).toMatchObject({ status: 'UPDATED', id: results[0]?.id, version: 2 });
    // Nothing was written twice, and each change is the API user's.
    const audit = await main.store.read(main.tenant.id, (session) =>
      session.all<{ changes: number; actors: number }>(sql`
        select count(*)::integer as changes, count(distinct api_user_id)::integer as actors from audit_log
        where entity_type = 'ClientGroup' and operation = 'job write-record-batch' and api_user_id is not null`),
    );
    expect(audit).toEqual([{ changes: count - 2, actors: 1 }]);
    const left = await main.store.read(main.tenant.id, (session) => session.all(sql`select from record_batch_item`));
    expect(left).toEqual([]);
  });

  test('changes the status of rows, and imports them in each state, as upsertRecords does', async () => {
    const client = { type: 'Client', systemRef: 'states', attributes: { name: 'States' } };
    const job = (systemRef: string, status: string, more: object = {}) => ({
      type: 'Job',
      systemRef,
      attributes: { name: 'Return', clientId: { systemRef: 'states' }, billingType: 'TIME_AND_MATERIALS', status },
      ...more,
    });
    const imported = job('imported', 'CLOSED', { source: 'IMPORT' });
    const records = [client, job('moved', 'PLANNED'), job('moved', 'READY'), imported];
    const importer = await main.signIn({ roles: ['API_ADMIN', 'IMPORT_W'] });
    const { headers } = await importer.call<Batch>('POST', path, { records });
    await work();
    const batch = await finished(headers.get('Location') ?? '', importer);
    expect(batch).toMatchObject({ created: 3, updated: 1, failures: [] });
  });

  test('checks the roles of each type, as the API user has them when the record is written, and is for who requested it', async () => {
    const limited = await main.signIn({ roles: ['RECORD_W', 'CLNT_W'] });
    const office = { type: 'Office', systemRef: 'batch-office', attributes: { name: 'Portland' } };
    const accepted = await limited.call('POST', path, { records: [group('roles-0'), office] });
    const location = accepted.headers.get('Location') ?? '';
    const batch = await finished(location, limited);
    expect(batch).toMatchObject({ created: 1, failed: 1, failures: [{ index: 1, error: { code: 'FORBIDDEN' } }] });
    expect((await main.call('GET', location)).status).toBe(200);
    const other = await main.signIn({ roles: ['RECORD_W', 'CLNT_W', 'CLNT_R'] });
    expect((await other.call('GET', location)).status).toBe(404);
    // The token still has the role.
    await main.store.write(main.tenant.id, (transaction) =>
      transaction.all(sql`update api_user set roles = '{RECORD_W}' where roles = '{RECORD_W,CLNT_W}'`),
    );
    const without = await limited.call('POST', path, { records: [group('roles-1')] });
    expect(await finished(without.headers.get('Location') ?? '', limited)).toMatchObject({ created: 0, failed: 1 });
    const elsewhere = await main.signIn({ roles: ['API_ADMIN'], tenant: await main.addTenant('elsewhere') });
    expect((await elsewhere.call('GET', location)).status).toBe(404);
  });

  test('is repeated with its key, and stores nothing as a rehearsal', async () => {
    const records = [group('once-0')];
    const headers = { 'Idempotency-Key': 'batch-once' };
    const [first, second] = [
      await main.call('POST', path, { records }, headers),
      await main.call('POST', path, { records }, headers),
    ];
    expect(second).toMatchObject({ status: 202, body: first.body });
    expect(second.headers.get('Location')).toBe(first.headers.get('Location'));
    const rehearsed = await main.call('POST', path, { records }, { 'Dry-Run': 'true' });
    expect(rehearsed.status).toBe(202);
    expect((await main.call('GET', rehearsed.headers.get('Location') ?? '')).status).toBe(404);
  });

  test.each([
    ['more records than allowed', lines(groups('many', 1_001)), 400, 'VALIDATION_ERROR'],
    ['no record', '\n', 400, 'VALIDATION_ERROR'],
    ['a line that is not JSON', '{"type":\n', 400, 'MALFORMED_REQUEST'],
    ['a line that would end the list', '{}],"more":[{}\n', 400, 'VALIDATION_ERROR'],
    [
      'a number that cannot be stored',
      '{"type":"ClientGroup","attributes":{"name":12345678901234567890}}\n',
      400,
      'VALIDATION_ERROR',
    ],
  ])('rejects lines with %s', async (_what, body, status, code) => {
    expect(await main.call('POST', path, body, asLines)).toMatchObject({ status, body: { code } });
  });

  test.each([
    [`\n${lines([group('a'), group('b')])}\nname;code\n`, 'Line 5 is not valid JSON: '],
    [`${JSON.stringify(group('a'))},\n${JSON.stringify(group('b'))}\n`, 'Line 1 is not valid JSON: '],
    [JSON.stringify([group('a'), group('b')], null, 1), 'Line 1 is not valid JSON: '],
  ])('names the line that is not JSON: %j', async (body, detail) => {
    const { status, body: problem } = await main.call<{ detail: string }>('POST', path, body, asLines);
    expect([status, problem.detail.slice(0, detail.length)]).toEqual([400, detail]);
    expect(problem.detail).not.toContain(']}');
  });

  test('other operations accept no lines', async () => {
    const sent = await main.call('POST', '/api/v1/records', lines([group('x')]), asLines);
    expect(sent).toMatchObject({ status: 415, body: { detail: expect.not.stringContaining('ndjson') } });
  });

  test('rejects a batch beyond the limit of unfinished ones, and processes those of other tenants meanwhile', async () => {
    await Promise.all(runs.map((one) => one.stop(10_000)));
    const max = contract['x-tenant-limits'].unfinishedRecordBatches ?? 0;
    const busy = await main.signIn({ roles: ['API_ADMIN'], tenant: await main.addTenant('busy') });
    for (let index = 0; index < max; index += 1)
      expect((await busy.call('POST', path, { records: groups(`busy-${index}`, 200) })).status).toBe(202);
    expect(await busy.call('POST', path, { records: groups('busy', 1) })).toMatchObject({
      status: 409,
      body: { code: 'LIMIT_REACHED', detail: expect.stringContaining(`${max} unfinished batches of records`) },
    });
    const quiet = await main.signIn({ roles: ['API_ADMIN'], tenant: await main.addTenant('quiet') });
    const accepted = await quiet.call('POST', path, { records: groups('quiet', 1) });
    await work();
    await finished(accepted.headers.get('Location') ?? '', quiet);
    const unfinished = await main.store.read(busy.tenant.id, (session) =>
      session.all(sql`select from record_batch where finished_at is null`),
    );
    expect(unfinished.length).toBeGreaterThan(max / 2);
  });
});
