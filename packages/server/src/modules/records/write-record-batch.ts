import type { components } from '@financial-automation/spec';
import { hasRole } from '@financial-automation/spec/roles';
import { sql } from 'kysely';
import { creatorOf } from '../../background/creator.ts';
import { defineJob, type JobRun } from '../../background/job.ts';
import { numberOf, schemaOf } from '../../contract/contract.ts';
import { asOfToday } from '../../contract/stored-values.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { type RecordItem, writeRecordsIn } from '../bulk/index.ts';
import { addFile } from '../files/index.ts';
import { recordTypesForWriting as findTypes } from './record-types.ts';

type WriteItem = components['schemas']['RecordWriteItem'];
type Result = components['schemas']['RecordBatchResult'];

/** What the vault encrypts the records of a batch for until they are written. */
export const batchEntryPurpose = 'record-batch-entry';

/** How many records one transaction writes: as many as one call of `upsertRecords`. */
const chunkSize = numberOf('RecordUpsertRequest', 'records', 'maxItems');
const resultSchema = schemaOf('RecordBatchResult');
const maxFailures = numberOf('RecordBatch', 'failures', 'maxItems');

/**
 * Writes the records of a batch in their order, some of them in each transaction, with their results. A run that takes over from
 * another one continues with the first record without a result.
 */
export const writeRecordBatch = defineJob({
  name: 'write-record-batch',
  data: { batchId: 'string' },
  concurrencyPerTenant: 1,
  async run(run) {
    const { data, tenant, signal, service, read, finish } = run;
    let count = chunkSize;
    while (count === chunkSize) {
      signal.throwIfAborted();
      count = await writeSome(run);
    }
    const of = sql`tenant_id = ${tenant.id} and record_batch_id = ${data.batchId}`;
    const results = await read((session) =>
      session.all<{ result: Result }>(sql`select result from record_batch_item where ${of} order by index`),
    );
    const lines = results.map(({ result }) => `${JSON.stringify(asOfToday(resultSchema, result))}\n`).join('');
    const content = await service.storage.put(tenant.id, Buffer.from(lines));
    await finish(async (unit) => {
      const about = { fileName: `Records ${data.batchId}.ndjson`, mimeType: 'application/x-ndjson' };
      const fileId = await unit.plan((plan) => addFile(plan, { ...about, source: 'REFERENCE_FILE' }, content));
      await unit.transaction.all(sql`
        update record_batch set result_file_id = ${fileId}, finished_at = tenant_now()
        where tenant_id = ${tenant.id} and id = ${data.batchId}`);
      await unit.transaction.all(sql`delete from record_batch_item where ${of}`);
    });
  },
});

/** Writes the next records in the name of who requested the batch. @returns their number. */
async function writeSome({
  data: { batchId },
  tenant,
  service: { vault },
  read,
  write,
}: JobRun<{ batchId: string }>): Promise<number> {
  const { caller, items } = await read(async (session) => ({
    caller: await creatorOf(session, tenant, 'record_batch', batchId),
    items: await session.all<{ index: number; entry: RecordItem; encrypted: Buffer | null }>(sql`
      select index, entry, entry_encrypted as encrypted from record_batch_item where tenant_id = ${tenant.id} and record_batch_id = ${batchId} and result is null
      order by index limit ${chunkSize}`),
  }));
  const [first] = items;
  if (first === undefined) return 0;
  const context = { ifMatch: undefined, holds: (required: readonly string[]) => hasRole(caller.roles, required) };
  const how = { schema: 'RecordUpsert', operation: 'UPSERT', findTypes, first: first.index } as const;
  await write(
    async (unit) => {
      const entries = items.map(
        ({ entry, encrypted }): RecordItem =>
          encrypted === null ? entry : JSON.parse(vault.decrypt(batchEntryPurpose, encrypted)),
      );
      const { records } = await writeRecordsIn(unit, context, how, entries);
      await saveResults(unit, batchId, records);
    },
    caller,
    'upsertRecords',
  );
  return items.length;
}

async function saveResults({ transaction, tenantId }: UnitOfWork, batchId: string, records: readonly WriteItem[]) {
  const results = records.map(
    ({ index, type, systemRef, id, status, version, error }): Result => ({
      index,
      type,
      systemRef,
      id,
      status,
      version,
      error,
    }),
  );
  const count = (status: WriteItem['status']) => records.filter((one) => one.status === status).length;
  const failures = results.filter(({ status }) => status === 'FAILED').slice(0, maxFailures);
  await transaction.all(sql`
    update record_batch_item item set result = one.result
    from jsonb_array_elements(${JSON.stringify(results)}::jsonb) as one (result)
    where item.tenant_id = ${tenantId} and item.record_batch_id = ${batchId} and item.index = (one.result ->> 'index')::integer`);
  await transaction.all(sql`
    update record_batch set created = created + ${count('CREATED')}, updated = updated + ${count('UPDATED')},
      unchanged = unchanged + ${count('UNCHANGED')}, failed = failed + ${count('FAILED')},
      failures = jsonb_path_query_array(failures || ${JSON.stringify(failures)}::jsonb, ${`$[0 to ${maxFailures - 1}]`}::jsonpath)
    where tenant_id = ${tenantId} and id = ${batchId}`);
}
