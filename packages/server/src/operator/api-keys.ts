import { sql } from 'kysely';
import { byOperator, createKey, type NewKey } from '../admission/create-key.ts';
import { type ApiKeyRow, listKeys, revokeKey } from '../platform/auth/api-key-store.ts';
import { databaseClock } from '../platform/database-clock.ts';
import type { Operator } from './operator.ts';
import { tenantNamed } from './tenants.ts';

export interface NewApiKey extends NewKey {
  readonly tenant: string;
}

const millisecondsADay = 86_400_000;

/** @throws Error with a sentence if the tenant, a role or the staff member does not exist. */
export async function createApiKey(operator: Operator, { tenant, ...newKey }: NewApiKey) {
  return createKey(operator.service, await tenantNamed(operator, tenant), newKey, byOperator);
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
  const origin = { ...byOperator, tenantId: tenant.id };
  const isRevoked = await operator.service.store.write(tenant.id, (transaction) => revokeKey(transaction, origin, id));
  if (!isRevoked) throw new Error(`The tenant ${tenantName} has no active key ${id}.`);
}
