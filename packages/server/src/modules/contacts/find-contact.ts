import { sql } from 'kysely';
import type { Lookup } from '../../entity/loaded-rows.ts';
import type { Plan } from '../../entity/plan.ts';
import { contact } from './contact.ts';

/** Locks of email addresses until the transaction ends, always taken in the same order. */
const emailLocks: Lookup<true> = {
  name: 'locks of email addresses',
  async load(transaction, tenantId, emails) {
    await transaction.all(sql`
      select pg_advisory_xact_lock(key) from (
        select distinct hashtextextended('contact.email ' || ${tenantId}::text || ' ' || email, 0) as key
        from unnest(${emails}::text[]) email order by 1) locks`);
    return new Map(emails.map((email) => [email, true]));
  },
};

/**
 * Locks email addresses, which several contacts may share, so that of concurrent requests one creates a contact and the
 * others find it. Call it before rows are locked.
 */
export function lockEmails(plan: Plan, emails: readonly string[]): void {
  plan.each(emails, (email) => plan.lookup(emailLocks, email.toLowerCase()));
}

/** Returns the oldest active contact with exactly this email address. */
export function findByEmail(plan: Plan, email: string): string | undefined {
  return plan.all(contact, 'email', email.toLowerCase()).find((row) => row.active)?.id;
}
