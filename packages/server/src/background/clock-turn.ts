import { sql } from 'kysely';
import { newId } from '../platform/store/new-id.ts';
import type { Store, Transaction } from '../platform/store/store.ts';
import { JobLost } from './job.ts';

/** For how long a process is the only one that ticks, in seconds, unless it renews the lease. */
const leaseSeconds = 20;
/** How often the lease is renewed, in milliseconds. */
const renewEvery = 4_000;

/** The right of this process to be the only one whose clock ticks. */
export interface ClockTurn {
  readonly id: string;
  /** Aborted when the turn is lost, or the process stops. */
  readonly signal: AbortSignal;
}

/**
 * Takes the turn of a minute, unless another process has it, and runs one tick.
 *
 * @param minute minutes since 1970 on the clock of the database.
 */
export async function takeTurn(
  store: Store,
  minute: number,
  stopping: AbortSignal,
  tick: (turn: ClockTurn) => Promise<void>,
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
    const { rows: held } = await store.ownerStatements(
      `update clock_lease set leased_until = now() + interval '${leaseSeconds} seconds' where run_id = $1 returning minute`,
      [id],
    );
    if (held.length === 0) lost.abort(new JobLost());
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

/** Verifies that the process holds the turn until the transaction ends. @throws JobLost */
export async function holdTurn(transaction: Transaction, { id }: ClockTurn): Promise<void> {
  const row = await transaction.first(sql<{ held: boolean }>`select lock_clock_lease(${id}) as held`);
  if (row?.held !== true) throw new JobLost();
}
