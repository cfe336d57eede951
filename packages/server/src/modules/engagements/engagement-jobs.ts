import { valuesWith } from '../../contract/values-with.ts';
import { command } from '../../entity/command.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { checkBound } from '../../entity/row-bounds.ts';
import { addRules, type PendingChange } from '../../entity/rules.ts';
import { client } from '../clients/index.ts';
import { job } from '../projects/index.ts';
import { replaceLetter } from './documents.ts';
import { engagement } from './engagement.ts';
import { planLetters } from './write-letter.ts';

/** Statuses of jobs whose work has started. */
const started = valuesWith<Row<'Job'>['status']>({
  ...{ IN_PROGRESS: true, ON_HOLD: true, IN_REVIEW: true, COMPLETED: true, CLOSED: true },
  ...{ PLANNED: false, READY: false, CANCELLED: false },
});

addRules(job, { complete: checkEngagement, afterWrite: followJob });

addRules(client, {
  /** Engagements have the currency of their client until their letters are sent, which show it with its org and its names. */
  afterWrite({ values, previous }, plan) {
    if (previous === undefined || shownByLetters.every((name) => values[name] === previous[name])) return;
    plan.each(plan.all(engagement, 'clientId', values.id), (row) => {
      if (row.currency !== values.currency) plan.set(engagement, row.id, { currency: values.currency });
      else if (row.status === 'DRAFT') replaceLetter(plan, row);
      planLetters(plan, row.id);
    });
  },
});

const shownByLetters = ['currency', 'orgId', 'documentLanguage', 'name', 'legalName'] as const;

/** Checks that a job and its engagement have the same client. */
function checkEngagement({ values, previous }: PendingChange<'Job'>, plan: Plan): void {
  if (values.engagementId === null) return;
  if (values.engagementId === previous?.engagementId && values.clientId === previous.clientId) return;
  const row = plan.get(engagement, values.engagementId);
  if (row === undefined || row.clientId === values.clientId) return;
  const field = values.engagementId === previous?.engagementId ? 'clientId' : 'engagementId';
  throw invalidField(field, 'The job and its engagement must be of the same client.');
}

/** Updates the engagement's list of current and former jobs, and its status from their progress. */
function followJob({ values, previous, input }: PendingChange<'Job'>, plan: Plan): void {
  const before = previous?.engagementId ?? null;
  const isLinkChanged = values.engagementId !== before;
  if (isLinkChanged && before !== null) setLink(plan, before, { id: values.id, isActive: false }, undefined);
  if (values.engagementId === null) return;
  const pointer = input.engagementId === undefined ? undefined : '/engagementId';
  if (isLinkChanged) setLink(plan, values.engagementId, { id: values.id, isActive: true }, pointer);
  // The engagements of an import are in the state that they have.
  if (plan.isImport) return;
  if (isLinkChanged || values.status !== previous?.status) startWork(plan, values.engagementId);
  if (isOver(values) && previous !== undefined && !isOver(previous)) completeWork(plan, values.engagementId);
}

/** Whether an engagement waits no longer for a job. */
function isOver({ active, status }: Pick<Row<'Job'>, 'active' | 'status'>): boolean {
  return !active || status === 'CLOSED' || status === 'CANCELLED';
}

/** An executed engagement becomes active with the first of its jobs. */
export const startWork = command('jobStarted', (plan, engagementId: string) => {
  if (plan.get(engagement, engagementId)?.status !== 'EXECUTED') return;
  if (!jobsOf(plan, engagementId).some(({ status }) => started.includes(status))) return;
  if (plan.getForUpdate(engagement, engagementId)?.status !== 'EXECUTED') return;
  plan.set(engagement, engagementId, { status: 'ACTIVE' });
});

/** The engagement is complete when its jobs are closed. Those that are cancelled or deleted do not count. */
const completeWork = command('jobsClosed', (plan, engagementId: string) => {
  if (plan.getForUpdate(engagement, engagementId)?.status !== 'ACTIVE') return;
  const jobs = jobsOf(plan, engagementId).filter(({ status }) => status !== 'CANCELLED');
  if (jobs.length > 0 && jobs.every(({ status }) => status === 'CLOSED'))
    plan.set(engagement, engagementId, { status: 'COMPLETED' });
});

/** The active jobs with an active link. */
function jobsOf(plan: Plan, engagementId: string): readonly Row<'Job'>[] {
  return plan.all(job, 'engagementId', engagementId).filter(({ active }) => active);
}

/** @param pointer the field of the job that the caller has set, if any */
function setLink(
  plan: Plan,
  engagementId: string,
  link: { readonly id: string; readonly isActive: boolean },
  pointer: string | undefined,
): void {
  const { jobs = [] } = plan.getForUpdate(engagement, engagementId) ?? {};
  const known = jobs.find(({ id }) => id === link.id);
  if (known?.isActive === link.isActive) return;
  const links = known ? jobs.map((one) => (one === known ? { ...one, ...link } : one)) : [...jobs, link];
  checkBound(engagement, 'jobs', links, pointer);
  plan.set(engagement, engagementId, { jobs: links });
}
