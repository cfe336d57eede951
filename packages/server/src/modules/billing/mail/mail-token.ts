import type { Vault } from '../../../platform/auth/vault.ts';

/** A mail as its own token names it. */
export interface MailTarget {
  readonly tenantName: string;
  readonly mailId: string;
}

const purpose = 'mail token';

/** Returns the token of a mail. It is in the ID of its message and in its links, so only its recipients and mail servers have it. */
export function mailToken(vault: Vault, { tenantName, mailId }: MailTarget): string {
  const name = `${mailId}.${tenantName}`;
  return `${name}.${vault.sign(purpose, name)}`;
}

/** Returns what a token names; undefined if the service did not issue it. */
export function readMailToken(vault: Vault, token: string): MailTarget | undefined {
  const [mailId = '', tenantName = '', signature = '', ...others] = token.split('.');
  const isOwn = others.length === 0 && vault.verify(purpose, `${mailId}.${tenantName}`, signature);
  return isOwn ? { tenantName, mailId } : undefined;
}
