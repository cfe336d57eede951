import {
  createLink,
  draftInvoice,
  dueOf,
  endSending,
  invoice,
  mail,
  newLinkUrl,
  payment,
  startSending,
} from '@financial-automation/server/modules/billing';
import { client } from '@financial-automation/server/modules/clients';
import { job } from '@financial-automation/server/modules/projects';
import { wipEntry } from '@financial-automation/server/modules/time';
import {
  asOperator,
  newId,
  type Plan,
  parseDecimal,
  type Row,
  type RowInput,
  type Service,
  type Tenant,
  type UnitOfWork,
} from '@financial-automation/server/service';
import { sql } from 'kysely';
import { storyId } from './story-id.ts';

const [clientId, jobId] = [storyId('Client', 1), storyId('Job', 1)];

/** Plans changes in a transaction of its own. */
export type Step = <Result>(plan: (plan: Plan) => Result) => Promise<Result>;

/** Steps by the operation that changes the status of drafts, invoices and payments. */
export function stepsOf(service: Service, tenant: Tenant): Step {
  return (plan) => asOperator(service, tenant, 'upsertRecords', (unit) => unit.plan(plan));
}

/** A day before or after today. */
export function dayFrom({ today }: Plan, days: number): string {
  return Temporal.PlainDate.from(today).add({ days }).toString();
}

/** Creates drafts, invoices, payments and a link in every state; some of the work in progress remains open. */
export async function seedBilling(service: Service, tenant: Tenant, apiUserId: string): Promise<void> {
  const step = stepsOf(service, tenant);
  const { inReview, rejected, ...approved } = await step(planDrafts);
  await step((plan) => [inReview, rejected].map((id) => plan.update(draftInvoice, id, { status: 'IN_REVIEW' })));
  const rejectionReason = 'Bill the nexus study with the return.';
  await step((plan) => plan.update(draftInvoice, rejected, { status: 'REJECTED', rejectionReason }));
  const { overdue, posted, partlyPaid, paid, voided } = await postDrafts(step, approved);
  await step((plan) => plan.update(invoice, voided.id, { status: 'VOIDED', voidReason: 'Billed to the wrong job.' }));
  const refunded = await step((plan) => planPayments(plan, { paid, partlyPaid, overdue }));
  await step(planImports);
  await step((plan) => plan.update(payment, refunded, { refundedAmount: '50.00' }));
  const url = newLinkUrl(service.config.publicUrl);
  const link = { clientRef: posted.clientRef, invoiceIds: [posted.id], note: 'Thank you for your prompt payment.' };
  await step((plan) => createLink(plan, apiUserId, url, link, storyId('QuickPaymentLink', 1)));
  const subject = `Invoice ${overdue.invoiceNumber} from Hartwell & Oakes LLP`;
  await step((plan) => planSentMail(plan, overdue, { subject }, storyId('Mail', 1)));
  for (const status of ['READY', 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED'] as const)
    await step((plan) => plan.update(job, storyId('Job', 2), { status }));
  await asOperator(service, tenant, 'upsertRecords', (unit) => insertProgress(unit, tenant.id));
}

/** Reviews and approves drafts. @returns their invoices */
export async function postDrafts<Name extends string>(
  step: Step,
  drafts: Readonly<Record<Name, string>>,
): Promise<Readonly<Record<Name, Row<'Invoice'>>>> {
  for (const status of ['IN_REVIEW', 'APPROVED'] as const)
    await step((plan) => Object.values<string>(drafts).map((id) => plan.update(draftInvoice, id, { status })));
  return step((plan) => {
    const posted = Object.entries<string>(drafts).map(([name, id]) => {
      const row = plan.get(invoice, plan.get(draftInvoice, id)?.invoiceId ?? '');
      if (row === undefined) throw new Error(`The draft ${name} has no invoice.`);
      return [name, row] as const;
    });
    return Object.fromEntries(posted) as Record<Name, Row<'Invoice'>>;
  });
}

/** Plans a mail about an invoice that was sent: by default the invoice itself, to the client. */
export function planSentMail(
  plan: Plan,
  { id: invoiceId, orgId, clientId }: Row<'Invoice'>,
  { subject, ...more }: Pick<Row<'Mail'>, 'subject'> & Partial<Row<'Mail'>>,
  id?: string,
): void {
  const { email = null, documentLanguage: language = 'en' } = plan.get(client, clientId) ?? {};
  const toAddresses = email === null ? [] : [email];
  const texts = { kind: 'INVOICE', template: 'INVOICE', message: null, reminderDate: null } as const;
  const about = { orgId, clientId, invoiceIds: [invoiceId], ccAddresses: [], quickPaymentLinkId: null };
  const { row } = plan.insert(mail, { ...texts, language, toAddresses, ...about, ...more, status: 'QUEUED' }, { id });
  const started = startSending(plan, row, subject ?? '').row;
  endSending(plan, started, { status: 'SENT', failure: null, acceptedAddresses: row.toAddresses });
}

/** Inserts work with the entry of the ledger that the examples of the contract read: entries get their IDs from the service. */
async function insertProgress(unit: UnitOfWork, tenantId: number): Promise<void> {
  const { transaction } = unit;
  const id = newId();
  // Triggers change their sums, and whoever follows the events must see that.
  await unit.plan((plan) => {
    plan.touch(client, clientId);
    plan.touch(job, jobId);
  });
  await transaction.all(sql`
    insert into wip_entry (tenant_id, id, system_ref, wip_type, client_id, job_id, work_date, amount, currency, posted_at)
    values (${tenantId}, ${id}, ${id}, 'PROGRESS', ${clientId}, ${jobId}, today() - 2, 75.00, 'USD', now())`);
  await transaction.all(sql`
    insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, wip_entry_id, work_date)
    select tenant_id, ${storyId('LedgerEntry', 2)}, 'WIP', 'WORK', amount, currency, work_date, posted_at, client_id, job_id, id, work_date
    from wip_entry where tenant_id = ${tenantId} and id = ${id}`);
  await unit.plan((plan) => plan.touch(wipEntry, id));
}

/** Plans a draft for each final state, oldest work first, and one that remains a draft. Each bills one row of work in progress. */
function planDrafts(plan: Plan) {
  const open = plan
    .all(wipEntry, 'jobId', jobId)
    .filter((row) => row.wipType === 'TIME')
    .sort((one, other) => (one.workDate < other.workDate ? -1 : 1));
  const billed = open.map((row): RowInput<'DraftInvoice'>['lines'] => [
    {
      lineType: 'TIME',
      jobId,
      description: 'Preparation of the partnership return',
      quantity: row.hours?.toFixed(2) ?? '1',
      unitAmount: row.billingRate?.toFixed(2) ?? row.amount.toFixed(2),
      taxable: false,
      wipIds: [row.id],
    },
  ]);
  const draft = (
    index: number,
    ageInDays: number,
    more: RowInput<'DraftInvoice'>['lines'] = [],
    id?: string,
  ): string => {
    const [day, dueDate] = [dayFrom(plan, -ageInDays), dayFrom(plan, 30 - ageInDays)];
    const dates = { proposedInvoiceDate: day, dueDate, billThroughDate: plan.today };
    const lines = [...(billed[index] ?? []), ...(more ?? [])];
    return plan.create(draftInvoice, { clientId, ...dates, lines }, { id }).row.id;
  };
  const [price, courtesy] = [{ quantity: '1', taxable: false, jobId: null, wipIds: [] }, '-25.00'] as const;
  const discount = { ...price, lineType: 'DISCOUNT', description: 'Courtesy discount', unitAmount: courtesy } as const;
  draft(7, 0, [discount], storyId('DraftInvoice', 1));
  return {
    overdue: draft(0, 60),
    posted: draft(1, 5, [{ ...price, lineType: 'OTHER', description: 'Filing fee', unitAmount: '150.00' }]),
    partlyPaid: draft(2, 20),
    paid: draft(3, 45),
    voided: draft(4, 30),
    inReview: draft(5, 0),
    rejected: draft(6, 0),
  };
}

/** Plans two invoices from the practice-management system, both open and one overdue, and a fixed fee to be billed. */
function planImports(plan: Plan): void {
  const jobId = storyId('Job', 2);
  const line = { jobId, quantity: '1', taxable: false, wipIds: [], lineType: 'FIXED_FEE' } as const;
  const imports = [
    {
      pmsRef: 'INV-2026-00412',
      invoiceDate: dayFrom(plan, -3),
      dueDate: dayFrom(plan, 27),
      description: 'Preparation of the 2026 partnership return',
      unitAmount: '707.00',
    },
    {
      pmsRef: '20355',
      // The examples search for entries of its month.
      invoiceDate: '2026-08-16',
      dueDate: '2026-09-15',
      description: 'Bookkeeping for the third quarter of 2026',
      unitAmount: '1250.00',
    },
  ];
  for (const [index, { description, unitAmount, ...dates }] of imports.entries()) {
    const fields = { clientId, ...dates, lines: [{ ...line, description, unitAmount }] };
    plan.create(invoice, fields, { id: storyId('Invoice', index + 1), systemRef: `pms-inv-${dates.pmsRef}` });
  }
  const fee = { wipType: 'FIXED_FEE', clientId, jobId, workDate: dayFrom(plan, -1), amount: '1250.00' } as const;
  plan.create(wipEntry, fee, { id: storyId('WipEntry', 1) });
}

/** Plans a payment of some days ago, for an invoice or for later. @returns its ID */
export function pay(
  plan: Plan,
  days: number,
  amount: string,
  fields: RowInput<'Payment'>,
  covered?: Row<'Invoice'>,
  id?: string,
): string {
  const whose = { clientId: covered?.clientId ?? clientId, currency: covered?.currency ?? 'USD' };
  const money = { source: 'MANUAL', paymentDate: dayFrom(plan, -days), amount } as const;
  const allocations = covered === undefined ? [] : [{ invoiceId: covered.id, amount }];
  return plan.create(payment, { ...whose, ...money, allocations, ...fields }, { id }).row.id;
}

type Invoices = Readonly<Record<'paid' | 'partlyPaid' | 'overdue', Row<'Invoice'>>>;

/** Plans payments by check, card and ACH. @returns the one that is partially refunded later */
function planPayments(plan: Plan, { paid, partlyPaid, overdue }: Invoices): string {
  const due = dueOf(paid);
  const allocations = [{ invoiceId: paid.id, amount: due.toFixed(2) }];
  const check = { method: 'CHECK', checkNumber: '20417', allocations } as const;
  pay(plan, 12, due.plus(parseDecimal('120.00')).toFixed(2), check, undefined, storyId('Payment', 1));
  const processor = { processor: 'sandbox', processorRef: 'sbx_ch_4f0a92c1', payerName: 'Ines Calder' };
  const card = { method: 'CARD', source: 'PORTAL', cardBrand: 'Visa', last4: '4242', ...processor } as const;
  pay(plan, 6, '300.00', card, partlyPaid);
  pay(plan, 1, '200.00', { method: 'ACH', last4: '6789' }, overdue);
  pay(plan, 2, '75.00', { clientId: null, method: 'WIRE', note: 'TRANSFER 8841 NO REFERENCE' });
  return pay(plan, 15, '400.00', { method: 'WIRE', note: 'Retainer' });
}
