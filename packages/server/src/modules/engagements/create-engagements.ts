import { sql } from 'kysely';
import { defineJob, enqueue } from '../../background/job.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { engagementBatch } from './engagement-batch.ts';
import { type NewEngagement, planEngagement } from './plan-engagement.ts';
import { writeLetters } from './write-letter.ts';

/** The API user who requested a batch. */
export interface Requester {
  readonly apiUserId: string;
  readonly apiUserName: string;
}

/** Stores a batch, which is processed after the transaction has committed. */
export async function startBatch(
  unit: UnitOfWork,
  entries: readonly NewEngagement[],
  { apiUserId, apiUserName }: Requester,
  id?: string,
): Promise<Row<'EngagementBatch'>> {
  const system = { total: entries.length, createdByApiUserId: apiUserId };
  const batch = await unit.plan((plan) => plan.create(engagementBatch, {}, { id, system }).row);
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
 * Creates the engagements of a batch one after the other, each in a transaction with its result. A run that takes over
 * from another one continues with the first entry without a result.
 */
export const createEngagements = defineJob({
  name: 'create-engagements',
  data: { batchId: 'string', requestedBy: 'string' },
  async run({ data: { batchId, requestedBy }, signal, write, finish }) {
    await write((unit) => unit.plan((plan) => start(plan, batchId)));
    let isNext = true;
    while (isNext) {
      signal.throwIfAborted();
      isNext = await write(async (unit) => {
        const item = await nextItem(unit, batchId);
        if (item !== undefined) await createOne(unit, batchId, item, requestedBy);
        return item !== undefined;
      });
    }
    await finish(async (unit) => {
      const { succeeded, failed } = await unit.storedRow(engagementBatch, batchId);
      const status = failed === 0 ? 'COMPLETED' : succeeded === 0 ? 'FAILED' : 'COMPLETED_WITH_ERRORS';
      await unit.plan((plan) => {
        if (plan.getForUpdate(engagementBatch, batchId)?.status !== 'PROCESSING') return;
        const system = { status, finishedAt: plan.now } as const;
        plan.update(engagementBatch, batchId, {}, { system, event: 'batchFinished' });
      });
    });
  },
});

function start(plan: Plan, batchId: string): void {
  if (plan.getForUpdate(engagementBatch, batchId)?.status !== 'PENDING') return;
  const system = { status: 'PROCESSING', startedAt: plan.now } as const;
  plan.update(engagementBatch, batchId, {}, { system, event: 'batchStarted' });
}

function nextItem({ transaction, tenantId }: UnitOfWork, batchId: string): Promise<Item | undefined> {
  return transaction.first<Item>(sql`
    select index, entry from engagement_batch_item
    where tenant_id = ${tenantId} and engagement_batch_id = ${batchId} and engagement_id is null and failure is null
    order by index limit 1`);
}

async function createOne(
  unit: UnitOfWork,
  batchId: string,
  { index, entry }: Item,
  requestedBy: string,
): Promise<void> {
  const { transaction, tenantId } = unit;
  // Before the rows of the engagement, in the lock order.
  await unit.plan((plan) => plan.getForUpdate(engagementBatch, batchId));
  const [outcome] = await unit.items([entry], (plan, body) => planItem(plan, body, requestedBy));
  if (outcome === undefined) throw new Error('The entry was not planned.');
  const created = 'result' in outcome ? outcome.result : null;
  const failure = 'rejection' in outcome ? failureOf(outcome.rejection, index) : null;
  if (created !== null) await writeLetters(unit, created);
  await transaction.all(sql`
    update engagement_batch_item
    set engagement_id = ${created}::uuid, failure = ${failure === null ? null : JSON.stringify(failure)}::jsonb
    where tenant_id = ${tenantId} and engagement_batch_id = ${batchId} and index = ${index}`);
  // The batch includes the results of its entries.
  await unit.plan((plan) => plan.touch(engagementBatch, batchId));
}

/** A conflict would fail a whole request, but only fails the entry of a batch. */
function planItem(plan: Plan, entry: NewEngagement, requestedBy: string): string {
  try {
    return planEngagement(plan, entry, { requestedBy });
  } catch (error) {
    if (!(error instanceof Rejection) || error.code !== 'CONFLICT') throw error;
    throw new Rejection('INVALID_STATE', error.message, error.pointer);
  }
}

function failureOf({ code, message, pointer }: Rejection, index: number) {
  return { index, code, detail: message, pointer: pointer === undefined ? null : `/engagements/${index}${pointer}` };
}
