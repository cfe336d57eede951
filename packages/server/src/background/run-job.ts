import { sql } from 'kysely';
import { transact } from '../entity/transact.ts';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import type { Caller } from '../platform/auth/caller.ts';
import type { Transaction } from '../platform/store/store.ts';
import { type BackgroundService, isDataOf, type Job, JobLost } from './job.ts';
import type { JobClaim } from './worker.ts';
import { writeAsSystem } from './write-as-system.ts';

/** Runs a job for its tenant. @throws Error with a message for the operator */
export async function runJob(service: BackgroundService, job: Job, claim: JobClaim): Promise<void> {
  const { id, tenantName, data, attempt, signal } = claim;
  const tenant = await service.directory.tenant(tenantName);
  if (tenant === undefined) throw new Error(`The tenant ${tenantName} does not exist or is closed.`);
  if (!isDataOf(job.data, data)) throw new Error(`The data of the job does not have the fields of ${job.name}.`);
  const { store, vault } = service;
  const write = <T>(
    work: (unit: UnitOfWork) => Promise<T>,
    beforeCommit: (transaction: Transaction) => Promise<void>,
    caller?: Caller,
    movesAs?: string,
  ) =>
    transact(
      store,
      { tenant, caller, operation: `job ${job.name}`, movesAs, requestId: id, vault },
      work,
      beforeCommit,
    );
  await job.run({
    id,
    tenant,
    data,
    attempt,
    signal,
    log: service.log.child({ job: job.name, jobId: id, tenant: tenant.name }),
    service,
    read: (work) => store.read(tenant.id, work),
    write: (work, caller, movesAs) => write(work, (transaction) => keepLease(transaction, claim), caller, movesAs),
    finish: async (work) => {
      const result = await write(work, (transaction) => endJob(transaction, claim));
      claim.completed = true;
      return result;
    },
  });
}

/**
 * Makes a job whose last retry failed a dead letter, with what it records for its tenant.
 *
 * @returns whether that is done; false if the job records nothing.
 * @throws JobLost
 */
export async function buryJob(service: BackgroundService, job: Job, claim: JobClaim, reason: string): Promise<boolean> {
  const { id, tenantName, data } = claim;
  const { died } = job;
  const tenant = await service.directory.tenant(tenantName);
  if (died === undefined || tenant === undefined || !isDataOf(job.data, data)) return false;
  const origin = { operation: `job ${job.name}`, requestId: id };
  await writeAsSystem(
    service,
    tenant,
    origin,
    (unit) => died(unit, data),
    (transaction) => endJob(transaction, claim, reason),
  );
  return true;
}

/** Keeps the lease of the job until the transaction ends. @throws JobLost */
async function keepLease(transaction: Transaction, { id, runId }: JobClaim): Promise<void> {
  const leased = await transaction.first(sql`select from background_job where ${isLeased(id, runId)} for share`);
  if (leased === undefined) throw new JobLost();
}

/**
 * Ends the job with the transaction, so that what it writes happens once.
 *
 * @param failure why the last retry failed; by default, the job is completed.
 * @throws JobLost
 */
async function endJob(transaction: Transaction, { id, runId }: JobClaim, failure: string | null = null): Promise<void> {
  const ended = await transaction.first(sql`
    update background_job set status = ${failure === null ? 'COMPLETED' : 'DEAD'}, ended_at = now(), run_id = null,
      leased_until = null, failure = ${failure}, failures = failures + ${failure === null ? 0 : 1}
    where ${isLeased(id, runId)} returning id`);
  if (ended === undefined) throw new JobLost();
}

const isLeased = (id: string, runId: string) =>
  sql`tenant_id = current_setting('app.tenant_id')::integer and id = ${id} and status = 'RUNNING' and run_id = ${runId}`;
