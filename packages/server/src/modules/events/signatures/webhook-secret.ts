import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Vault } from '../../../platform/auth/vault.ts';
import { newId } from '../../../platform/store/new-id.ts';
import type { Session, Store, Transaction } from '../../../platform/store/store.ts';

export interface WebhookSecret {
  /** `whsec_` and 32 bytes in base64. */
  readonly secret: string;
  /** RFC 3339 */
  readonly createdAt: string;
}

/** Purpose of the key that encrypts secrets of webhooks. */
export const webhookSecretPurpose = 'webhook-secret';

interface StoredSecret {
  readonly encrypted: Buffer;
  readonly createdAt: string;
}

/** The secret that a tenant's events are signed with. It is created when it is needed first. */
export async function currentSecret(store: Store, vault: Vault, tenantId: number): Promise<WebhookSecret> {
  const [current] = await store.read(tenantId, (session) => validSecrets(session, vault, tenantId));
  return current ?? store.write(tenantId, (transaction) => createdSecret(transaction, vault, tenantId));
}

/** The secrets to sign with, the newest first: while a secret is rotated, the one before it is still valid. */
export async function validSecrets(session: Session, vault: Vault, tenantId: number): Promise<WebhookSecret[]> {
  const rows = await session.all<StoredSecret>(sql`
    select secret_encrypted as encrypted, created_at as "createdAt" from webhook_secret
    where tenant_id = ${tenantId} and (expires_at is null or expires_at > now()) order by created_at desc, id desc`);
  return rows.map(({ encrypted, createdAt }) => ({
    secret: vault.decrypt(webhookSecretPurpose, encrypted),
    createdAt,
  }));
}

/**
 * Replaces the secret. The ones before it sign beside the new one for so many minutes at most.
 *
 * @returns the new one.
 */
export async function rotateSecret(
  transaction: Transaction,
  vault: Vault,
  tenantId: number,
  overlapMinutes: number,
): Promise<WebhookSecret> {
  await transaction.all(sql`
    update webhook_secret set expires_at = now() + make_interval(mins => ${overlapMinutes})
    where tenant_id = ${tenantId} and (expires_at is null or expires_at > now() + make_interval(mins => ${overlapMinutes}))`);
  await transaction.all(sql`delete from webhook_secret where tenant_id = ${tenantId} and expires_at <= now()`);
  return createdSecret(transaction, vault, tenantId);
}

/** A new secret, or the one that another call has created meanwhile. */
async function createdSecret(transaction: Transaction, vault: Vault, tenantId: number): Promise<WebhookSecret> {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  await transaction.all(sql`
    insert into webhook_secret (tenant_id, id, secret_encrypted)
    values (${tenantId}, ${newId()}, ${vault.encrypt(webhookSecretPurpose, secret)}) on conflict do nothing`);
  const [current] = await validSecrets(transaction, vault, tenantId);
  if (current === undefined) throw new Error('The webhook secret was not created.');
  return current;
}
