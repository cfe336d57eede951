import type { Input } from '../../contract/handler.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Plan } from '../../entity/plan.ts';
import { checkBound } from '../../entity/row-bounds.ts';
import { activeClient } from '../clients/index.ts';
import { job } from '../projects/index.ts';
import { engagement } from './engagement.ts';
import { checkSigner, pending } from './signers.ts';

export type NewEngagement = Input<'createEngagement'>['body'];

export interface NewEngagementOptions {
  /** The ID of the row if it is predefined, as in demo data. */
  readonly id?: string;
  readonly engagementRef?: string;
}

/** Plans an engagement and its letter. @returns its ID */
export function planEngagement(
  plan: Plan,
  body: NewEngagement,
  { id, engagementRef }: NewEngagementOptions = {},
): string {
  const { systemRef, jobIds = [], signerContactIds = [], clientId: _, clientRef: __, ...fields } = withBothNames(body);
  const { id: clientId } = activeClient(plan, withBothNames(body));
  plan.each(signerContactIds, (contactId, index) =>
    checkSigner(plan, clientId, contactId, `/signerContactIds/${index}`),
  );
  const { row } = plan.create(
    engagement,
    { ...fields, clientId, engagementRef },
    { id, systemRef, system: { signers: pending(signerContactIds) } },
  );
  linkJobs(plan, row.id, clientId, jobIds);
  return row.id;
}

/** The contract allows exactly one of the two keys of a client, which is a union of two types. */
function withBothNames(body: NewEngagement): Omit<NewEngagement, 'clientId' | 'clientRef'> & {
  readonly clientId?: string;
  readonly clientRef?: string;
} {
  return body;
}

/**
 * Links exactly these jobs to an engagement.
 *
 * @throws Rejection if one does not exist or belongs to another client, and with `CONFLICT` if one has another
 * engagement.
 */
export function linkJobs(plan: Plan, engagementId: string, clientId: string, jobIds: readonly string[]): void {
  const linked = plan.all(job, 'engagementId', engagementId);
  const rows = plan.getManyForUpdate(job, [...linked.map(({ id }) => id), ...jobIds]);
  const added = jobIds.filter((id, index) => {
    const row = rows.get(id);
    if (row?.engagementId === engagementId) return false;
    const pointer = `/jobIds/${index}`;
    if (row?.active !== true) throw new Rejection('REFERENCE_NOT_FOUND', 'No active job with this ID exists.', pointer);
    if (row.clientId !== clientId)
      throw new Rejection('VALIDATION_ERROR', 'The job belongs to another client.', pointer);
    if (row.engagementId === null) return true;
    const detail = 'The job is linked to another engagement. Unlink it there first.';
    throw new Rejection('CONFLICT', detail, pointer);
  });
  const { jobs = [] } = plan.getForUpdate(engagement, engagementId) ?? {};
  const [known, active] = [new Set(jobs.map(({ id }) => id)), new Set(jobIds)];
  const links = [...jobs.map(({ id }) => id), ...added.filter((id) => !known.has(id))];
  checkBound(engagement, 'jobs', links, '/jobIds');
  // At once: each job that changes after this finds its link set.
  plan.set(engagement, engagementId, { jobs: links.map((id) => ({ id, isActive: active.has(id) })) });
  for (const { id } of linked) if (!active.has(id)) plan.set(job, id, { engagementId: null });
  for (const id of added) plan.set(job, id, { engagementId });
}
