import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import { Coalesced } from '../coalesced.ts';
import { type Connection, withConnection } from '../connection.ts';
import { reasonOf } from '../errors.ts';
import type { StoreLog } from '../limits.ts';

/** A position in the write-ahead log, in bytes: exact up to 9 petabytes. */
export type WalPosition = number;

/** Reads the text of a `pg_lsn`. */
export function positionOf(text: string): WalPosition {
  const [high = '', low = ''] = text.split('/');
  return Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16);
}

/** Pause between two looks at the position of a standby while reads wait for it, in milliseconds. */
const lookEvery = 1;
/** For how long reads look at a standby only once after one has waited in vain, in milliseconds. */
const impatience = 100;
/** How often a standby is probed, and the longest interval for one that is left out, in milliseconds. */
const probeEvery = 1_000;
const maxBackOffMs = 30_000;
/** What the standbys of a store report, for metrics and readiness. */
export interface StandbyState {
  /** Number of the standby in the order of the settings, from 1. Its address is not for callers. */
  readonly number: number;
  /** Why it is left out; undefined while it is used. */
  readonly leftOut: string | undefined;
  /** How far it was behind the primary at the last probe, in bytes of the write-ahead log. */
  readonly behind: number;
}

/** The pools of a standby: one for reads, and one with a single connection for its position. */
export interface StandbyPools {
  readonly reads: Pool;
  readonly probe: Pool;
}

/**
 * A standby server, which is probed in the background. It is left out while it does not respond, receives nothing from the
 * primary, or is more than a second behind it; then it is probed less and less often.
 */
export class Standby {
  readonly number: number;
  readonly pools: StandbyPools;
  /** Reads in progress, by which the least busy standby is found. */
  inProgress = 0;
  readonly #primary: { position(): Promise<WalPosition>; identifier(): Promise<string> };
  readonly #log: StoreLog;
  readonly #look: Coalesced<WalPosition>;
  /** What it has replayed at least. It can restart at an earlier position, so a lost connection resets it. */
  #replayed: WalPosition = 0;
  #impatientUntil = 0;
  #leftOut: string | undefined = 'It was not probed yet.';
  #behind = 0;
  #expected: WalPosition = 0;
  #interval = probeEvery;
  #timer: NodeJS.Timeout | undefined;
  #probing: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    number: number,
    pools: StandbyPools,
    primary: { position(): Promise<WalPosition>; identifier(): Promise<string> },
    log: StoreLog,
  ) {
    this.number = number;
    this.pools = pools;
    this.#primary = primary;
    this.#log = log;
    this.#look = new Coalesced(() => this.#readPosition());
    for (const pool of [pools.reads, pools.probe]) pool.on('error', () => this.forgetPosition());
  }

  get state(): StandbyState {
    return { number: this.number, leftOut: this.#leftOut, behind: this.#behind };
  }

  get isAvailable(): boolean {
    return this.#leftOut === undefined;
  }

  /** Waits for the standby to replay a position. @returns whether it did within the time, in milliseconds */
  async reaches(position: WalPosition, within: number): Promise<boolean> {
    if (this.#replayed >= position) return true;
    const now = performance.now();
    const isPatient = now >= this.#impatientUntil;
    const looking = this.#untilReached(position, isPatient ? now + within : now);
    const hasReached = await Promise.race([looking, pause(within, false, { ref: false })]);
    if (hasReached) this.#impatientUntil = 0;
    else if (isPatient) this.#impatientUntil = performance.now() + impatience;
    return hasReached;
  }

  forgetPosition(): void {
    this.#replayed = 0;
  }

  /** Leaves the standby out after a failed read, until a probe succeeds. */
  failed(error: unknown): void {
    this.forgetPosition();
    this.#leaveOut(reasonOf(error));
    this.#schedule(0);
  }

  /** Probes it now and from time to time. */
  start(): Promise<void> {
    return this.#probe();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#probing;
    await Promise.all([this.pools.reads.end(), this.pools.probe.end()]);
  }

  async #untilReached(position: WalPosition, end: number): Promise<boolean> {
    for (;;) {
      try {
        if ((await this.#look.get()) >= position) return true;
      } catch {
        return false;
      }
      if (performance.now() >= end || !this.isAvailable) return false;
      await pause(lookEvery);
    }
  }

  #schedule(delay: number): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#probe(), delay).unref();
  }

  /** Never rejects. */
  #probe(): Promise<void> {
    this.#probing ??= this.#probeOnce().finally(() => {
      this.#probing = undefined;
      this.#schedule(this.#interval);
    });
    return this.#probing;
  }

  async #probeOnce(): Promise<void> {
    let expected: WalPosition;
    let identifier: string;
    try {
      [expected, identifier] = await Promise.all([this.#primary.position(), this.#primary.identifier()]);
    } catch {
      // Without the primary, nothing is read.
      return;
    }
    const fault = await this.#fault(identifier);
    this.#behind = Math.max(0, expected - this.#replayed);
    // Everything that the primary had at the last probe must have arrived by now.
    const reason =
      fault ?? (this.#replayed < this.#expected ? 'It is more than a second behind the primary.' : undefined);
    this.#expected = expected;
    if (reason !== undefined) return this.#leaveOut(reason);
    if (this.#leftOut !== undefined) this.#log.info(`Standby ${this.number} used for reads.`);
    this.#leftOut = undefined;
    this.#interval = probeEvery;
  }

  /** Returns why it cannot be used; undefined if it can. */
  async #fault(identifier: string): Promise<string | undefined> {
    try {
      const row = await withConnection(this.pools.probe, async (connection) => {
        const { rows } = await connection.run({ text: stateOfStandby });
        return rows[0] as { inRecovery: boolean; receives: boolean; identifier: string; position: string | null };
      });
      if (!row.inRecovery) return 'Not a standby.';
      if (row.identifier !== identifier) return 'It is a standby of another server than DATABASE_URL.';
      // After a failover, it may have what the new primary never had.
      if (!row.receives) return 'It is not connected to the primary.';
      this.#replayed = positionOf(row.position ?? '0/0');
      return undefined;
    } catch (error) {
      this.forgetPosition();
      return `It does not respond (${reasonOf(error)}).`;
    }
  }

  #leaveOut(reason: string): void {
    if (this.#leftOut === undefined) {
      this.#log.warn(`Standby ${this.number} excluded; reading from the primary: ${reason}`);
      this.#interval = probeEvery;
    } else this.#interval = Math.min(this.#interval * 2, maxBackOffMs);
    this.#leftOut = reason;
  }

  async #readPosition(): Promise<WalPosition> {
    this.#replayed = await withConnection(this.pools.probe, readReplayed);
    return this.#replayed;
  }
}

const stateOfStandby = `
  select pg_is_in_recovery() as "inRecovery", pg_last_wal_replay_lsn()::text as position,
    exists (select from pg_stat_wal_receiver) as receives,
    (select system_identifier::text from pg_control_system()) as identifier`;

async function readReplayed(connection: Connection): Promise<WalPosition> {
  const { rows } = await connection.run({ text: 'select pg_last_wal_replay_lsn()::text as position' });
  return positionOf(String(rows[0]?.position ?? '0/0'));
}
