import { sql } from 'kysely';
import { creatorOf } from '../../background/creator.ts';
import { defineJob, enqueue } from '../../background/job.ts';
import { operationOf, schemaOf } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { asOfToday } from '../../contract/stored-values.ts';
import { command } from '../../entity/command.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { checkTenantLimit } from '../../entity/tenant-limit.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { engagementBatch } from './engagement-batch.ts';
import { type NewEngagement, planEngagement } from './plan-engagement.ts';
import { writeLetters } from './write-letter.ts';

/** The API user who requested a batch. */
export interface Requester {
  readonly apiUserId: string;
  readonly apiUserName: string;
}

/**
 * How many engagements one transaction creates: each version of the batch lists all that exist, and so do its audit rows. Few enough
 * that nobody waits long for the rows that it locks.
 */
const chunkSize = 50;

/**
 * Stores a batch, which is processed after the transaction has committed.
 *
 * @throws Rejection `LIMIT_REACHED` if the tenant has as many unfinished batches as it may.
 */
export async function startBatch(
  unit: UnitOfWork,
  entries: readonly NewEngagement[],
  { apiUserId, apiUserName }: Requester,
  id?: string,
): Promise<Row<'EngagementBatch'>> {
  // Jobs that failed for the last time wait for the operator, and hold up no others.
  const batches = sql`select from background_job
    where tenant_id = ${unit.tenantId} and name = ${createEngagements.name} and status in ('WAITING', 'RUNNING')`;
  await checkTenantLimit(unit, 'unfinishedEngagementBatches', 'unfinished engagement batches', batches);
  const values = { total: entries.length, createdByApiUserId: apiUserId };
  const batch = await unit.plan((plan) => plan.insert(engagementBatch, values, { id }).row);
  await unit.transaction.all(sql`
    insert into engagement_batch_item (tenant_id, engagement_batch_id, index, entry)
    select ${unit.tenantId}, ${batch.id}, position - 1, entry
    from jsonb_array_elements(${JSON.stringify(entries)}::jsonb) with ordinality as entries (entry, position)`);
  await enqueue(unit.transaction, createEngagements, { batchId: batch.id, requestedBy: apiUserName });
  return batch;
}

interface Item {
  readonly index: number;
  readonly entry: NewEngagement;
}

/**
 * Creates the engagements of a batch in their order, some of them in each transaction, with their results, in the name of whoever
 * requested it. A run that takes over from another one continues with the first entry without a result.
 */
export const createEngagements = defineJob({
  name: 'create-engagements',
  // The version before reads `requestedBy`.
  data: { batchId: 'string', requestedBy: 'string' },
  async run({ data: { batchId }, tenant, signal, read, write, finish }) {
    await write((unit) => unit.plan((plan) => startBatchWork(plan, batchId)));
    let count = chunkSize;
    while (count === chunkSize) {
      signal.throwIfAborted();
      const caller = await read((session) => creatorOf(session, tenant, 'engagement_batch', batchId));
      count = await write(async (unit) => {
        const items = await nextItems(unit, batchId);
        if (items.length > 0) await createSome(unit, batchId, items);
        return items.length;
      }, caller);
    }
    await finish(async (unit) => {
      const { succeeded, failed } = await unit.storedRow(engagementBatch, batchId);
      const status = failed === 0 ? 'COMPLETED' : succeeded === 0 ? 'FAILED' : 'COMPLETED_WITH_ERRORS';
      await unit.plan((plan) => finishBatch(plan, batchId, status));
    });
  },
});

const startBatchWork = command('batchStarted', (plan, id: string) => {
  if (plan.getForUpdate(engagementBatch, id)?.status === 'PENDING')
    plan.set(engagementBatch, id, { status: 'PROCESSING', startedAt: plan.now });
});

const finishBatch = command('batchFinished', (plan, id: string, status: Row<'EngagementBatch'>['status']) => {
  if (plan.getForUpdate(engagementBatch, id)?.status === 'PROCESSING')
    plan.set(engagementBatch, id, { status, finishedAt: plan.now });
});

async function nextItems({ transaction, tenantId }: UnitOfWork, batchId: string): Promise<readonly Item[]> {
  const items = await transaction.all<Item>(sql`
    select index, entry from engagement_batch_item
    where tenant_id = ${tenantId} and engagement_batch_id = ${batchId} and engagement_id is null and failure is null
    order by index limit ${chunkSize}`);
  return items.map(({ index, entry }) => ({ index, entry: asOfToday(entrySchema, entry) }));
}

const entrySchema = schemaOf('EngagementCreateRequest');

async function createSome(unit: UnitOfWork, batchId: string, items: readonly Item[]): Promise<void> {
  const { transaction, tenantId } = unit;
  // Before the rows of the engagements, in the lock order.
  await unit.plan((plan) => plan.getForUpdate(engagementBatch, batchId));
  const outcomes = await unit.items(items, (plan, { entry }) => planItem(plan, entry));
  const results = items.map(({ index }, position) => {
    const outcome = outcomes[position];
    if (outcome === undefined) throw new Error('An entry was not planned.');
    return 'result' in outcome
      ? { index, created: outcome.result, failure: null }
      : { index, created: null, failure: failureOf(outcome.rejection, index) };
  });
  await writeLetters(unit, ...results.flatMap(({ created }) => created ?? []));
  await transaction.all(sql`
    update engagement_batch_item item set engagement_id = result.created, failure = nullif(result.failure, 'null')
    from jsonb_to_recordset(${JSON.stringify(results)}::jsonb) as result (index integer, created uuid, failure jsonb)
    where item.tenant_id = ${tenantId} and item.engagement_batch_id = ${batchId} and item.index = result.index`);
  // The batch includes the results of its entries.
  await unit.plan((plan) => plan.touch(engagementBatch, batchId));
}

/** A conflict would fail a whole request, but only fails the entry of a batch. */
function planItem(plan: Plan, entry: NewEngagement): string {
  plan.requires(operationOf('createEngagementBatch').roles, 'Creating engagements');
  try {
    return planEngagement(plan, entry);
  } catch (error) {
    if (!(error instanceof Rejection) || error.code !== 'CONFLICT') throw error;
    throw new Rejection('INVALID_STATE', error.message, error.pointer);
  }
}

function failureOf({ code, message, pointer }: Rejection, index: number) {
  return { index, code, detail: message, pointer: pointer === undefined ? null : `/engagements/${index}${pointer}` };
}
