import { sql } from 'kysely';
import { enqueue } from '../../background/job.ts';
import { invalid } from '../../contract/problem.ts';
import { findUnstorable } from '../../contract/unstorable.ts';
import type { Handler } from '../../entity/context.ts';
import { checkTenantLimit } from '../../entity/tenant-limit.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { newId } from '../../platform/store/new-id.ts';
import { batchOf } from './getRecordBatch.ts';
import { batchEntryPurpose, writeRecordBatch } from './write-record-batch.ts';

/** Accepts records that are written in the background. */
export const createRecordBatch: Handler<'createRecordBatch'> = (context, { body: { records } }) => {
  // It would be stored until its record is processed.
  const unstorable = findUnstorable({ records });
  if (unstorable !== undefined) throw invalid(unstorable.pointer, 'UNSTORABLE', unstorable.detail);
  return context.write(async (unit) => {
    const id = await startRecordBatch(unit, records, context.caller.apiUserId);
    const headers = { Location: `/api/v1/batches/${id}` };
    return { status: 202, headers, body: await batchOf(unit.transaction, context, id) };
  });
};

/**
 * Stores a batch, which is processed after the transaction has committed.
 *
 * @returns its ID
 * @throws Rejection `LIMIT_REACHED` if the tenant has as many unfinished batches as it may.
 */
export async function startRecordBatch(
  unit: UnitOfWork,
  records: readonly unknown[],
  apiUserId: string,
  id = newId(),
): Promise<string> {
  const { transaction, tenantId, origin } = unit;
  const unfinished = sql`select from record_batch where tenant_id = ${tenantId} and finished_at is null`;
  await checkTenantLimit(unit, 'unfinishedRecordBatches', 'unfinished batches of records', unfinished);
  // They can have values that nobody may read in the database, such as tax IDs.
  const entries = records.map((record) =>
    origin.vault.encrypt(batchEntryPurpose, JSON.stringify(record)).toString('hex'),
  );
  await transaction.all(sql`
    insert into record_batch (tenant_id, id, total, created_by_api_user_id)
    values (${tenantId}, ${id}, ${records.length}, ${apiUserId})`);
  await transaction.all(sql`
    insert into record_batch_item (tenant_id, record_batch_id, index, entry_encrypted)
    select ${tenantId}, ${id}, position - 1, decode(entry, 'hex') from unnest(${entries}::text[]) with ordinality as entries (entry, position)`);
  await enqueue(transaction, writeRecordBatch, { batchId: id });
  return id;
}
