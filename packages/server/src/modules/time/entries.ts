import { type RawBuilder, sql } from 'kysely';
import { columnOf } from '../../contract/fields.ts';
import { Rejection } from '../../contract/rejection.ts';
import { writtenByApprover } from '../../entity/approver.ts';
import { command } from '../../entity/command.ts';
import { type AnyEntity, manyIn, one, through } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import type { RowInput } from '../../entity/row.ts';
import { isChanged } from '../../entity/row-changes.ts';
import { addRules, type PendingChange } from '../../entity/rules.ts';
import { checkNotArchived, client } from '../clients/index.ts';
import { isFinished, job, task } from '../projects/index.ts';
import { staff } from '../staff/index.ts';
import { wipEntry } from './wip-entry.ts';

/** The field of work in progress that refers to an entry. */
export type WipKey = 'timeEntryId' | 'expenseEntryId';

/** The common properties of time and expense entries. A type, so that functions for all entities accept it. */
type Entry = {
  readonly id: string;
  readonly systemRef: string;
  readonly active: boolean;
  readonly version: number;
  readonly staffId: string;
  readonly jobId: string | null;
  readonly status: string;
  rejectionReason: string | null;
  approvedAt: string | null;
  approvedById: string | null;
};

interface EntryChange {
  readonly entity: AnyEntity;
  readonly id: string;
  readonly values: Entry;
  readonly previous: Entry | undefined;
  readonly input: { readonly status?: string | undefined; readonly rejectionReason?: string | null | undefined };
  readonly privateColumns: Record<string, unknown>;
}

/** What an entry includes of its work in progress, in reads and in searches. */
export function wipColumns(key: WipKey) {
  const wip = manyIn('wip_entry', key, (row) => sql`${sql.ref(`${row}.status`)} <> 'REVERSED'`, {
    isLocked,
    lockReason,
  });
  const ofWip = (column: (wip: string) => RawBuilder<unknown>) => (row: string) =>
    sql`(select ${column('w')} from wip_entry w
    where w.tenant_id = ${sql.ref(`${row}.tenant_id`)} and ${sql.ref(`w.${columnOf(key)}`)} = ${sql.ref(`${row}.id`)} and w.status <> 'REVERSED')`;
  return {
    computed: {
      wipId: ofWip((row) => sql.ref(`${row}.id`)),
      invoiceId: ofWip((row) => sql.ref(`${row}.invoice_id`)),
      isLocked: (row: string) => sql`coalesce(${ofWip(isLocked)(row)}, false)`,
      lockReason: ofWip(lockReason),
    },
    searched: {
      wipId: { relation: wip, field: 'id' },
      invoiceId: { relation: wip, field: 'invoiceId' },
      isLocked: { relation: wip, field: 'isLocked', absent: false },
      lockReason: { relation: wip, field: 'lockReason' },
    },
  } as const;
}

/** SQL of whether a row of work in progress locks its entry. */
function isLocked(wip: string): RawBuilder<unknown> {
  return sql`(${sql.ref(`${wip}.status`)} <> 'OPEN')`;
}

function lockReason(wip: string): RawBuilder<unknown> {
  return sql`(case ${sql.ref(`${wip}.status`)} when 'OPEN' then null
    when 'IN_DRAFT' then 'A draft invoice includes its work in progress.'
    when 'WRITTEN_OFF' then 'Its work in progress is written off.' else 'Its work in progress is billed.' end)`;
}

/** The rows that searches of entries filter by. */
export const entryRelations = {
  staff: one('Staff', 'staffId'),
  job: one('Job', 'jobId'),
  client: through('Job', 'jobId', 'client'),
};

/**
 * Starts to complete an entry: sets its creator, and checks whether it can change.
 *
 * @returns whether there is anything to complete.
 */
export function beginChange({ entity, id, values, previous, privateColumns }: EntryChange, plan: Plan, key: WipKey) {
  if (previous === undefined) {
    privateColumns.created_by_api_user_id = plan.origin.caller?.apiUserId ?? null;
    return true;
  }
  if (!isChanged(entity, previous, values)) return false;
  if (previous.status === 'APPROVED' && values.status !== 'DRAFT' && hasLockedWip(plan, key, id)) throw locked(key);
  if (!values.active && values.status !== previous.status && isPending(values.status)) {
    const detail = `An inactive entry cannot become ${values.status}. Send active: true with it.`;
    throw new Rejection('INVALID_STATE', detail, '/status');
  }
  return true;
}

/** Whether such entries wait for approval, or are approved. */
function isPending(status: string): boolean {
  return status === 'SUBMITTED' || status === 'APPROVED';
}

/** Whether the entry is approved after the change: without time approval, submissions are approved automatically. */
function willBeApproved({ status }: Entry, plan: Plan): boolean {
  return status === 'APPROVED' || (status === 'SUBMITTED' && !plan.tenant.settings.timeApproval);
}

/**
 * Locks the job while work is recorded on it. Approved work, before or after, changes sums of the task, the job and the
 * client. Database triggers update these in any order, so they are locked here, in the lock order.
 */
export function lockWork(
  { values, previous }: Pick<EntryChange, 'values' | 'previous'>,
  plan: Plan,
  tasks: readonly (string | null | undefined)[] = [],
): void {
  const wasApproved = previous?.status === 'APPROVED';
  if (!wasApproved && !willBeApproved(values, plan)) {
    if (values.jobId !== null) plan.getForShare(job, values.jobId);
    return;
  }
  const jobIds = new Set([values.jobId, wasApproved ? previous.jobId : null].filter((one) => one !== null));
  const taskIds = new Set(tasks.filter((one) => typeof one === 'string'));
  plan.together(
    () => plan.getManyForUpdate(task, taskIds),
    () => {
      const jobs = plan.getManyForUpdate(job, jobIds);
      plan.getManyForUpdate(client, new Set([...jobs.values()].map(({ clientId }) => clientId)));
    },
  );
}

/** @throws Rejection `INVALID_STATE` if the job no longer accepts entries. */
export function checkOpenJob({ values, previous }: Pick<EntryChange, 'values' | 'previous'>, plan: Plan): void {
  const { jobId, status } = values;
  // Rejecting an entry and correcting a draft record nothing.
  const isRecorded = status !== previous?.status && status !== 'REJECTED';
  if (jobId === null || (!isRecorded && jobId === previous?.jobId)) return;
  const found = plan.get(job, jobId);
  if (found !== undefined && plan.get(client, found.clientId)?.active === false)
    throw new Rejection('INVALID_STATE', 'The client of the job is deleted. Nothing can be recorded on it.', '/jobId');
  if (found === undefined || !isFinished(found)) return;
  const state = found.active ? found.status : 'inactive';
  throw new Rejection('INVALID_STATE', `The job is ${state}. Nothing can be recorded on it.`, '/jobId');
}

/** Staff cannot have time or expenses after their termination date. */
export function checkEmployedOn(plan: Plan, staffId: string, day: string): void {
  const { hireDate = null, terminationDate = null, status } = plan.get(staff, staffId) ?? {};
  if (hireDate !== null && day < hireDate)
    throw new Rejection(
      'INVALID_STATE',
      `The staff member joined the firm on ${hireDate}, after that day.`,
      '/staffId',
    );
  if (terminationDate === null ? status !== 'TERMINATED' : day <= terminationDate) return;
  throw new Rejection('INVALID_STATE', 'The staff member has left the firm before that day.', '/staffId');
}

/** Sets the reason of a rejection, and the approver and time of an approval. */
export function completeDecision({ values, input }: EntryChange, plan: Plan): void {
  if (values.status !== 'REJECTED') {
    if (typeof input.rejectionReason === 'string')
      throw invalidField('rejectionReason', 'rejectionReason can be set only together with the status REJECTED.');
    values.rejectionReason = null;
  }
  const isApproved = values.status === 'APPROVED';
  values.approvedAt = isApproved ? plan.now : null;
  // Without time approval, submissions are approved automatically, without an approver.
  values.approvedById = isApproved && input.status === 'APPROVED' ? (plan.origin.caller?.staffId ?? null) : null;
}

/** Checks that an entry is approved on its day or later. */
export function checkDayReached(plan: Plan, field: string, day: string): void {
  if (day > plan.today)
    throw invalidField(field, `An entry is approved on its day or later, and ${field} is after today, ${plan.today}.`);
}

/** What the rules of time and of expenses differ in. */
interface EntryRules {
  readonly entityType: 'TimeEntry' | 'ExpenseEntry';
  readonly table: string;
  readonly key: WipKey;
  /** The fields that callers write and amounts follow from. */
  readonly fields: readonly string[];
}

/** The conditions of the state machine of entries. */
export function entryConditions({ entityType, table, key, fields }: EntryRules) {
  const isWrittenByApprover = writtenByApprover({ type: entityType, table, waiting: 'SUBMITTED', fields });
  return {
    approverIsNotAuthor(change: Pick<EntryChange, 'entity' | 'id' | 'values'>, plan: Plan): void {
      // History was approved in the system that it comes from.
      if (plan.isImport) return;
      const { caller, tenant } = plan.origin;
      const isOwn = typeof caller?.staffId === 'string' && caller.staffId === change.values.staffId;
      if (!(isOwn && !tenant.settings.selfApproval) && !isWrittenByApprover(change, plan)) return;
      throw new Rejection(
        'FORBIDDEN',
        'You cannot approve an entry that is yours, or whose work you wrote since its last review. Approve it as the API user of another person, or have the operator set selfApproval of the tenant to on.',
        '/status',
      );
    },
    timeApprovalIsOff(_change: unknown, plan: Plan): void {
      if (plan.tenant.settings.timeApproval) throw new Error('The tenant approves its time.');
    },
    wipIsOpen({ id }: { readonly id: string }, plan: Plan): void {
      if (hasLockedWip(plan, key, id)) throw locked(key);
    },
  };
}

/** Entries show whether their work is locked, and which invoice bills it. */
export function announceWork(entries: AnyEntity, key: WipKey): void {
  addRules(wipEntry, {
    afterWrite({ values, previous }, plan) {
      const entryId = values[key];
      if (previous === undefined || entryId === null) return;
      if (values.status !== previous.status || values.invoiceId !== previous.invoiceId) plan.touch(entries, entryId);
    },
  });
}

/** Whether the work in progress of an entry is in a draft, billed or written off. */
function hasLockedWip(plan: Plan, key: WipKey, entryId: string): boolean {
  return plan.all(wipEntry, key, entryId).some(({ status }) => status !== 'OPEN' && status !== 'REVERSED');
}

function locked(key: WipKey): Rejection {
  const reason = 'The work in progress of the entry is in a draft invoice, billed or written off.';
  const correction =
    key === 'timeEntryId'
      ? 'Correct it by an entry with negative hours and reversesSystemRef.'
      : 'Correct it by a record of the type WipEntry, an ADJUSTMENT.';
  return new Rejection('LOCKED', `${reason} ${correction}`);
}

/** Without time approval, a submitted entry is approved at once. */
export function submitEntry(
  plan: Plan,
  { entity, id }: Pick<PendingChange<'TimeEntry' | 'ExpenseEntry'>, 'entity' | 'id'>,
): void {
  if (!plan.tenant.settings.timeApproval) plan.set(entity, id, { status: 'APPROVED' });
}

/** Reverses the work in progress of an entry that is no longer approved. */
export const withdrawEntry = command(
  'entryUnapproved',
  (plan, { entity, id, previous }: Pick<EntryChange, 'entity' | 'id' | 'previous'>) => {
    if (previous?.status !== 'APPROVED') return;
    for (const row of plan.all(wipEntry, entity.type === 'TimeEntry' ? 'timeEntryId' : 'expenseEntryId', id)) {
      if (row.status === 'OPEN') plan.set(wipEntry, row.id, { status: 'REVERSED' });
    }
  },
);

/** Creates the work in progress of an approved entry. The staff member may be terminated by then. */
export function createWip(plan: Plan, jobId: string, fields: RowInput<'WipEntry'>): void {
  const work = plan.get(job, jobId);
  if (work === undefined) throw new Error(`Job ${jobId} not found.`);
  const { clientId, engagementId, currency } = work;
  checkNotArchived(plan.get(client, clientId), '/jobId');
  const ofJob = { jobId, clientId, engagementId, currency };
  plan.insert(wipEntry, { ...fields, ...ofJob, postedAt: plan.now });
}

/** Only entries that are neither submitted nor approved can be deactivated. */
export function checkRemovable(
  { entity, values }: Pick<EntryChange, 'entity' | 'values'>,
  plan: Plan,
  key: WipKey,
): void {
  if (!isPending(values.status)) return;
  if (hasLockedWip(plan, key, values.id)) throw locked(key);
  const remedy = values.status === 'SUBMITTED' ? 'Reject it first.' : 'Return it to DRAFT first.';
  throw new Rejection('INVALID_STATE', `A ${entity.type} that is ${values.status} cannot be deactivated. ${remedy}`);
}
