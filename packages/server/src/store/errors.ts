/**
 * What goes wrong in the database, as types. Neither the text of a statement nor the values of a row stand in any of
 * them: they travel up to problem documents and logs.
 */

/** A statement that the database refused for a reason of no other class here: a defect of ours, as a rule. */
export class DatabaseError extends Error {
  override readonly name: string = 'DatabaseError';
  /** The five characters of SQLSTATE, or nothing where the server did not speak. */
  readonly sqlState: string | undefined;

  constructor(message: string, sqlState?: string) {
    super(message);
    this.sqlState = sqlState;
  }
}

/**
 * The database does not answer, or not in time. The same request may succeed later; whether a COMMIT that was under way
 * took effect is not known.
 */
export class DatabaseUnavailable extends DatabaseError {
  override readonly name: string = 'DatabaseUnavailable';
}

/** The disk of the database has no space left. What was committed is safe; writes succeed again when there is space. */
export class DiskFull extends DatabaseUnavailable {
  override readonly name = 'DiskFull';
}

/** A statement took longer than its limit and was ended. */
export class StatementTimeout extends DatabaseUnavailable {
  override readonly name = 'StatementTimeout';
}

/** A read took longer than its time budget and was ended. */
export class TimeBudgetExceeded extends DatabaseUnavailable {
  override readonly name = 'TimeBudgetExceeded';
  /** The whole budget, in milliseconds. */
  readonly budget: number;

  constructor(budget: number) {
    super(`The read took longer than its time budget of ${budget} ms.`);
    this.budget = budget;
  }
}

/** Two transactions stood in each other's way: `write` runs the whole transaction again before anyone sees this. */
export class TransactionConflict extends DatabaseError {
  override readonly name = 'TransactionConflict';
}

/** A rule of the schema refused a row. `constraint` carries the name that the migrations give it. */
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

/** The fields of an ErrorResponse that matter here; PGlite and `pg` each have a class of their own for it. */
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

/** States after which the connection itself is of no more use, or leads to a server that must not be written to. */
const connectionIsLost = /^(08...|57P0[1-5]|25006|58...)$/;
/** States that say "not now": no connection left, resources short, a statement or a lock waited for too long. */
const databaseIsBusy = /^(53...|57014|55P03)$/;
const transactionConflict = /^(40001|40P01)$/;
const diskFull = '53100';
const statementTimeout = '57014';

/**
 * The typed error for whatever a statement or a connection threw.
 * @param connectionLost the connection is known to be gone, so that anything unknown is its doing
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
  const broken = `Rule ${constraint} of table ${table} refuses the row.`;
  // A row that an exclusion constraint rejects collides with another one too.
  if (code === '23505' || code === '23P01') return new UniqueViolation(broken, code, constraint, table);
  if (code === '23503') return new ForeignKeyViolation(broken, code, constraint, table);
  if (code === '23514') return new CheckViolation(broken, code, constraint, table);
  if (transactionConflict.test(code)) return new TransactionConflict('Concurrent transactions conflict.', code);
  if (connectionIsLost.test(code) || databaseIsBusy.test(code)) return unavailableBecause(code);
  // Messages of a wrong value quote it; the state alone tells which kind of mistake it was.
  const message = code.startsWith('22') ? 'A value does not fit its type' : error.message;
  return new DatabaseError(`${message} (SQLSTATE ${code}).`, code);
}

/**
 * The error for a server that stopped, or rejected work with this SQLSTATE.
 * @param reason what the server's log says, where that is known
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

/** Whether the connection that threw this is of no more use. An answer that cannot be read leaves it as it was. */
export function endsConnection(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailable && (error.sqlState === undefined || connectionIsLost.test(error.sqlState))
  );
}

/** The client-side limit of `pg`, which has no class or code of its own. */
function isReadTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/** A few words on a failed connection: a system error's code, else its message; never a connection string. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
