import { Rejection } from '../../contract/rejection.ts';
import { checkDateOrder } from '../../entity/date-order.ts';
import { embedValue } from '../../entity/embed.ts';
import { defineEntity, many, one } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import { checkMinorUnits } from '../../entity/minor-units.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { isFieldChanged } from '../../entity/row-changes.ts';
import type { PendingChange } from '../../entity/rules.ts';
import { completeClientCurrency } from '../clients/index.ts';
import { job } from '../projects/index.ts';
import { createLetter, replaceLetter } from './documents.ts';
import { checkSignatures, importSigners, pending } from './signers.ts';

type EngagementChange = PendingChange<'Engagement'>;

/** Fields that appear in the letter. */
const letterFields = [
  'clientId',
  'type',
  'fiscalYear',
  'startDate',
  'endDate',
  'templateId',
  'templateName',
  'feeAmount',
  'feeType',
  'depositAmount',
  'currency',
  'name',
  'engagementRef',
  'partnerId',
  'managerId',
  'staff',
  'signers',
] as const;

/** An agreement with a client for a fiscal year, with its letter. */
export const engagement = defineEntity('Engagement', {
  table: 'engagement',
  relations: { client: one('Client', 'clientId'), jobs: many('Job', 'engagementId') },
  owned: {
    staff: { table: 'engagement_staff', owner: 'engagement_id' },
    signers: { table: 'engagement_signer', owner: 'engagement_id' },
    jobs: {
      table: 'engagement_job',
      owner: 'engagement_id',
      embeds: {
        name: ofJob('name'),
        status: ofJob('status'),
        clientId: ofJob('clientId'),
        pmsRef: ofJob('pmsRef'),
        jobRef: ofJob('jobRef'),
        sysRefs: ofJob('sysRefs'),
      },
    },
  },
  rules: {
    complete(change, plan) {
      if (plan.isImport && change.by === 'caller') completeImport(change, plan);
      if (change.previous === undefined) completeNew(change, plan);
      else completeChange(change, change.previous, plan);
      completeClientCurrency(change, plan);
      checkMinorUnits(change, change.values.currency, ['feeAmount', 'depositAmount']);
      checkDateOrder(change, 'startDate', 'endDate');
    },
    beforeRemoval({ values }) {
      if (values.status !== 'DRAFT')
        throw new Rejection('INVALID_STATE', `The engagement is ${values.status}. Only a DRAFT can be deleted.`);
    },
    afterWrite(change, plan) {
      const { values, previous } = change;
      // The letter of an imported engagement is elsewhere; this service writes that of a draft.
      if (previous === undefined && (!plan.isImport || values.status === 'DRAFT')) createLetter(plan, values);
      else if (!values.active) unlinkJobs(plan, values.id);
      else if (previous !== undefined) followChange(change, previous, plan);
    },
    isInstantPossible: ({ status }, name) => status === 'CANCELLED' && name !== 'completedAt',
    conditions: {
      hasSigner({ values }) {
        if (values.signers.length > 0) return;
        const detail = 'A letter without signers cannot be sent. Add at least one to signers.';
        throw new Rejection('INVALID_STATE', detail, '/status');
      },
    },
    constraints: {
      engagement_job_active_unique: {
        code: 'INVALID_STATE',
        field: 'jobIds',
        detail: 'A job was linked to another engagement at the same time.',
      },
    },
  },
});

/** A field of the linked job. */
function ofJob(field: keyof Row<'Job'> & string) {
  return embedValue('Job', 'id', field, { onChange: 'label' });
}

const names: Readonly<Record<Row<'Engagement'>['type'], string>> = {
  AUDIT: 'audit engagement',
  REVIEW: 'review engagement',
  COMPILATION: 'compilation engagement',
  TAX: 'tax engagement',
  CAS: 'client accounting engagement',
  ADVISORY: 'advisory engagement',
  OTHER: 'engagement',
};

type Step = 'sentAt' | 'executedAt' | 'completedAt';
const executed: readonly Step[] = ['sentAt', 'executedAt'];

/** By the status of an engagement, what has happened. */
const happened: Readonly<Record<Row<'Engagement'>['status'], readonly Step[]>> = {
  ...{ DRAFT: [], CANCELLED: [], SENT: ['sentAt'], DECLINED: ['sentAt'], EXPIRED: ['sentAt'] },
  ...{ EXECUTED: executed, ACTIVE: executed, ON_HOLD: executed, COMPLETED: [...executed, 'completedAt'] },
};

/** An import states how far the letter is, and who has signed it. */
function completeImport({ values, previous, input }: EngagementChange, plan: Plan): void {
  if (input.signers !== undefined)
    values.signers = importSigners(plan, { row: previous, clientId: values.clientId }, input.signers);
  const { status, signers } = values;
  checkSignatures(status, signers);
  if (status === previous?.status) return;
  for (const name of happened[status]) values[name] ??= plan.now;
  if (status !== 'DRAFT' && signers.some((signer) => signer.status !== 'PENDING')) values.viewedAt ??= plan.now;
}

function completeNew({ values }: EngagementChange, plan: Plan): void {
  values.engagementRef ??= plan.nextReference(engagementNumber(plan.today.slice(0, 4)));
  values.name ??= `${values.fiscalYear} ${names[values.type]}`;
  values.signers ??= [];
  values.jobs ??= [];
  checkExpiry(values, plan);
}

function engagementNumber(year: string) {
  return {
    counter: `engagement.engagement_ref.${year}`,
    entity: engagement,
    fields: ['engagementRef'],
    format: (number: number) => `E-${year}-${String(number).padStart(4, '0')}`,
  };
}

function completeChange(change: EngagementChange, previous: Row<'Engagement'>, plan: Plan): void {
  const { values, by } = change;
  if (!previous.active && by === 'caller')
    throw new Rejection('INVALID_STATE', 'The engagement was deleted and cannot change.');
  if (values.expiresAt !== previous.expiresAt) checkExpiry(values, plan);
  const isViewed = values.signers.some(({ status }) => status === 'VIEWED');
  if (isViewed && values.status === 'SENT') values.viewedAt ??= plan.now;
  if (values.status === previous.status) return;
  if (values.status === 'SENT') {
    checkExpiry(values, plan);
    values.sentAt = plan.now;
  }
  if (values.status === 'DRAFT') {
    values.sentAt = null;
    values.viewedAt = null;
    values.signers = pending(values.signers.map(({ contactId }) => contactId));
  }
  if (values.status === 'EXECUTED') values.executedAt = plan.now;
  if (values.status === 'COMPLETED') values.completedAt = plan.now;
}

function isLetterChanged({ entity, values }: EngagementChange, previous: Row<'Engagement'>): boolean {
  return letterFields.some((name) => {
    const field = entity.fields.get(name);
    return field !== undefined && isFieldChanged(entity, field, { ...previous }, { ...values });
  });
}

function checkExpiry({ expiresAt, status }: Row<'Engagement'>, plan: Plan): void {
  const isOver = plan.isImport && status !== 'DRAFT' && status !== 'SENT';
  if (!isOver && expiresAt !== null && expiresAt <= plan.now)
    throw invalidField(
      'expiresAt',
      'expiresAt must be in the future. Set another instant, or null for a letter that does not expire.',
    );
}

/** A changed draft has another letter; the status of one that is sent follows from its signatures. */
function followChange(change: EngagementChange, previous: Row<'Engagement'>, plan: Plan): void {
  const { id, values } = change;
  const { status, signers } = values;
  if (plan.isImport && status !== previous.status) replaceLetter(plan, values);
  const isDraft = status === 'DRAFT' || previous.status === 'DRAFT';
  if (isDraft && isLetterChanged(change, previous)) replaceLetter(plan, values);
  if (status !== 'SENT') return;
  if (signers.some((signer) => signer.status === 'DECLINED')) plan.set(engagement, id, { status: 'DECLINED' });
  else if (signers.every((signer) => signer.status === 'SIGNED')) plan.set(engagement, id, { status: 'EXECUTED' });
}

function unlinkJobs(plan: Plan, id: string): void {
  const { jobs = [] } = plan.getForUpdate(engagement, id) ?? {};
  // At once: each job that changes after this finds its link set.
  plan.set(engagement, id, { jobs: jobs.map((one) => ({ id: one.id, isActive: false })) });
  plan.each(plan.all(job, 'engagementId', id), (linked) => plan.set(job, linked.id, { engagementId: null }));
}
