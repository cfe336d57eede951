import { pino } from 'pino';
import { deadLetters, openBoss } from '../background/queue.ts';
import type { Operator } from './tenants.ts';

/** Jobs that wait or run, by name, and dead jobs. */
export interface JobOverview {
  readonly queues: readonly { readonly job: string; readonly waiting: number; readonly running: number }[];
  /** The latest first, at most 100. */
  readonly dead: readonly DeadJob[];
}

/** A job whose last retry failed. It is kept for a year. */
interface DeadJob {
  readonly id: string;
  readonly job: string;
  readonly tenant: string;
  readonly attempts: number;
  /** RFC 3339 */
  readonly diedAt: string;
  readonly reason: string;
}

/** These commands need the database only. */
type JobOperator = { readonly service: Pick<Operator['service'], 'store'> };

export async function listJobs({ service: { store } }: JobOperator): Promise<JobOverview> {
  const queues = await store.ownerStatements(
    `select queue.name as job, count(*) filter (where state in ('created', 'retry'))::integer as waiting,
       count(*) filter (where state = 'active')::integer as running
     from pgboss.queue left join pgboss.job on job.name = queue.name and state in ('created', 'retry', 'active')
     where queue.name <> $1 group by queue.name order by queue.name`,
    [deadLetters],
  );
  const dead = await store.ownerStatements(
    `select id, source_name as job, data->>'tenant' as tenant, source_retry_count + 1 as attempts,
       to_char(created_on at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "diedAt",
       coalesce(source_output->>'message', source_output->'value'->>'message', '') as reason
     from pgboss.job where name = $1 and state = 'created' order by created_on desc limit 100`,
    [deadLetters],
  );
  return {
    queues: queues.rows.map(({ job, waiting, running }) => ({
      job: String(job),
      waiting: Number(waiting),
      running: Number(running),
    })),
    dead: dead.rows.map((row) => ({
      id: String(row.id),
      job: String(row.job),
      tenant: String(row.tenant),
      attempts: Number(row.attempts),
      diedAt: String(row.diedAt),
      reason: String(row.reason),
    })),
  };
}

/**
 * Runs a dead job again.
 *
 * @throws Error with a sentence if no dead job has this ID.
 */
export async function retryJob({ service: { store } }: JobOperator, id: string): Promise<void> {
  const known = await store.ownerStatements(
    `select from pgboss.job where name = $1 and id::text = $2 and state = 'created'`,
    [deadLetters, id],
  );
  if (known.rows.length === 0) throw new Error(`No dead job has the id ${id}. "job list" shows them.`);
  const boss = await openBoss(store, pino({ level: 'silent' }));
  await boss.redrive(deadLetters, { ids: [id] });
}
