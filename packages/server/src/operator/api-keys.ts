import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { schemaOf } from '../contract/contract.ts';
import { type Operator, tenantNamed } from './tenants.ts';

export interface NewApiKey {
  readonly tenant: string;
  /** The API user's name; one that exists gets another key, and these roles. */
  readonly user: string;
  readonly roles: readonly string[];
  readonly days: number;
  readonly description: string | undefined;
}

export interface ApiKeyRow {
  readonly id: string;
  readonly user: string;
  readonly roles: readonly string[];
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly revokedAt: string | null;
  readonly description: string | null;
}

const millisecondsADay = 86_400_000;

/**
 * Makes an API key. It is told once and not stored.
 *
 * @throws Error with a sentence where the tenant or a role does not exist.
 */
export async function createApiKey(
  operator: Operator,
  wanted: NewApiKey,
): Promise<{ id: string; key: string; expiresAt: string }> {
  const tenant = await tenantNamed(operator, wanted.tenant);
  const known = schemaOf('Role').enum ?? [];
  const unknown = wanted.roles.filter((role) => !known.includes(role));
  if (unknown.length > 0)
    throw new Error(`There is no role ${unknown.join(', ')}. The roles are: ${known.join(', ')}.`);

  const id = uuidv7();
  const expiresAt = new Date(Date.now() + wanted.days * millisecondsADay);
  const { store, tokens } = operator.service;
  const apiUserId = await store.write(tenant.id, async (transaction) => {
    const user = await transaction.first<{ id: string }>(sql`
      insert into api_user (tenant_id, id, name, roles) values (${tenant.id}, ${uuidv7()}, ${wanted.user}, ${wanted.roles})
      on conflict (tenant_id, name) do update set roles = excluded.roles, active = true returning id`);
    if (user === undefined) throw new Error('The API user was not made.');
    await transaction.all(sql`
      insert into api_key (tenant_id, id, api_user_id, expires_at, description)
      values (${tenant.id}, ${id}, ${user.id}, ${expiresAt.toISOString()}, ${wanted.description ?? null})`);
    return user.id;
  });
  const key = await tokens.signApiKey({ jti: id, tenant: tenant.name, sub: apiUserId }, expiresAt);
  return { id, key, expiresAt: expiresAt.toISOString() };
}

/** The keys of a tenant, the newest first; never what they are, only what is known of them. */
export async function listApiKeys(operator: Operator, tenantName: string): Promise<ApiKeyRow[]> {
  const tenant = await tenantNamed(operator, tenantName);
  return operator.service.store.read(tenant.id, (session) =>
    session.all<ApiKeyRow>(sql`
      select k.id, u.name as user, u.roles, k.created_at as "createdAt", k.expires_at as "expiresAt",
        k.revoked_at as "revokedAt", k.description
      from api_key k join api_user u on u.tenant_id = k.tenant_id and u.id = k.api_user_id
      where k.tenant_id = ${tenant.id} order by k.id desc`),
  );
}

/**
 * Ends a key. Tokens that were exchanged for it end within seconds.
 *
 * @throws Error with a sentence where there is no such key, or it is revoked already.
 */
export async function revokeApiKey(operator: Operator, tenantName: string, id: string): Promise<void> {
  const tenant = await tenantNamed(operator, tenantName);
  const revoked = await operator.service.store.write(tenant.id, (transaction) =>
    transaction.first(sql`
      update api_key set revoked_at = now()
      where tenant_id = ${tenant.id} and id::text = ${id} and revoked_at is null returning id`),
  );
  if (revoked === undefined) throw new Error(`The tenant ${tenantName} has no key ${id} that could be revoked.`);
}
