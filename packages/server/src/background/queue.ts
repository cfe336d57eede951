import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { PgBoss } from 'pg-boss';
import type { Logger } from 'pino';
import { DatabaseUnavailable, TransactionConflict } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import type { JobSettings } from './job.ts';

/** A queue in the database, with the jobs of one name. */
export interface Queue {
  readonly name: string;
  readonly settings: JobSettings;
  /** At most one job at a time, and no dead letters: the next job resumes the work of a failed one. */
  readonly single?: boolean;
}

/** The queue of jobs whose last retry failed. They stay there until an operator retries them. */
export const deadLetters = 'dead-letter';

const day = 86_400;

/** The options of a queue in the format of the library. */
function optionsOf({ settings, single = false }: Queue) {
  return {
    policy: single ? ('exclusive' as const) : ('standard' as const),
    retryLimit: settings.retries,
    retryDelay: settings.retryDelaySeconds,
    retryDelayMax: settings.longestRetryDelaySeconds,
    retryBackoff: true,
    expireInSeconds: settings.timeoutSeconds,
    heartbeatSeconds: settings.leaseSeconds,
    retentionSeconds: 365 * day,
    // Ended jobs are kept for diagnosis only.
    deleteAfterSeconds: single ? 600 : day,
    deadLetter: single ? null : deadLetters,
  };
}

/**
 * Creates missing queues and updates those whose settings have changed. Jobs can only be added to existing queues, so
 * this runs before requests are served. If nothing has changed, it takes one statement.
 */
export async function ensureQueues(store: Store, queues: readonly Queue[], log: Logger): Promise<void> {
  if (queues.length === 0) return;
  const { rows } = await store.ownerStatements(`
    select name, policy, retry_limit as "retryLimit", retry_delay as "retryDelay", retry_delay_max as "retryDelayMax",
      retry_backoff as "retryBackoff", expire_seconds as "expireInSeconds", heartbeat_seconds as "heartbeatSeconds",
      retention_seconds as "retentionSeconds", deletion_seconds as "deleteAfterSeconds", dead_letter as "deadLetter"
    from pgboss.queue`);
  const present = new Map(rows.map(({ name, ...options }) => [name, options]));
  const changed = queues.filter((queue) => !isDeepStrictEqual(present.get(queue.name), optionsOf(queue)));
  if (changed.length === 0) return;
  const boss = await openBoss(store, log);
  if (!present.has(deadLetters)) {
    await boss.createQueue(deadLetters, { retentionSeconds: 365 * day, deleteAfterSeconds: 365 * day });
  }
  for (const queue of changed) {
    const { policy, deadLetter, ...options } = optionsOf(queue);
    const named = deadLetter === null ? options : { ...options, deadLetter };
    if (present.has(queue.name)) await boss.updateQueue(queue.name, named);
    else await boss.createQueue(queue.name, { policy, ...named });
  }
}

/** Number of attempts to run a statement while the database is unavailable: for about as long as a lease lasts. */
const mostAttempts = 5;

/**
 * Opens the queue library on the connections of the store. It is loaded on demand, which takes a tenth of a second of CPU
 * time. It is not started, because it would poll the database for each of its duties; `Watch` uses one statement to check
 * whether there is anything to do.
 */
export async function openBoss(store: Store, log: Logger): Promise<PgBoss> {
  const { PgBoss } = await import('pg-boss');
  const boss = new PgBoss({
    db: { executeSql: (text, values) => execute(store, text, values) },
    schema: 'pgboss',
    migrate: false,
    schedule: false,
    supervise: false,
    registerInstance: false,
    // Rebuilding indexes cannot run in a transaction, and PGlite has no statistics on vacuum.
    reindex: false,
    monitorVacuum: false,
    // `Watch` calls `supervise` when required. Concurrent processes take turns of this length.
    monitorIntervalSeconds: 1,
    maintenanceIntervalSeconds: 3_600,
    openTelemetry: { enabled: false },
  });
  boss.on('error', (error) => log.warn({ err: error }, 'An operation of the job queue failed. It is retried.'));
  boss.on('warning', ({ message }) => log.warn(message));
  return boss;
}

async function execute(store: Store, text: string, values: unknown[] | undefined) {
  // A statement that fetches jobs must not be repeated, because it may have taken effect. All others can.
  const attempts = text.includes('SKIP LOCKED') ? 1 : mostAttempts;
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.ownerStatements(text, values);
    } catch (error) {
      const passing = error instanceof DatabaseUnavailable || error instanceof TransactionConflict;
      if (!passing || attempt === attempts) throw error;
      await pause(250 * 2 ** attempt);
    }
  }
}
