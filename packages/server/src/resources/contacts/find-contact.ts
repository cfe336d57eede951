import type { Plan } from '../../entity/plan.ts';
import { contact } from './contact.ts';

/** Returns the oldest active contact with exactly this email address, which several contacts may share. */
export function findByEmail(plan: Plan, email: string): string | undefined {
  return plan.all(contact, 'email', email.toLowerCase()).find((row) => row.active)?.id;
}
