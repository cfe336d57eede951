import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg';
import { type Engine, limits, type StoreLog } from './engine.ts';
import { DatabaseUnavailable, endsConnection, reasonOf, translateError } from './errors.ts';
import { serviceRole } from './role.ts';

/** What is known of a connection of the pool. */
interface Condition {
  /** It has its settings and has given up the owner's rights. */
  ready: boolean;
  /** The tenant it carries. It keeps it in the pool, so that the setting is sent again only for another tenant. */
  tenantId: number | undefined;
  /** It broke, or its state is in doubt: it must not go back to the pool. */
  lost: boolean;
  /** The server has answered a statement since the connection was last lent out. */
  answered: boolean;
}

const conditions = new WeakMap<PoolClient, Condition>();

function conditionOf(client: PoolClient): Condition {
  let condition = conditions.get(client);
  if (condition === undefined) {
    condition = { ready: false, tenantId: undefined, lost: false, answered: false };
    conditions.set(client, condition);
  }
  return condition;
}

/**
 * Listens to a pool and to each of its connections from the beginning: one that breaks must neither end the process by
 * an event that nobody hears, nor be taken for one that is well. The pool itself drops those that break while idle.
 */
export function watchConnections(pool: Pool, log: StoreLog): void {
  pool.on('error', (error) => log.warn(`A connection to the database was lost (${reasonOf(error)}).`));
  pool.on('connect', (client) => {
    client.on('error', () => {
      conditionOf(client).lost = true;
    });
  });
}

/** A connection that had broken in the pool shows it within this time, in milliseconds. */
const brokenShowsWithin = 1_000;

/**
 * Lends a connection to `work`, in the service role, and takes it back. One that turns out to have broken in the pool,
 * before its first statement was answered, is replaced, and `work` begins again: nothing has happened yet.
 * @throws DatabaseUnavailable when none is to be had
 */
export async function withConnection<Result>(
  engine: Engine,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const client = await checkOut(engine.pool);
    const condition = conditionOf(client);
    const fromPool = condition.ready;
    const lentAt = performance.now();
    condition.answered = false;
    try {
      await setUpConnection(client, engine);
      return await work(client);
    } catch (error) {
      const brokenInPool = fromPool && condition.lost && !condition.answered;
      if (!brokenInPool || performance.now() - lentAt > brokenShowsWithin) throw error;
    } finally {
      client.release(condition.lost);
    }
  }
}

async function checkOut(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw new DatabaseUnavailable(`No connection to the database is to be had (${reasonOf(error)}).`);
  }
}

/** From here on the connection has the rights of requests, and tenant tables answer with an error until it is bound. */
export async function setUpConnection(client: PoolClient, engine: Engine): Promise<void> {
  const condition = conditionOf(client);
  if (condition.ready) return;
  await run(client, { text: `${engine.connectionSetup}; set role ${serviceRole}; set app.tenant_id = ''` });
  condition.ready = true;
}

/** Binds a connection to a tenant; before a transaction begins, so that no rollback undoes it. */
export async function bindTenant(client: PoolClient, tenantId: number): Promise<void> {
  const condition = conditionOf(client);
  if (condition.tenantId === tenantId) return;
  await run(client, {
    name: 'bind_tenant',
    text: `select set_config('app.tenant_id', $1, false)`,
    values: [String(tenantId)],
  });
  condition.tenantId = tenantId;
}

/**
 * Begins a transaction with the owner's rights and without a tenant. Both settings are local to the transaction: the
 * database itself takes them back at its end, whichever end that is, so no owner's rights return to the pool.
 */
export const beginAsOwner = `begin; set local role none; set local app.tenant_id = ''`;

/**
 * Runs one statement.
 * @throws DatabaseError, typed; whatever leaves the connection in doubt also keeps it out of the pool
 */
export async function run(client: PoolClient, statement: QueryConfig): Promise<QueryResult> {
  const limited: QueryConfig & { query_timeout: number } = { ...statement, query_timeout: limits.answer };
  const condition = conditionOf(client);
  // One that gave no answer in time would not give one to a rollback either.
  if (condition.lost) throw new DatabaseUnavailable('The connection to the database is lost.');
  try {
    const result = await client.query(limited);
    condition.answered = true;
    return result;
  } catch (error) {
    const failure = translateError(error, condition.lost);
    if (endsConnection(failure)) condition.lost = true;
    else condition.answered = true;
    throw failure;
  }
}
