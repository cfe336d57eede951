import { sql } from 'kysely';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import type { Transaction } from '../store/store.ts';
import { type BackgroundService, isDataOf, type Job, JobLost } from './job.ts';
import type { Claim } from './worker.ts';
import { writeAsSystem } from './write-as-system.ts';

/** Runs a job for its tenant. @throws Error with a message for the operator */
export async function runJob(service: BackgroundService, job: Job, claim: Claim): Promise<void> {
  const { id, signal } = claim;
  const { tenantName, data } = readEnvelope(claim.data);
  const tenant = await service.directory.tenant(tenantName);
  if (tenant === undefined) throw new Error(`The tenant ${tenantName} does not exist or is closed.`);
  if (!isDataOf(job.data, data)) throw new Error(`The data of the job does not have the fields of ${job.name}.`);
  const write = <T>(
    work: (unit: UnitOfWork) => Promise<T>,
    beforeCommit: (transaction: Transaction) => Promise<void>,
  ) => writeAsSystem(service, tenant, { operation: `job ${job.name}`, requestId: id }, work, beforeCommit);
  await job.run({
    id,
    tenant,
    data,
    attempt: claim.attempt + 1,
    signal,
    log: service.log.child({ job: job.name, jobId: id, tenant: tenant.name }),
    service,
    read: (work) => service.store.read(tenant.id, work),
    write: (work) => write(work, (transaction) => holdClaim(transaction, claim)),
    finish: async (work) => {
      const result = await write(work, (transaction) => finishClaim(transaction, claim));
      claim.completed = true;
      return result;
    },
  });
}

/** Parses the data that `enqueue_job` stores. */
function readEnvelope(stored: unknown): { tenantName: string; data: unknown } {
  if (typeof stored !== 'object' || stored === null || !('tenant' in stored) || !('data' in stored)) {
    throw new Error('The job has no tenant.');
  }
  return { tenantName: String(stored.tenant), data: stored.data };
}

/** Verifies that the run holds the job until the transaction ends. @throws JobLost */
export async function holdClaim(transaction: Transaction, { name, id, attempt }: Claim): Promise<void> {
  const row = await transaction.first(sql<{ held: boolean }>`select hold_job(${name}, ${id}, ${attempt}) as held`);
  if (row?.held !== true) throw new JobLost();
}

async function finishClaim(transaction: Transaction, { name, id, attempt }: Claim): Promise<void> {
  const row = await transaction.first(sql<{ held: boolean }>`select finish_job(${name}, ${id}, ${attempt}) as held`);
  if (row?.held !== true) throw new JobLost();
}
