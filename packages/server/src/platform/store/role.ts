import { setTimeout as pause } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { DatabaseError, translateError } from './errors.ts';

/** The role of requests: it owns nothing, cannot log in, and row-level security applies to it. */
export const serviceRole = 'financial_automation_service';

/**
 * Ensures that the role exists and that this user can assume it. Roles belong to the whole server and not to one
 * database, so this runs at every start and not in a migration: a database restored on another server has its migrations
 * but not the role. Concurrent starts conflict harmlessly.
 *
 * @throws DatabaseError with the statements for an administrator, if this user is not allowed to
 */
export async function ensureServiceRole(client: PoolClient): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const sqlState = await sqlStateOf(client, `begin; set local role ${serviceRole}; rollback`);
    if (sqlState === undefined) break;
    await client.query('rollback');
    const missing = sqlState === invalidParameterValue || sqlState === undefinedObject;
    const repair = missing ? `create role ${serviceRole} nologin` : `grant ${serviceRole} to current_user`;
    const failure = await sqlStateOf(client, repair);
    if (failure === insufficientPrivilege || attempt === 10)
      throw new DatabaseError(await errorForAdministrator(client));
    if (failure !== undefined) await pause(20 * attempt);
  }
  await rejectPrivilegedRole(client);
}

const insufficientPrivilege = '42501';
const invalidParameterValue = '22023';
const undefinedObject = '42704';

async function sqlStateOf(client: PoolClient, statement: string): Promise<string | undefined> {
  try {
    await client.query(statement);
    return undefined;
  } catch (error) {
    const failure = translateError(error, false);
    if (failure instanceof DatabaseError && failure.sqlState !== undefined) return failure.sqlState;
    throw failure;
  }
}

async function errorForAdministrator(client: PoolClient): Promise<string> {
  const { rows } = await client.query<{ user: string }>('select quote_ident(current_user) as user');
  return [
    'The database user may not assume the role of requests.',
    `An administrator has to run: CREATE ROLE ${serviceRole} NOLOGIN; (if it does not exist)`,
    `and: GRANT ${serviceRole} TO ${rows[0]?.user};`,
  ].join(' ');
}

async function rejectPrivilegedRole(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ above: boolean }>(
    'select rolsuper or rolbypassrls as above from pg_roles where rolname = $1',
    [serviceRole],
  );
  if (rows[0]?.above !== false) {
    throw new DatabaseError(
      `The role ${serviceRole} is above row-level security. An administrator has to run: ALTER ROLE ${serviceRole} NOSUPERUSER NOBYPASSRLS;`,
    );
  }
}
