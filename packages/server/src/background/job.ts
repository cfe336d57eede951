import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Tenant } from '../auth/caller.ts';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import type { Service } from '../service.ts';
import { newId } from '../store/new-id.ts';
import type { Session, Transaction } from '../store/store.ts';

/** The parts of the service that background work uses. */
export type BackgroundService = Pick<
  Service,
  'log' | 'store' | 'storage' | 'vault' | 'directory' | 'metrics' | 'processor'
>;

/** How the jobs of one name are run. */
export interface JobSettings {
  /** How many of them run at the same time in one process. */
  readonly concurrency: number;
  /** How many of them run at the same time for one tenant in one process. The rest is left to other tenants. */
  readonly concurrencyPerTenant: number;
  /** How often a failed job is retried before it becomes a dead letter. */
  readonly retries: number;
  /** The delay of the first retry. It doubles with each further one, with jitter, up to the longest. */
  readonly retryDelaySeconds: number;
  readonly longestRetryDelaySeconds: number;
  /** A run that takes longer fails: its signal is aborted, and it can write nothing more. At most 24 hours. */
  readonly timeoutSeconds: number;
  /** A run fails when its process has sent no heartbeat for this long. At least 10. */
  readonly leaseSeconds: number;
}

const defaults: Omit<JobSettings, 'concurrencyPerTenant'> = {
  concurrency: 4,
  retries: 5,
  retryDelaySeconds: 5,
  longestRetryDelaySeconds: 3_600,
  timeoutSeconds: 900,
  leaseSeconds: 20,
};

/** The fields of a job's data: ids and other small values. Everything else is read when the job runs. */
export type DataShape = Readonly<Record<string, 'string' | 'number' | 'boolean'>>;

export type DataOf<Shape extends DataShape> = {
  readonly [Field in keyof Shape]: { string: string; number: number; boolean: boolean }[Shape[Field]];
};

export interface Job<Shape extends DataShape = DataShape> {
  readonly name: string;
  readonly data: Shape;
  readonly settings: JobSettings;
  run(run: JobRun<DataOf<Shape>>): Promise<void>;
}

/**
 * One run of a job. It reaches data of its own tenant only.
 *
 * A process can die at any moment, and then another one runs the job again, so `run` must expect that a part of its work is
 * done already. The transaction of `finish` is committed exactly once.
 */
export interface JobRun<Data> {
  readonly id: string;
  readonly tenant: Tenant;
  readonly data: Data;
  /** 1 for the first run of the job. */
  readonly attempt: number;
  /** Aborted when the run must end: it takes too long, the process stops, or another process has taken the job over. */
  readonly signal: AbortSignal;
  /** Every line carries the name of the job and its id. */
  readonly log: Logger;
  readonly service: BackgroundService;
  read<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** One transaction, audited as the system's. It rolls back if the run has lost the job. @throws JobLost */
  write<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T>;
  /** The last transaction of the run, which also completes the job. @throws JobLost */
  finish<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T>;
}

/** The run no longer holds the job; another process may run it. */
export class JobLost extends Error {
  override readonly name = 'JobLost';

  constructor() {
    super('This run no longer holds the job, so nothing was written.');
  }
}

const jobName = /^[a-z][a-z0-9-]{1,62}$/;
/** Queues with a purpose of their own. */
const reservedNames: readonly string[] = ['clock', 'dead-letter'];

/**
 * Declares a job. It runs if it is listed in `resources/jobs.ts`.
 *
 * @param definition the name (lower case, with hyphens), the fields of the data, what the job does, and the settings that
 *   differ from the defaults.
 */
export function defineJob<const Shape extends DataShape>(
  definition: Pick<Job<Shape>, 'name' | 'data' | 'run'> & Partial<JobSettings>,
): Job<Shape> {
  const { name, data, run, ...settings } = definition;
  if (!jobName.test(name) || reservedNames.includes(name)) throw new Error(`"${name}" is not a valid job name.`);
  const { concurrency = defaults.concurrency } = settings;
  const concurrencyPerTenant = Math.max(1, concurrency - 1);
  return { name, data, run, settings: { ...defaults, concurrencyPerTenant, ...settings } };
}

/**
 * Adds a job for the tenant of the transaction. It exists if and only if the transaction commits, and starts milliseconds
 * after that.
 *
 * @param at the earliest time to start, if not at once.
 * @returns the id of the job.
 */
export async function enqueue<Shape extends DataShape>(
  transaction: Transaction,
  job: Job<Shape>,
  data: DataOf<Shape>,
  at?: Temporal.Instant,
): Promise<string> {
  const id = newId();
  await transaction.all(sql`
    select enqueue_job(${id}, ${job.name}, ${JSON.stringify(data)}::jsonb, ${at?.toString() ?? null}::timestamptz)`);
  return id;
}

/** Whether stored data, which another version of the program may have written, has the fields of the job. */
export function isDataOf<Shape extends DataShape>(shape: Shape, data: unknown): data is DataOf<Shape> {
  return Object.entries(shape).every(
    ([field, type]) => typeof data === 'object' && data !== null && typeof Reflect.get(data, field) === type,
  );
}
