import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { schemaOf } from '../contract/contract.ts';
import { type ApiKeyRow, listKeys, revokeKey } from '../platform/auth/api-key-store.ts';
import type { Tenant } from '../platform/auth/caller.ts';
import { databaseClock } from '../platform/database-clock.ts';
import type { Transaction } from '../platform/store/store.ts';
import { recordChanges, type TracedChange } from '../platform/store/trace.ts';
import type { Operator } from './operator.ts';
import { tenantNamed } from './tenants.ts';

export interface NewApiKey {
  readonly tenant: string;
  /** The API user's name. An existing one gets another key, and these roles. */
  readonly user: string;
  readonly roles: readonly string[];
  /** The `staffRef` of the staff member that the API user is of. Without it, that of an existing one stays. */
  readonly staff?: string | undefined;
  readonly days: number;
  readonly description: string | undefined;
}

const millisecondsADay = 86_400_000;

/**
 * Creates an API key. It is returned once and not stored.
 *
 * @throws Error with a sentence if the tenant, a role or the staff member does not exist.
 */
export async function createApiKey(
  operator: Operator,
  newKey: NewApiKey,
): Promise<{ id: string; key: string; expiresAt: string }> {
  const tenant = await tenantNamed(operator, newKey.tenant);
  const known = schemaOf('Role').enum ?? [];
  const unknown = newKey.roles.filter((role) => !known.includes(role));
  if (unknown.length > 0) throw new Error(`Unknown role: ${unknown.join(', ')}. Known roles: ${known.join(', ')}.`);

  const id = uuidv7();
  const expiresAt = new Date(databaseClock.now() + newKey.days * millisecondsADay);
  const { store, tokens, keys } = operator.service;
  const signingKey = keys.signingKey().kid;
  const { apiUserId, createdAt } = await store.write(tenant.id, async (transaction) => {
    const user = await ensureApiUser(transaction, tenant, newKey);
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
    await audit(transaction, tenant, 'api-key create', {
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
  return { id, key, expiresAt: expiresAt.toISOString() };
}

/**
 * Returns the text of the newest API key of an API user that has this description. Its text is not stored, but signed again. For
 * keys that are not secret, such as that of the demo tenant.
 *
 * @param days the least validity left
 * @returns undefined if there is none that is valid and was signed by the current signing key
 */
export async function signApiKeyAgain(
  operator: Operator,
  { tenant: tenantName, user, description, days }: Pick<NewApiKey, 'tenant' | 'user' | 'description' | 'days'>,
): Promise<string | undefined> {
  const tenant = await tenantNamed(operator, tenantName);
  const { store, tokens, keys } = operator.service;
  const until = new Date(databaseClock.now() + days * millisecondsADay).toISOString();
  const [known] = await store.read(tenant.id, (session) =>
    session.all<{ id: string; apiUserId: string; createdAt: string; expiresAt: string }>(sql`
      select k.id, k.api_user_id as "apiUserId", k.created_at as "createdAt", k.expires_at as "expiresAt"
      from api_key k join api_user u on u.tenant_id = k.tenant_id and u.id = k.api_user_id
      where k.tenant_id = ${tenant.id} and u.name = ${user} and u.active and k.description = ${description}
        and k.revoked_at is null and k.expires_at > ${until} and k.signing_kid = ${keys.signingKey().kid}
      order by k.id desc limit 1`),
  );
  if (known === undefined) return undefined;
  const { id: jti, apiUserId: sub, createdAt, expiresAt } = known;
  return tokens.signApiKey(
    { jti, tenant: tenant.name, sub },
    { from: new Date(createdAt), until: new Date(expiresAt) },
  );
}

interface ApiUser {
  readonly id: string;
  readonly roles: readonly string[];
  readonly active: boolean;
  readonly staffId: string | null;
}

/** Creates the API user with the name, or updates its roles and its staff member if they differ. @returns the ID */
export async function ensureApiUser(
  transaction: Transaction,
  tenant: Tenant,
  { user: name, roles, staff }: Pick<NewApiKey, 'user' | 'roles' | 'staff'>,
): Promise<string> {
  const staffId = staff === undefined ? null : await staffNamed(transaction, tenant, staff);
  const before = await transaction.first<ApiUser>(sql`
    select id, roles, active, staff_id as "staffId" from api_user where tenant_id = ${tenant.id} and name = ${name} for update`);
  const after = await transaction.first<ApiUser>(sql`
    insert into api_user (tenant_id, id, name, roles, staff_id)
    values (${tenant.id}, ${uuidv7()}, ${name}, ${roles}, ${staffId}::uuid)
    on conflict (tenant_id, name) do update set roles = excluded.roles, active = true,
      staff_id = coalesce(excluded.staff_id, api_user.staff_id)
    returning id, roles, active, staff_id as "staffId"`);
  if (after === undefined) throw new Error('The API user was not created.');
  if (JSON.stringify(before) !== JSON.stringify(after)) {
    await audit(transaction, tenant, 'api-key create', {
      entityType: 'ApiUser',
      entityId: after.id,
      kind: before === undefined ? 'CREATE' : 'UPDATE',
      before: before ?? null,
      after: { name, ...after },
    });
  }
  return after.id;
}

async function staffNamed(transaction: Transaction, tenant: Tenant, staffRef: string): Promise<string> {
  const found = await transaction.first<{ id: string }>(sql`
    select id from staff where tenant_id = ${tenant.id} and staff_ref = ${staffRef} and active`);
  if (found === undefined) throw new Error(`The tenant ${tenant.name} has no active staff member ${staffRef}.`);
  return found.id;
}

/** Writes one row of the tenant's audit log. Changes by the operator are recorded like those of callers. */
function audit(
  transaction: Transaction,
  { id: tenantId }: Tenant,
  operation: string,
  change: Omit<TracedChange, 'event'>,
): Promise<void> {
  const origin = { tenantId, apiUserId: null, actor: 'operator', operation, requestId: null };
  return recordChanges(transaction, { ...origin, occurredAt: databaseClock.date().toISOString() }, [
    { ...change, event: null },
  ]);
}

/** Returns the keys of a tenant, the newest first, without the key text. */
export async function listApiKeys(operator: Operator, tenantName: string): Promise<ApiKeyRow[]> {
  const tenant = await tenantNamed(operator, tenantName);
  return operator.service.store.read(tenant.id, (session) => listKeys(session, tenant.id));
}

/**
 * Revokes a key. Tokens that were exchanged for it become invalid within seconds.
 *
 * @throws Error with a sentence if the key does not exist or is already revoked.
 */
export async function revokeApiKey(operator: Operator, tenantName: string, id: string): Promise<void> {
  const tenant = await tenantNamed(operator, tenantName);
  const origin = { tenantId: tenant.id, apiUserId: null, actor: 'operator', requestId: null };
  const isRevoked = await operator.service.store.write(tenant.id, (transaction) => revokeKey(transaction, origin, id));
  if (!isRevoked) throw new Error(`The tenant ${tenantName} has no active key ${id}.`);
}
