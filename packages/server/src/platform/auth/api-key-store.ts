import { impliedRoles } from '@financial-automation/spec';
import { sql } from 'kysely';
import { databaseClock } from '../database-clock.ts';
import type { Session, Transaction } from '../store/session.ts';
import { recordChanges, type TraceOrigin } from '../store/trace.ts';

export interface ApiKeyRow {
  readonly id: string;
  readonly user: string;
  readonly roles: readonly string[];
  readonly createdAt: string;
  readonly expiresAt: string;
  /** Rounded to a quarter of an hour; null if it was never used. */
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
  /** The signing key that signed it, whose retirement invalidates it; null for keys older than this column. */
  readonly signingKey: string | null;
  readonly description: string | null;
}

/** Returns the keys of a tenant, the newest first, without the key text. */
export function listKeys(session: Session, tenantId: number): Promise<ApiKeyRow[]> {
  return session.all<ApiKeyRow>(sql`
    select k.id, u.name as user, u.roles, k.created_at as "createdAt", k.expires_at as "expiresAt",
      k.last_used_at as "lastUsedAt", k.revoked_at as "revokedAt", k.signing_kid as "signingKey", k.description
    from api_key k join api_user u on u.tenant_id = k.tenant_id and u.id = k.api_user_id
    where k.tenant_id = ${tenantId} order by k.id desc`);
}

/** A change of keys or roles by an administrator that would leave the tenant without one. */
export class LastAdministrator extends Error {
  override readonly name = 'LastAdministrator';

  constructor() {
    super(`No key with the role ${impliedRoles.administrator} would be left. Create one for another API user first.`);
  }
}

/**
 * Checks, after a change of keys or roles, that an administrator still has a valid key. An operator can change the last one.
 *
 * @throws LastAdministrator
 */
export async function checkAdministrators(
  transaction: Transaction,
  { tenantId, apiUserId }: Pick<TraceOrigin, 'tenantId' | 'apiUserId'>,
): Promise<void> {
  if (apiUserId === null) return;
  // Otherwise, two administrators who revoke each other's key at once would each rely on the other.
  await transaction.all(sql`select pg_advisory_xact_lock(hashtextextended(${`administrators ${tenantId}`}, 0))`);
  const left = await transaction.first(sql`
    select from api_key k join api_user u on u.tenant_id = k.tenant_id and u.id = k.api_user_id
    where k.tenant_id = ${tenantId} and k.revoked_at is null and k.expires_at > now()
      and u.active and ${impliedRoles.administrator} = any(u.roles) limit 1`);
  if (left === undefined) throw new LastAdministrator();
}

/**
 * Revokes a key, audited. Tokens that were exchanged for it become invalid within seconds.
 *
 * @returns whether the tenant had such a key that was not revoked.
 * @throws LastAdministrator
 */
export async function revokeKey(
  transaction: Transaction,
  origin: Omit<TraceOrigin, 'operation' | 'occurredAt'>,
  id: string,
): Promise<boolean> {
  const key = await transaction.first<{ id: string; revokedAt: string }>(sql`
    update api_key set revoked_at = now()
    where tenant_id = ${origin.tenantId} and id::text = ${id} and revoked_at is null
    returning id, revoked_at as "revokedAt"`);
  if (key === undefined) return false;
  await checkAdministrators(transaction, origin);
  const change = {
    entityType: 'ApiKey',
    entityId: key.id,
    kind: 'DELETE' as const,
    before: { revokedAt: null },
    after: { revokedAt: key.revokedAt },
    event: null,
  };
  await recordChanges(
    transaction,
    { ...origin, operation: 'api-key revoke', occurredAt: databaseClock.date().toISOString() },
    [change],
  );
  return true;
}
