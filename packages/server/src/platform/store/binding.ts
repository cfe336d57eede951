import type { Connection, RunResult } from './connection.ts';
import { TenantMoving } from './errors.ts';
import type { Limits } from './limits.ts';
import { serviceRole } from './role.ts';

/**
 * A tenant's new time zone takes effect within this time, in milliseconds, on connections that are already bound to it.
 */
export const zoneFreshness = 5_000;

/** The subject of work: a tenant, or the owner of the tables, who cannot access rows of tenants. */
export type Subject = { readonly tenantId: number } | 'owner';

const snapshot = 'begin isolation level repeatable read, read only';
/** A statement after a lock must see what its last holder committed, whatever the default of the database or the user is. */
const transaction = 'begin isolation level read committed';

/** Sets the role, the tenant and the limits of work on a connection. */
export interface Binding {
  /** Runs read-only work: each of its statements sees what is committed when it starts. */
  read<Result>(connection: Connection, tenantId: number, work: () => Promise<Result>): Promise<Result>;
  /**
   * Starts a transaction.
   *
   * @param statements sent with its start, in one message; they may also end the transaction
   * @param isSnapshot whether it only reads, and all its statements see what is committed when the first one starts
   */
  begin(connection: Connection, subject: Subject, statements?: string, isSnapshot?: boolean): Promise<RunResult>;
  /** Whether prepared statements can be used across transactions. */
  readonly keepsStatements: boolean;
}

/**
 * Role, tenant and limits are settings of the connection. The tenant is only sent again if it differs, or if its time
 * zone may have changed, so a read is one round trip. It requires connections that belong to this process alone.
 */
export function bindConnections(limits: Limits): Binding {
  const setUp = [
    ...commonSettings(limits).map((setting) => `set ${setting}`),
    // For reads. A transaction starts with a longer limit of its own.
    `set statement_timeout = ${limits.read}`,
    `set role ${serviceRole}`,
    // Tenant tables cause an error until a tenant is bound.
    `set app.tenant_id = ''`,
    `set app.time_zone = ''`,
    `set app.clock_offset = ''`,
  ].join('; ');
  // Local to the transaction: the database resets them at its end, however it ends.
  const settings = `set local statement_timeout = ${limits.statement}`;
  const settingsOfOwner = `${settings}; set local role none; set local app.tenant_id = ''; set local app.time_zone = ''; set local app.clock_offset = ''`;

  async function prepare(connection: Connection): Promise<void> {
    if (connection.bound !== undefined) return;
    await connection.run({ text: setUp });
    connection.bound = { tenantId: undefined, at: 0 };
    connection.statementTimeout = { milliseconds: limits.read, isLocal: false };
  }

  /** Sets the tenant and its time zone, before a transaction starts, so that no rollback undoes it. */
  async function bind(connection: Connection, tenantId: number): Promise<void> {
    if (connection.bound === undefined) await prepare(connection);
    const now = performance.now();
    const { bound } = connection;
    // The clock of a sandbox can be advanced between two transactions, also by another process.
    if (
      bound?.tenantId === tenantId &&
      bound.clockOffset === undefined &&
      bound.isMoving !== true &&
      now - bound.at < zoneFreshness
    )
      return;
    // If only one of the two settings took effect, the connection must not count as bound.
    connection.bound = { tenantId: undefined, at: 0 };
    const { rows } = await connection.run({
      name: 'bind_tenant',
      text: `select set_config('app.tenant_id', $1, false), set_config('app.time_zone', tenant_time_zone($1::integer), false),
        set_config('app.clock_offset', coalesce(tenant_clock_offset($1::integer)::text, ''), false) as "clockOffset",
        tenant_move_phase($1::integer) as "movePhase"`,
      values: [String(tenantId)],
    });
    connection.bound = { tenantId, at: now, ...stateIn(rows) };
  }

  return {
    keepsStatements: true,
    async read(connection, tenantId, work) {
      await bind(connection, tenantId);
      return work();
    },
    async begin(connection, subject, statements = '', isSnapshot = false) {
      await (subject === 'owner' ? prepare(connection) : bind(connection, subject.tenantId));
      const start = isSnapshot ? snapshot : transaction;
      return connection.run({ text: `${start}; ${subject === 'owner' ? settingsOfOwner : settings}; ${statements}` });
    },
  };
}

/**
 * Role, tenant and limits are sent in one message with the start of each transaction, and end with it. For a pooler that
 * assigns each transaction to another connection of the server; reads are transactions too, with three round trips.
 */
export function bindTransactions(limits: Limits): Binding {
  const begin = (subject: Subject, statementLimit: number, isSnapshot = false): string =>
    [
      isSnapshot ? snapshot : transaction,
      ...commonSettings(limits).map((setting) => `set local ${setting}`),
      `set local statement_timeout = ${statementLimit}`,
      ...(subject === 'owner'
        ? []
        : [`set local role ${serviceRole}`, ...tenantSettings(Math.trunc(subject.tenantId))]),
    ].join('; ');

  return {
    keepsStatements: false,
    async read(connection, tenantId, work) {
      try {
        keepState(connection, { tenantId }, await connection.run({ text: begin({ tenantId }, limits.read) }));
        connection.statementTimeout = { milliseconds: limits.read, isLocal: true };
        return await work();
      } finally {
        // The transaction was read-only, so its end makes no difference. If the rollback fails, the connection is closed.
        await connection.run({ text: 'rollback' }).catch(() => undefined);
      }
    },
    async begin(connection, subject, statements = '', isSnapshot = false) {
      const start = begin(subject, limits.statement, isSnapshot);
      const result = await connection.run({ text: `${start}; ${statements}` });
      keepState(connection, subject, result);
      return result;
    },
  };
}

/** Lets a transaction that the owner started continue as a tenant, until it ends. */
export async function continueAs(connection: Connection, tenantId: number): Promise<void> {
  const statements = [`set local role ${serviceRole}`, ...tenantSettings(Math.trunc(tenantId))];
  // Afterwards the connection is bound to no tenant, so the next work binds it again.
  keepState(connection, 'owner', await connection.run({ text: statements.join('; ') }));
}

interface TenantState {
  /** Milliseconds; undefined where the tenant has no clock of its own. */
  readonly clockOffset: number | undefined;
  readonly isMoving: boolean;
}

/** @throws TenantMoving if the tenant has left the database, or has not arrived yet */
function stateIn(rows: readonly Readonly<Record<string, unknown>>[]): TenantState {
  const { clockOffset: offset, movePhase = null } = rows.find((row) => row.clockOffset !== undefined) ?? {};
  if (movePhase !== null && !/^(LEAVING|STOPPED)$/.test(String(movePhase))) throw new TenantMoving();
  return {
    clockOffset: offset === undefined || offset === '' ? undefined : Number(offset),
    isMoving: movePhase !== null,
  };
}

function keepState(connection: Connection, subject: Subject, result: RunResult | RunResult[]): void {
  const tenantId = subject === 'owner' ? undefined : subject.tenantId;
  connection.bound = { tenantId, at: 0, ...stateIn([result].flat().flatMap(({ rows }) => rows)) };
}

function tenantSettings(tenantId: number): string[] {
  return [
    `set local app.tenant_id = '${tenantId}'`,
    `select set_config('app.time_zone', tenant_time_zone(${tenantId}), true),
      set_config('app.clock_offset', coalesce(tenant_clock_offset(${tenantId})::text, ''), true) as "clockOffset",
      tenant_move_phase(${tenantId}) as "movePhase"`,
  ];
}

/**
 * Settings that are the same for all work. They are set by a statement, because PGlite does not support settings at
 * connection start.
 */
function commonSettings(limits: Limits): string[] {
  return [
    // One search must use only one processor of the server.
    'max_parallel_workers_per_gather = 0',
    // Compiling the expressions of a search takes longer than reading what a search may read.
    'jit = off',
    `lock_timeout = ${limits.lock}`,
    `idle_in_transaction_session_timeout = ${limits.idleInTransaction}`,
    `timezone = 'UTC'`,
    `datestyle = 'ISO'`,
    // Otherwise the database rejects every statement that a policy restricts.
    'row_security = on',
  ];
}
