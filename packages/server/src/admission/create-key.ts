/** Creates API users and their keys, for an operator or for an administrator of the tenant. */

import { sql } from 'kysely';
import { schemaOf } from '../contract/contract.ts';
import { propertiesOf } from '../contract/fields.ts';
import { Rejection } from '../contract/rejection.ts';
import { checkAdministrators } from '../platform/auth/api-key-store.ts';
import type { Tenant } from '../platform/auth/caller.ts';
import type { KeyRing } from '../platform/auth/key-ring.ts';
import { databaseClock } from '../platform/database-clock.ts';
import { newId } from '../platform/store/new-id.ts';
import type { Store, Transaction } from '../platform/store/store.ts';
import { recordChanges, type TracedChange, type TraceOrigin } from '../platform/store/trace.ts';
import type { Tokens } from './tokens.ts';

export interface NewKey {
  /** The API user's name. An existing one gets another key, and these roles. */
  readonly user: string;
  readonly roles: readonly string[];
  /** The `staffRef` of the staff member that the API user is of. Without it, that of an existing one stays. */
  readonly staff?: string | undefined;
  /** Who a person is at its identity provider. The API user with it is this person, also under another name. */
  readonly identity?: string;
  /** How long the key is valid. */
  readonly days: number;
  readonly description: string | undefined;
}

/** Who creates it. */
export type KeyOrigin = Pick<TraceOrigin, 'apiUserId' | 'actor' | 'requestId'>;

export const byOperator: KeyOrigin = { apiUserId: null, actor: 'operator', requestId: null };

const millisecondsADay = 86_400_000;

/**
 * Creates an API key. It is returned once and not stored.
 *
 * @throws Error with a sentence if the tenant, a role or the staff member does not exist.
 * @throws LastAdministrator
 */
export async function createKey(
  { store, tokens, keys }: { readonly store: Store; readonly tokens: Tokens; readonly keys: KeyRing },
  tenant: Tenant,
  newKey: NewKey,
  origin: KeyOrigin,
): Promise<{ id: string; key: string; expiresAt: string; signingKey: string }> {
  const known = schemaOf('Role').enum ?? [];
  const unknown = newKey.roles.filter((role) => !known.includes(role));
  if (unknown.length > 0) throw new Error(`Unknown role: ${unknown.join(', ')}. Known roles: ${known.join(', ')}.`);
  const { maxLength = 0 } = propertiesOf(schemaOf('Me')).name ?? {};
  if (newKey.user.trim() === '' || newKey.user.length > maxLength)
    throw new Rejection('VALIDATION_ERROR', `The name of an API user has 1 to ${maxLength} characters.`);

  const id = newId();
  const expiresAt = new Date(databaseClock.now() + newKey.days * millisecondsADay);
  const signingKey = keys.signingKey().kid;
  const { apiUserId, createdAt } = await store.write(tenant.id, async (transaction) => {
    const user = await ensureApiUser(transaction, tenant, newKey, origin);
    const row = {
      userId: user,
      expiresAt: expiresAt.toISOString(),
      description: newKey.description ?? null,
      signingKey,
    };
    const [stored] = await transaction.all<{ createdAt: string }>(sql`
      insert into api_key (tenant_id, id, api_user_id, expires_at, description, signing_kid)
      values (${tenant.id}, ${id}, ${user}, ${row.expiresAt}, ${row.description}, ${signingKey})
      returning created_at as "createdAt"`);
    if (stored === undefined) throw new Error('The API key was not created.');
    await checkAdministrators(transaction, { tenantId: tenant.id, apiUserId: origin.apiUserId });
    await audit(transaction, tenant, origin, {
      entityType: 'ApiKey',
      entityId: id,
      kind: 'CREATE',
      before: null,
      after: row,
    });
    return { apiUserId: user, createdAt: stored.createdAt };
  });
  const times = { from: new Date(createdAt), until: expiresAt };
  const key = await tokens.signApiKey({ jti: id, tenant: tenant.name, sub: apiUserId }, times);
  return { id, key, expiresAt: expiresAt.toISOString(), signingKey };
}

interface ApiUser {
  readonly id: string;
  readonly name: string;
  readonly roles: readonly string[];
  readonly active: boolean;
  readonly staffId: string | null;
  readonly identity: string | null;
}

const columns = sql`id, name, roles, active, staff_id as "staffId", identity`;

/**
 * Creates the API user with the name, or of the person, or updates its roles and its staff member if they differ.
 *
 * @returns the ID
 * @throws Rejection `CONFLICT` if somebody else has the name of the person
 */
export async function ensureApiUser(
  transaction: Transaction,
  tenant: Tenant,
  { user: name, roles, staff, identity }: Pick<NewKey, 'user' | 'roles' | 'staff' | 'identity'>,
  origin = byOperator,
): Promise<string> {
  const staffId = staff === undefined ? null : await staffNamed(transaction, tenant, staff);
  const named = await transaction.first<ApiUser>(sql`
    select ${columns} from api_user where tenant_id = ${tenant.id} and name = ${name} for update`);
  if (identity !== undefined && named !== undefined && named.identity !== identity)
    throw new Rejection('CONFLICT', `Another API user of the tenant is called ${name}.`);
  const before =
    identity === undefined
      ? named
      : await transaction.first<ApiUser>(sql`
          select ${columns} from api_user where tenant_id = ${tenant.id} and identity = ${identity} for update`);
  const after = await transaction.first<ApiUser>(sql`
    insert into api_user (tenant_id, id, name, roles, staff_id, identity)
    values (${tenant.id}, ${newId()}, ${name}, ${roles}, ${staffId}::uuid, ${identity ?? null})
    on conflict (tenant_id, ${identity === undefined ? sql`name` : sql`identity`}) do update
      set name = excluded.name, roles = excluded.roles, active = true, staff_id = coalesce(excluded.staff_id, api_user.staff_id)
    returning ${columns}`);
  if (after === undefined) throw new Error('The API user was not created.');
  if (JSON.stringify(before) !== JSON.stringify(after)) {
    await audit(transaction, tenant, origin, {
      entityType: 'ApiUser',
      entityId: after.id,
      kind: before === undefined ? 'CREATE' : 'UPDATE',
      before: before === undefined ? null : { ...before },
      after: { ...after },
    });
  }
  return after.id;
}

async function staffNamed(transaction: Transaction, tenant: Tenant, staffRef: string): Promise<string> {
  const found = await transaction.first<{ id: string }>(sql`
    select id from staff where tenant_id = ${tenant.id} and staff_ref = ${staffRef} and active`);
  if (found === undefined)
    throw new Rejection('VALIDATION_ERROR', `The tenant ${tenant.name} has no active staff member ${staffRef}.`);
  return found.id;
}

/** Writes one row of the tenant's audit log. */
function audit(
  transaction: Transaction,
  { id: tenantId }: Tenant,
  origin: KeyOrigin,
  change: Omit<TracedChange, 'event'>,
): Promise<void> {
  const occurredAt = databaseClock.date().toISOString();
  const operation = 'api-key create';
  return recordChanges(transaction, { ...origin, tenantId, operation, occurredAt }, [{ ...change, event: null }]);
}
