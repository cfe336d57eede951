import type { Pool } from 'pg';
import { Coalesced } from '../coalesced.ts';
import { type Connection, withConnection } from '../connection.ts';
import { DatabaseError, DatabaseUnavailable, TimeBudgetExceeded } from '../errors.ts';
import type { StoreLog } from '../limits.ts';
import { positionOf, Standby, type StandbyPools, type StandbyState, type WalPosition } from './standby.ts';

/** Where a read ran that may run on a standby: all but `served` ran on the primary. */
export const standbyOutcomes = ['served', 'behind', 'failed', 'left out'] as const;
type StandbyOutcome = (typeof standbyOutcomes)[number];

/** Receives what happens to reads, for metrics. */
type OnStandbyRead = (outcome: StandbyOutcome) => void;

/**
 * Runs reads on standbys that have everything that was committed before the read began.
 *
 * The position to wait for is that of the primary, not that of the last write of the caller. So a caller sees what it wrote
 * through any process, and what others wrote, without a header or cookie that it would have to return, and no write costs more.
 * One statement on the primary reads the position for all reads of the process that wait at that time.
 */
export class Standbys {
  readonly #standbys: readonly Standby[];
  readonly #position: Coalesced<WalPosition>;
  readonly #primary: Pool;
  readonly #wait: number;
  #onRead: OnStandbyRead = () => undefined;

  /**
   * @param primary a pool with one connection to the primary, for its position
   * @param wait how long a read waits for a standby, in milliseconds
   */
  constructor(standbys: readonly StandbyPools[], primary: Pool, wait: number, log: StoreLog) {
    this.#position = new Coalesced(() => withConnection(primary, readWritten));
    this.#primary = primary;
    this.#wait = wait;
    let identifier: Promise<string> | undefined;
    const source = {
      position: () => this.#position.get(),
      identifier: () => {
        identifier ??= withConnection(primary, readIdentifier).catch((error: unknown) => {
          identifier = undefined;
          throw error;
        });
        return identifier;
      },
    };
    this.#standbys = standbys.map((pools, index) => new Standby(index + 1, pools, source, log));
  }

  /** Probes all for the first time. Those that do not respond are left out. */
  async start(): Promise<void> {
    await Promise.all(this.#standbys.map((standby) => standby.start()));
  }

  get states(): readonly StandbyState[] {
    return this.#standbys.map(({ state }) => state);
  }

  observe(onRead: OnStandbyRead): void {
    this.#onRead = onRead;
  }

  /** Runs `onStandby` with the pool of a standby that is up to date, or else `onPrimary`. */
  async read<Result>(onStandby: (pool: Pool) => Promise<Result>, onPrimary: () => Promise<Result>): Promise<Result> {
    const standby = this.#leastBusy();
    if (standby === undefined) {
      this.#onRead('left out');
      return onPrimary();
    }
    standby.inProgress += 1;
    try {
      const isUpToDate = await this.#position.get().then(
        (position) => standby.reaches(position, this.#wait),
        () => false,
      );
      if (isUpToDate) {
        const result = await onStandby(standby.pools.reads);
        this.#onRead('served');
        return result;
      }
      this.#onRead('behind');
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      // A read that takes too long would take too long on the primary too.
      if (error instanceof TimeBudgetExceeded) throw error;
      this.#onRead('failed');
      // Other errors are of the statement: replaying can end one (SQLSTATE 40001).
      if (error instanceof DatabaseUnavailable) standby.failed(error);
    } finally {
      standby.inProgress -= 1;
    }
    return onPrimary();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#standbys.map((standby) => standby.close()), this.#primary.end()]);
  }

  #leastBusy(): Standby | undefined {
    let best: Standby | undefined;
    for (const standby of this.#standbys) {
      if (standby.isAvailable && (best === undefined || standby.inProgress < best.inProgress)) best = standby;
    }
    return best;
  }
}

/**
 * What was committed is flushed, unless commits do not wait for that. What is not flushed is not sent to standbys yet, so waiting
 * for it would take as long as the interval in which PostgreSQL flushes.
 */
const writtenPosition = `
  select (case when current_setting('synchronous_commit') = 'off' then pg_current_wal_insert_lsn()
    else pg_current_wal_flush_lsn() end)::text as position`;

async function readWritten(connection: Connection): Promise<WalPosition> {
  const { rows } = await connection.run({ text: writtenPosition });
  return positionOf(String(rows[0]?.position ?? '0/0'));
}

async function readIdentifier(connection: Connection): Promise<string> {
  const { rows } = await connection.run({
    text: 'select system_identifier::text as identifier from pg_control_system()',
  });
  return String(rows[0]?.identifier);
}
