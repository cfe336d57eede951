import { command } from '../../entity/command.ts';
import { client } from './client.ts';

/** Reopens an archived or deleted client that has a balance again: what a bank reports is recorded in any case. */
export const reopenClient = command('balanceReturned', (plan, id: string) => {
  const row = plan.getForUpdate(client, id);
  if (row === undefined || (row.active && row.status !== 'ARCHIVED')) return;
  plan.set(client, id, { active: true, status: 'INACTIVE' });
});
