/**
 * The time that decides what is stored, expires or is deleted: that of the database, which all processes share. Only this file reads the
 * clock of the machine.
 */

/** A process whose clock differs from that of the database by more does not serve, in milliseconds. */
const maxDifferenceMs = 5_000;

/** The time that a database reported. The other times are of `performance.now()`, which nobody sets. In milliseconds. */
export interface ClockReading {
  /** Since 1970. */
  readonly database: number;
  readonly requestedAt: number;
  readonly arrivedAt: number;
}

export class DatabaseClock {
  /** The time at which `performance.now()` was 0; undefined until the time of a database was read. */
  #origin: number | undefined;

  /** Milliseconds since 1970. The embedded database has the clock of the process. */
  now(): number {
    return this.#origin === undefined ? Date.now() : Math.floor(this.#origin + performance.now());
  }

  /** By how much the clock of this machine is ahead of that of the database, in milliseconds. */
  machineAhead(): number {
    return Date.now() - this.now();
  }

  instant(): Temporal.Instant {
    return Temporal.Instant.fromEpochMilliseconds(this.now());
  }

  date(): Date {
    return new Date(this.now());
  }

  /** Follows the clock of a database, and stays as it is where the reading allows that, so that it seldom goes back. */
  follow({ database, requestedAt, arrivedAt }: ClockReading): void {
    const origin = this.#origin ?? Date.now() - performance.now();
    this.#origin = Math.min(Math.max(origin, database - arrivedAt), database - requestedAt);
  }
}

export const databaseClock = new DatabaseClock();

/** @returns a sentence if the clock of this machine differs too much from that of the database */
export function clockFault(reading: ClockReading): string | undefined {
  return faultOf('The clock of this process', 'the database', Date.now() - performance.now(), reading);
}

/** @returns a sentence if the clock of a database differs too much from that of the one whose time decides */
export function otherClockFault(reading: ClockReading): string | undefined {
  return faultOf('The clock of the first database', 'this one', databaseClock.now() - performance.now(), reading);
}

function faultOf(subject: string, other: string, origin: number, reading: ClockReading): string | undefined {
  // At least, and 0 if the reading cannot tell: a response may have taken long.
  const ahead = Math.max(0, origin + reading.requestedAt - reading.database);
  const behind = Math.max(0, reading.database - reading.arrivedAt - origin);
  if (ahead + behind <= maxDifferenceMs) return undefined;
  const difference = `${lengthOf(ahead + behind)} ${ahead > 0 ? 'ahead of' : 'behind'} that of ${other}`;
  return `${subject} is ${difference}. Correct the one that is wrong, such as by NTP.`;
}

function lengthOf(milliseconds: number): string {
  const units = [
    ['days', 86_400_000],
    ['hours', 3_600_000],
    ['seconds', 1_000],
  ] as const;
  const [name, length] = units.find(([, length]) => milliseconds >= 2 * length) ?? units[2];
  return `${Math.floor(milliseconds / length).toLocaleString('en')} ${name}`;
}
