/**
 * Typed database errors. They contain neither the text of a statement nor values of a row, because problem documents and
 * logs include them.
 */

/** A statement that the database rejected for any other reason, usually a defect of the service. */
export class DatabaseError extends Error {
  override readonly name: string = 'DatabaseError';
  /** The five characters of SQLSTATE; undefined if the server did not respond. */
  readonly sqlState: string | undefined;

  constructor(message: string, sqlState?: string) {
    super(message);
    this.sqlState = sqlState;
  }
}

/** The database does not respond in time, and nothing was written. The same request may succeed later. */
export class DatabaseUnavailable extends DatabaseError {
  override readonly name: string = 'DatabaseUnavailable';
}

/** The connection broke while a transaction was being committed: it is unknown whether its changes took effect. */
export class OutcomeUnknown extends DatabaseUnavailable {
  override readonly name = 'OutcomeUnknown';

  constructor(cause: unknown) {
    super('The connection to the database was lost during a commit.');
    this.cause = cause;
  }
}

/** The server cannot be reached, starts, or has no connection left: it may be there in a moment. */
export class ServerAway extends DatabaseUnavailable {
  override readonly name = 'ServerAway';
}

/** The disk of the database is full. Committed data is safe; writes succeed again once there is space. */
export class DiskFull extends DatabaseUnavailable {
  override readonly name = 'DiskFull';
}

/**
 * The tenant is being moved to another database, or has been. Its writes are stopped for a few seconds, or it is in the other database by
 * now.
 */
export class TenantMoving extends DatabaseUnavailable {
  override readonly name = 'TenantMoving';

  constructor() {
    super('The tenant is being moved to another database.', tenantMoving);
  }
}

/** A newer version of this program has migrated the database, so this process is out of date. */
export class DatabaseUpgraded extends DatabaseUnavailable {
  override readonly name = 'DatabaseUpgraded';

  /** @param migrations those that this program does not have */
  constructor(migrations: readonly string[], sqlState: string) {
    const names = migrations.join(', ');
    super(
      `The database has been upgraded by a newer version of this program: it has ${names}. Replace this process.`,
      sqlState,
    );
  }
}

/** The clock of this process, or of one of its databases, is wrong. */
export class WrongClock extends DatabaseUnavailable {
  override readonly name = 'WrongClock';
}

/** A statement exceeded its limit and was ended. */
export class StatementTimeout extends DatabaseUnavailable {
  override readonly name = 'StatementTimeout';
}

/** A read exceeded its time budget and was ended. */
export class TimeBudgetExceeded extends DatabaseUnavailable {
  override readonly name = 'TimeBudgetExceeded';
  /** The whole budget, in milliseconds. */
  readonly budget: number;

  constructor(budget: number) {
    super(`The read took longer than its time budget of ${budget} ms.`);
    this.budget = budget;
  }
}

/** Two transactions conflict: `write` retries the whole transaction before it throws this. */
export class TransactionConflict extends DatabaseError {
  override readonly name = 'TransactionConflict';
}

/** Whether the same work may succeed later, without anybody's help. */
export function isTemporary(error: unknown): error is DatabaseUnavailable | TransactionConflict {
  return error instanceof DatabaseUnavailable || error instanceof TransactionConflict;
}

/** The level at which a failure is logged whose work is done again. */
export function retryLevel(error: unknown): 'warn' | 'error' {
  return isTemporary(error) ? 'warn' : 'error';
}

/** A constraint of the schema rejected a row. `constraint` is its name in the migrations. */
class ConstraintViolation extends DatabaseError {
  readonly constraint: string;
  readonly table: string;

  constructor(message: string, sqlState: string, constraint: string, table: string) {
    super(message, sqlState);
    this.constraint = constraint;
    this.table = table;
  }
}

export class UniqueViolation extends ConstraintViolation {
  override readonly name = 'UniqueViolation';
}

export class ForeignKeyViolation extends ConstraintViolation {
  override readonly name = 'ForeignKeyViolation';
}

export class CheckViolation extends ConstraintViolation {
  override readonly name = 'CheckViolation';
}

/** The relevant fields of an ErrorResponse; PGlite and `pg` each have their own class for it. */
interface ServerError {
  message: string;
  code: string;
  severity: string;
  constraint?: string | undefined;
  table?: string | undefined;
}

function isServerError(error: unknown): error is ServerError {
  return (
    error instanceof Error &&
    'severity' in error &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^[0-9A-Z]{5}$/.test(error.code)
  );
}

/** SQLSTATEs after which the connection is unusable, or the server must not be written to. */
const connectionIsLost = /^(08...|57P0[1-5]|25006|58...)$/;
/** SQLSTATEs of temporary failures: no connection left, resources exhausted, a statement or a lock timed out. */
const databaseIsBusy = /^(53...|57014|55P03)$/;
const transactionConflict = /^(40001|40P01)$/;
const diskFull = '53100';
/** SQLSTATE that triggers of a tenant that moves raise. */
const tenantMoving = 'MV001';
const statementTimeout = '57014';

/**
 * Returns the typed error for an error of a statement or a connection.
 *
 * @param connectionLost the connection is known to be lost, so that unknown errors are due to that
 */
export function translateError(error: unknown, connectionLost: boolean): unknown {
  if (error instanceof DatabaseError) return error;
  if (isServerError(error)) return translateServerError(error);
  if (isReadTimeout(error)) return new StatementTimeout('The database does not respond in time.');
  if (connectionLost) {
    return new DatabaseUnavailable(`The database does not respond (${reasonOf(error)}).`);
  }
  return error;
}

function translateServerError(error: ServerError): DatabaseError {
  const { code, constraint = '', table = '' } = error;
  const broken = `Constraint ${constraint} of table ${table} rejects the row.`;
  // A row that an exclusion constraint rejects also conflicts with another one.
  if (code === '23505' || code === '23P01') return new UniqueViolation(broken, code, constraint, table);
  if (code === '23503') return new ForeignKeyViolation(broken, code, constraint, table);
  if (code === '23514') return new CheckViolation(broken, code, constraint, table);
  if (code === tenantMoving) return new TenantMoving();
  if (transactionConflict.test(code)) return new TransactionConflict('Concurrent transactions conflict.', code);
  if (connectionIsLost.test(code) || databaseIsBusy.test(code)) return unavailableBecause(code);
  // Messages about an invalid value quote it; the SQLSTATE alone identifies the kind of error.
  const message = code.startsWith('22') ? 'A value does not fit its type' : error.message;
  return new DatabaseError(`${message} (SQLSTATE ${code}).`, code);
}

/**
 * Returns the error for a server that stopped, or rejected work with this SQLSTATE.
 *
 * @param reason the message of the server's log, if known
 */
export function unavailableBecause(sqlState: string | undefined, reason?: string): DatabaseUnavailable {
  if (sqlState === diskFull) {
    return new DiskFull('The disk of the database is full (SQLSTATE 53100). Free space on it.', sqlState);
  }
  if (sqlState === statementTimeout) {
    return new StatementTimeout('A statement took longer than its limit (SQLSTATE 57014).', sqlState);
  }
  const state = sqlState === undefined ? '' : ` (SQLSTATE ${sqlState})`;
  return new DatabaseUnavailable(`${reason ?? 'The database does not respond, or not in time'}${state}.`, sqlState);
}

/** Whether the connection that threw this error is unusable. A response that cannot be parsed does not affect it. */
export function endsConnection(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailable && (error.sqlState === undefined || connectionIsLost.test(error.sqlState))
  );
}

/** The error for a failed commit: unless the server has rejected it and goes on, it may have taken effect. */
export function commitFailure(error: unknown, connectionLost: boolean): unknown {
  const isRejected = error instanceof DatabaseError && error.sqlState !== undefined && !endsConnection(error);
  return isRejected && !connectionLost ? error : new OutcomeUnknown(error);
}

/** Whether this is the client-side timeout of `pg`, which has no class or code of its own. */
function isReadTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/**
 * A short description of a failed connection: the code of a system error, otherwise its message; never a connection
 * string.
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
