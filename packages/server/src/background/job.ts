import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Service } from '../entity/service.ts';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import type { Caller, Tenant } from '../platform/auth/caller.ts';
import { newId } from '../platform/store/new-id.ts';
import type { Session, Transaction } from '../platform/store/store.ts';

/** The parts of the service that background work uses. */
export type BackgroundService = Pick<
  Service,
  'log' | 'store' | 'storage' | 'vault' | 'directory' | 'metrics' | 'processor' | 'mailServers'
>;

/** How the jobs with one name are run. */
export interface JobSettings {
  /** Maximum number of concurrent runs in one process. */
  readonly concurrency: number;
  /** Maximum number of concurrent runs for one tenant in one process. The rest is available to other tenants. */
  readonly concurrencyPerTenant: number;
  /** Number of retries before a failed job becomes a dead letter. */
  readonly retries: number;
  /** The delay of the first retry. It doubles with each further one, with jitter, up to the maximum. */
  readonly retryDelaySeconds: number;
  readonly maxRetryDelaySeconds: number;
  /** A run that takes longer fails: its signal is aborted, and it can no longer write. At most 24 hours. */
  readonly timeoutSeconds: number;
  /** A run fails if its process has sent no heartbeat for this long. At least 10. */
  readonly leaseSeconds: number;
}

const defaults: Omit<JobSettings, 'concurrencyPerTenant'> = {
  concurrency: 4,
  retries: 5,
  retryDelaySeconds: 5,
  maxRetryDelaySeconds: 3_600,
  timeoutSeconds: 900,
  leaseSeconds: 20,
};

/** The fields of a job's data: IDs and other small values. Everything else is read when the job runs. */
export type DataShape = Readonly<Record<string, 'string' | 'number' | 'boolean'>>;

export type DataOf<Shape extends DataShape> = {
  readonly [Field in keyof Shape]: { string: string; number: number; boolean: boolean }[Shape[Field]];
};

export interface Job<Shape extends DataShape = DataShape> {
  readonly name: string;
  readonly data: Shape;
  readonly settings: JobSettings;
  run(run: JobRun<DataOf<Shape>>): Promise<void>;
  /** Records for the tenant that the last retry failed, in the transaction that makes the job a dead letter. */
  died?(unit: UnitOfWork, data: DataOf<Shape>): Promise<unknown>;
}

/**
 * One run of a job. It can only access data of its own tenant.
 *
 * A process can die at any moment, and another one then runs the job again, so `run` must expect that part of its work is
 * already done. The transaction of `finish` is committed exactly once.
 */
export interface JobRun<Data> {
  readonly id: string;
  readonly tenant: Tenant;
  readonly data: Data;
  /** 1 for the first run of the job. */
  readonly attempt: number;
  /**
   * Aborted when the run must end: it exceeds its timeout, the process stops, or another process has taken over the job.
   */
  readonly signal: AbortSignal;
  /** Every line includes the name and ID of the job. */
  readonly log: Logger;
  readonly service: BackgroundService;
  read<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /**
   * Runs one transaction, audited as the system, or as the API user whom it is done for. It rolls back if the run has lost the job.
   *
   * @param movesAs the operation whose transitions between states the API user can make
   * @throws JobLost
   */
  write<T>(work: (unit: UnitOfWork) => Promise<T>, caller?: Caller, movesAs?: string): Promise<T>;
  /** Runs the last transaction, which also completes the job. @throws JobLost */
  finish<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T>;
}

/** The run no longer has the lease of the job; another process may run it. */
export class JobLost extends Error {
  override readonly name = 'JobLost';

  constructor() {
    super('This run no longer has the lease of the job, so nothing was written.');
  }
}

const jobName = /^[a-z][a-z0-9-]{1,62}$/;

/**
 * Declares a job. It runs if it is listed in `app/jobs.ts`.
 *
 * @param definition the name (lower case, with hyphens), the fields of the data, the function to run, and the settings
 * that differ from the defaults.
 */
export function defineJob<const Shape extends DataShape>(
  definition: Pick<Job<Shape>, 'name' | 'data' | 'run' | 'died'> & Partial<JobSettings>,
): Job<Shape> {
  const { name, data, run, died, ...settings } = definition;
  if (!jobName.test(name)) throw new Error(`"${name}" is not a valid job name.`);
  const { concurrency = defaults.concurrency } = settings;
  const concurrencyPerTenant = Math.max(1, concurrency - 1);
  return { name, data, run, ...(died && { died }), settings: { ...defaults, concurrencyPerTenant, ...settings } };
}

/** Adds a job for the tenant of the transaction. It exists only if the transaction commits, and starts milliseconds later. */
export async function enqueue<Shape extends DataShape>(
  transaction: Transaction,
  job: Job<Shape>,
  data: DataOf<Shape>,
): Promise<void> {
  await enqueueAll(transaction, job, [data]);
}

/** Adds jobs of one kind like `enqueue`, with one statement. */
export async function enqueueAll<Shape extends DataShape>(
  transaction: Transaction,
  job: Job<Shape>,
  all: readonly DataOf<Shape>[],
): Promise<void> {
  if (all.length === 0) return;
  await transaction.all(sql`
    insert into background_job (tenant_id, id, name, data, due_at)
    select current_setting('app.tenant_id')::integer, id, ${job.name}, data, now()
    from jsonb_to_recordset(${JSON.stringify(all.map((data) => ({ id: newId(), data })))}::jsonb) as job (id uuid, data jsonb)`);
}

/** Whether stored data, which another version of the program may have written, has the fields of the job. */
export function isDataOf<Shape extends DataShape>(shape: Shape, data: unknown): data is DataOf<Shape> {
  return Object.entries(shape).every(
    ([field, type]) => typeof data === 'object' && data !== null && typeof Reflect.get(data, field) === type,
  );
}
