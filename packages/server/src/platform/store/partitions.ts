import { sql } from 'kysely';
import type { Store, Transaction } from './store.ts';

/** Tables with a partition for each month of their IDs. */
export type MonthlyTable = 'audit_log' | 'delivery_attempt';

/** How long no partition is dropped because a tenant moves, in days: its rows in two databases are compared. A move takes hours at most. */
const maxMoveDays = 7;
/** How long a change of partitions waits for a lock, in milliseconds: whoever needs the table waits behind it. */
const lockTimeout = 500;

export interface KeptPartitions {
  readonly added: number;
  /** Names of the tables that were dropped. */
  readonly dropped: readonly string[];
}

/**
 * Adds the partitions of a table for the coming months, and drops those of which all rows are older than they are kept. If another process
 * does the same, nothing happens. The database compares with its own time, whatever the clock of this process says.
 *
 * @param kept how long rows are kept, as an interval of SQL, by the real time, which IDs begin with; null keeps all
 * @throws DatabaseUnavailable if the table was in use for too long
 */
export async function keepPartitions(
  store: Store,
  table: MonthlyTable,
  kept: string | null,
  monthsAhead = 3,
): Promise<KeptPartitions> {
  const change = <Result>(work: (transaction: Transaction) => Promise<Result>) =>
    store.system(async (transaction) => {
      await transaction.all(sql`select set_config('lock_timeout', ${String(lockTimeout)}, true)`);
      const lock = await transaction.first<{ locked: boolean }>(sql`
        select pg_try_advisory_xact_lock(hashtext('keep_partitions')) as locked`);
      return lock?.locked === true ? work(transaction) : undefined;
    });
  const added = await change((transaction) =>
    transaction.first<{ added: number }>(
      sql`select add_months(${table}, now() + interval '1 month' * ${monthsAhead}::integer) as added`,
    ),
  );
  const dropped: string[] = [];
  // Each in its own transaction, so that the locks of one are held for a short time.
  while (kept !== null) {
    const name = await change(async (transaction) => {
      const old = await transaction.first<{ partition: string }>(sql`
        select partition from partitions_of(${table})
        where ends_at <= now() - ${kept}::interval and not exists (select from tenant_move
          where phase in ('LEAVING', 'STOPPED', 'ARRIVING') and started_at > now() - interval '1 day' * ${maxMoveDays}::integer)
        order by ends_at limit 1`);
      if (old !== undefined) await transaction.all(sql`drop table ${sql.id(old.partition)}`);
      return old?.partition;
    });
    if (name === undefined) break;
    dropped.push(name);
  }
  return { added: added?.added ?? 0, dropped };
}
