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

/**
 * Revokes a key, audited. Tokens that were exchanged for it become invalid within seconds.
 *
 * @returns whether the tenant had such a key that was not revoked.
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
