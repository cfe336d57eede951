import type { Plan } from '../../entity/plan.ts';
import { client } from './client.ts';

/** Reopens an archived or deleted client that has a balance again: what a bank reports is recorded in any case. */
export function reopenClient(plan: Plan, id: string): void {
  const row = plan.getForUpdate(client, id);
  if (row === undefined || (row.active && row.status !== 'ARCHIVED')) return;
  plan.update(client, id, {}, { system: { active: true, status: 'INACTIVE' }, event: 'balanceReturned' });
}
