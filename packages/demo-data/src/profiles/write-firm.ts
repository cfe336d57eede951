import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { asOperator, type Operator, type Tenant, type Transaction } from '@financial-automation/server/service';
import { sql } from 'kysely';
import { billingSteps } from './billing.ts';
import type { Span } from './calendar.ts';
import { clientSteps, partingSteps } from './clients.ts';
import { createFirm, type Firm } from './firm.ts';
import { jobSteps, progressSteps } from './jobs.ts';
import { listSteps } from './lists.ts';
import { leavingSteps, peopleSteps } from './people.ts';
import type { Size } from './profile.ts';
import { fileSteps, recordSteps, sampleDocument } from './records.ts';
import type { Step } from './step.ts';
import { workSteps } from './work.ts';

/** Another version, which writes other rows, began a load that was interrupted. */
export class LoadOfOtherVersion extends Error {
  override readonly name = 'LoadOfOtherVersion';
}

/** What a load keeps in a counter of the tenant: how many of its steps are done, and a digest of what it decided. */
const stepsDone = 'demo_data.steps';
const decided = 'demo_data.decided';

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
  const { store } = service;
  const firm = createFirm(span, size, isForPeople);
  const digest = createHash('sha256').update(JSON.stringify(firm)).digest().readUInt32BE() >>> 1;
  const content = await service.storage.put(tenant.id, sampleDocument());
  const [done = 0, known] = await store.read(tenant.id, (session) =>
    Promise.all([readCounter(session, tenant.id, stepsDone), readCounter(session, tenant.id, decided)]),
  );
  if (known !== undefined && known !== digest)
    throw new LoadOfOtherVersion('Another version of the service began to load the data, and this one has other rows.');
  let number = 0;
  for (const { operation, work } of stepsOf(firm, content)) {
    if (++number <= done) continue;
    signal?.throwIfAborted();
    const start = performance.now();
    await asOperator(service, tenant, operation, async (unit) => {
      await work(unit);
      await saveCounter(unit.transaction, tenant.id, stepsDone, number);
      await saveCounter(unit.transaction, tenant.id, decided, digest);
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
  yield* leavingSteps(firm);
  yield* partingSteps(firm.clients);
}

/** Sets a counter of the tenant to a value. */
export async function saveCounter(
  transaction: Transaction,
  tenantId: number,
  name: string,
  value: number,
): Promise<void> {
  await transaction.all(sql`
    insert into tenant_counter (tenant_id, name, value) values (${tenantId}, ${name}, ${value})
    on conflict (tenant_id, name) do update set value = excluded.value`);
}

/** Returns the value of a counter; undefined if it was never used. */
export async function readCounter(
  session: Pick<Transaction, 'all'>,
  tenantId: number,
  name: string,
): Promise<number | undefined> {
  const [row] = await session.all<{ value: number }>(
    sql`select value from tenant_counter where tenant_id = ${tenantId} and name = ${name}`,
  );
  return row?.value;
}
