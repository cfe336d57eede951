import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { client } from '@financial-automation/server/modules/clients';
import { staff } from '@financial-automation/server/modules/staff';
import { asOperator, type Operator, type Tenant, type Transaction } from '@financial-automation/server/service';
import { sql } from 'kysely';
import { billingSteps } from './billing.ts';
import type { Span } from './calendar.ts';
import { clientSteps } from './clients.ts';
import { createFirm, type Firm } from './firm.ts';
import { jobSteps, progressSteps } from './jobs.ts';
import { listSteps } from './lists.ts';
import { peopleSteps } from './people.ts';
import type { Size } from './profile.ts';
import { fileSteps, recordSteps, sampleDocument } from './records.ts';
import { type Step, stepsFor } from './step.ts';
import { workSteps } from './work.ts';

/** Another version, which writes other rows, began a load that was interrupted. */
export class LoadOfOtherVersion extends Error {
  override readonly name = 'LoadOfOtherVersion';
}

export interface Writing {
  readonly service: Operator['service'];
  readonly tenant: Tenant;
  readonly span: Span;
  readonly size: Size;
  /** Whether people look at the firm, so that it has no names that are difficult to display. */
  readonly isForPeople?: boolean;
  /** Interrupts it after the current step. */
  readonly signal?: AbortSignal;
  /** How long to wait after a step, as a share of its time, for calls of the API. */
  readonly pauseShare?: number;
}

/**
 * Writes three years of a firm by the commands of the service, step by step. A run that was interrupted is continued by the next.
 *
 * @throws LoadOfOtherVersion
 */
export async function writeFirm(writing: Writing): Promise<void> {
  const { service, tenant, span, size, isForPeople = false, signal, pauseShare = 0 } = writing;
  const firm = createFirm(span, size, isForPeople);
  const digest = createHash('sha256').update(JSON.stringify(firm)).digest().readUInt32BE() >>> 1;
  const content = await service.storage.put(tenant.id, sampleDocument());
  const progress = await progressOf(writing);
  const [done, known = digest] = [progress.get('steps') ?? 0, progress.get('decided')];
  if (known !== digest)
    throw new LoadOfOtherVersion('Another version of the service began to load the data, and this one has other rows.');
  let number = 0;
  for (const { operation, work } of stepsOf(firm, content)) {
    if (++number <= done) continue;
    signal?.throwIfAborted();
    const start = performance.now();
    await asOperator(service, tenant, operation, async (unit) => {
      await work(unit);
      await saveProgress(unit.transaction, tenant.id, 'steps', number);
      await saveProgress(unit.transaction, tenant.id, 'decided', digest);
    });
    if (pauseShare > 0) await pause((performance.now() - start) * pauseShare);
  }
}

function* stepsOf(firm: Firm, content: Parameters<typeof fileSteps>[1]): Generator<Step> {
  yield* listSteps();
  yield* peopleSteps(firm);
  yield* clientSteps(firm.clients, firm.span);
  yield* jobSteps(firm.jobs);
  yield* workSteps(firm);
  yield* billingSteps(firm);
  yield* progressSteps(firm.jobs, firm.span);
  yield* fileSteps(firm, content);
  yield* recordSteps(firm);
  // Once all is written, people and clients leave.
  const former = firm.people.filter(({ lastDay }) => lastDay < firm.span.today);
  yield* stepsFor('upsertRecords', former, (plan, { id }) => plan.update(staff, id, { status: 'TERMINATED' }));
  const gone = firm.clients.filter(({ status }) => status === 'INACTIVE');
  yield* stepsFor('upsertRecords', gone, (plan, { id }) => plan.update(client, id, { status: 'INACTIVE' }));
}

/** Counters of the tenant say how far a load is: the day of the data by the profile, the steps that are done, and that it is complete. */
const prefix = 'demo_data.';

export async function saveProgress(
  transaction: Transaction,
  tenantId: number,
  name: string,
  value: number,
): Promise<void> {
  await transaction.all(sql`
    insert into tenant_counter (tenant_id, name, value) values (${tenantId}, ${prefix + name}, ${value})
    on conflict (tenant_id, name) do update set value = excluded.value`);
}

export async function progressOf({
  service,
  tenant,
}: Pick<Writing, 'service' | 'tenant'>): Promise<ReadonlyMap<string, number>> {
  const counters = await service.store.read(tenant.id, (session) =>
    session.all<{ name: string; value: number }>(
      sql`select name, value from tenant_counter where tenant_id = ${tenant.id} and starts_with(name, ${prefix})`,
    ),
  );
  return new Map(counters.map(({ name, value }) => [name.slice(prefix.length), value]));
}
