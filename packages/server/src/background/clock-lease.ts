import { sql } from 'kysely';
import { newId } from '../platform/store/new-id.ts';
import type { Store, Transaction } from '../platform/store/store.ts';
import { JobLost } from './job.ts';

/** For how long a process is the only one that ticks, in seconds, unless it renews the lease. */
const leaseSeconds = 20;
/** How often the lease is renewed, in milliseconds. */
const renewEvery = 4_000;

/** The lease of the clock: this process is the only one whose clock ticks. */
export interface ClockLease {
  readonly id: string;
  /** Aborted when the lease is lost, or the process stops. */
  readonly signal: AbortSignal;
}

/**
 * Leases the clock for a minute, unless another process has the lease or had that minute, and runs one tick.
 *
 * @param minute minutes since 1970 on the clock of the database.
 */
export async function leaseClock(
  store: Store,
  minute: number,
  stopping: AbortSignal,
  tick: (lease: ClockLease) => Promise<void>,
): Promise<void> {
  const id = newId();
  const { rows } = await store.ownerStatements(
    `update clock_lease set minute = $1, run_id = $2, leased_until = now() + interval '${leaseSeconds} seconds'
     where minute < $1 and (leased_until is null or leased_until < now()) returning minute`,
    [minute, id],
  );
  if (rows.length === 0) return;
  const lost = new AbortController();
  const renew = async () => {
    const { rows: renewed } = await store.ownerStatements(
      `update clock_lease set leased_until = now() + interval '${leaseSeconds} seconds' where run_id = $1 returning minute`,
      [id],
    );
    if (renewed.length === 0) lost.abort(new JobLost());
  };
  // While the database is unavailable, the lease expires by itself.
  const renewals = setInterval(() => void renew().catch(() => undefined), renewEvery);
  try {
    await tick({ id, signal: AbortSignal.any([lost.signal, stopping]) });
  } finally {
    clearInterval(renewals);
    await store.ownerStatements('update clock_lease set run_id = null, leased_until = null where run_id = $1', [id]);
  }
}

/** Keeps the lease until the transaction ends. @throws JobLost */
export async function keepLease(transaction: Transaction, { id }: ClockLease): Promise<void> {
  const row = await transaction.first(sql<{ kept: boolean }>`select lock_clock_lease(${id}) as kept`);
  if (row?.kept !== true) throw new JobLost();
}
