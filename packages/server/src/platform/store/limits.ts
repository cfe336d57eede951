/** A logger for messages to the operator, compatible with pino. */
export interface StoreLog {
  info(message: string): void;
  warn(message: string): void;
}

/** For opening a database without a line of the log. */
export const silentLog: StoreLog = { info() {}, warn() {} };

/** In milliseconds. They prevent slow or failed work from holding a connection or a lock indefinitely. */
export interface Limits {
  /** Waiting for a connection, and opening one. */
  readonly connect: number;
  /** Opening the first connection: a slower server counts as unreachable. */
  readonly firstConnect: number;
  readonly lock: number;
  /** One read, with all its statements. The service has a shorter one, of the contract or of its operator. */
  readonly read: number;
  /** One statement of a transaction. */
  readonly statement: number;
  /** What a transaction waits for its process, which may hang or be cut off, while others wait for its locks. */
  readonly idleInTransaction: number;
  /** Waiting for a standby to have what was committed before a read. Then the primary is read. */
  readonly standby: number;
}

export const standardLimits: Limits = {
  connect: 5_000,
  firstConnect: 5_000,
  lock: 10_000,
  read: 30_000,
  statement: 30_000,
  idleInTransaction: 5_000,
  standby: 5,
};
