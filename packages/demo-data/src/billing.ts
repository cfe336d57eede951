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
  type Transaction,
} from '@financial-automation/server/service';
import { sql } from 'kysely';
import { storyId } from './story-id.ts';
import type { Work } from './work.ts';

/** The final states of the drafts of the demo firm. Each of them bills one row of work in progress. */
interface Bills {
  readonly overdue: string;
  readonly posted: string;
  readonly partlyPaid: string;
  readonly paid: string;
  readonly voided: string;
  readonly inReview: string;
  readonly rejected: string;
}

/** Creates drafts, invoices, payments and a link in every state; some of the work in progress remains open. */
export async function seedBilling(
  service: Service,
  tenant: Tenant,
  { clientId, jobId }: Work,
  apiUserId: string,
): Promise<void> {
  // Only these operations change the status of drafts, invoices and payments.
  const step = <Result>(plan: (plan: Plan) => Result) =>
    asOperator(service, tenant, 'upsertRecords', (unit) => unit.plan(plan));
  const bills = await step((plan) => planDrafts(plan, clientId, jobId));
  await step((plan) => {
    for (const id of Object.values(bills)) plan.update(draftInvoice, id, { status: 'IN_REVIEW' });
  });
  const { inReview: _, rejected, ...approved } = bills;
  const invoices = await step((plan) => {
    plan.update(draftInvoice, rejected, {
      status: 'REJECTED',
      rejectionReason: 'Bill the nexus study with the return.',
    });
    return new Map(
      Object.entries(approved).map(([name, id]) => {
        plan.update(draftInvoice, id, { status: 'APPROVED' });
        return [name, plan.get(draftInvoice, id)?.invoiceId ?? ''];
      }),
    );
  });
  const idOf = (name: keyof Bills) => invoices.get(name) ?? '';
  const refunded = await step((plan) => {
    plan.update(invoice, idOf('voided'), { status: 'VOIDED', voidReason: 'Billed to the wrong job.' });
    return planPayments(plan, clientId, {
      paid: idOf('paid'),
      partlyPaid: idOf('partlyPaid'),
      overdue: idOf('overdue'),
    });
  });
  await step((plan) => planImports(plan, clientId));
  await step((plan) => plan.update(payment, refunded, { refundedAmount: '50.00' }));
  const url = newLinkUrl(service.config.publicUrl);
  await step((plan) => {
    const clientRef = plan.get(invoice, idOf('posted'))?.clientRef ?? '';
    const body = { clientRef, invoiceIds: [idOf('posted')], note: 'Thank you for your prompt payment.' };
    createLink(plan, apiUserId, url, body, storyId('QuickPaymentLink', 1));
  });
  await step((plan) => {
    const row = plan.get(invoice, idOf('overdue'));
    if (row === undefined) throw new Error('The demo firm has no overdue invoice.');
    const subject = `Invoice ${row.invoiceNumber} from Hartwell & Oakes LLP`;
    planSentMail(plan, row, { subject }, storyId('Mail', 1));
  });
  for (const status of ['READY', 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED'] as const)
    await step((plan) => plan.update(job, storyId('Job', 2), { status }));
  await asOperator(service, tenant, 'upsertRecords', (unit) =>
    insertProgress(unit.transaction, tenant.id, clientId, jobId),
  );
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
async function insertProgress(
  transaction: Transaction,
  tenantId: number,
  clientId: string,
  jobId: string,
): Promise<void> {
  const id = newId();
  await transaction.all(sql`
    insert into wip_entry (tenant_id, id, system_ref, wip_type, client_id, job_id, work_date, amount, currency, posted_at)
    values (${tenantId}, ${id}, ${id}, 'PROGRESS', ${clientId}, ${jobId}, today() - 2, 75.00, 'USD', now())`);
  await transaction.all(sql`
    insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id, wip_entry_id, work_date)
    select tenant_id, ${storyId('LedgerEntry', 2)}, 'WIP', 'WORK', amount, currency, work_date, posted_at, client_id, job_id, id, work_date
    from wip_entry where tenant_id = ${tenantId} and id = ${id}`);
}

/** Plans a draft for each final state, oldest work first, and one that remains a draft. */
function planDrafts(plan: Plan, clientId: string, jobId: string): Bills {
  const open = plan
    .all(wipEntry, 'jobId', jobId)
    .filter((row) => row.wipType === 'TIME')
    .sort((one, other) => (one.workDate < other.workDate ? -1 : 1));
  const day = (days: number) => Temporal.PlainDate.from(plan.today).add({ days }).toString();
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
    const dates = { proposedInvoiceDate: day(-ageInDays), dueDate: day(30 - ageInDays), billThroughDate: day(0) };
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
function planImports(plan: Plan, clientId: string): void {
  const day = (days: number) => Temporal.PlainDate.from(plan.today).add({ days }).toString();
  const jobId = storyId('Job', 2);
  const line = { jobId, quantity: '1', taxable: false, wipIds: [], lineType: 'FIXED_FEE' } as const;
  const imports = [
    {
      pmsRef: 'INV-2026-00412',
      invoiceDate: day(-3),
      dueDate: day(27),
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
  const fee = { wipType: 'FIXED_FEE', clientId, jobId, workDate: day(-1), amount: '1250.00' } as const;
  plan.create(wipEntry, fee, { id: storyId('WipEntry', 1) });
}

/** Plans payments by check, card and ACH. @returns the one that is partially refunded later */
function planPayments(
  plan: Plan,
  clientId: string,
  { paid, partlyPaid, overdue }: Readonly<Record<'paid' | 'partlyPaid' | 'overdue', string>>,
): string {
  const daysAgo = (days: number) => Temporal.PlainDate.from(plan.today).subtract({ days }).toString();
  const due = (id: string) => {
    const row = plan.get(invoice, id);
    if (row === undefined) throw new Error(`Invoice ${id} not found.`);
    return dueOf(row);
  };
  const shared = { clientId, currency: 'USD', source: 'MANUAL' } as const;
  const check = { ...shared, method: 'CHECK', checkNumber: '20417', paymentDate: daysAgo(12) } as const;
  const covered = { ...check, allocations: [{ invoiceId: paid, amount: due(paid).toFixed(2) }] };
  const amount = due(paid).plus(parseDecimal('120.00')).toFixed(2);
  plan.create(payment, { ...covered, amount }, { id: storyId('Payment', 1) });
  const card = { ...shared, source: 'PORTAL', method: 'CARD', cardBrand: 'Visa', last4: '4242' } as const;
  const processor = { processor: 'sandbox', processorRef: 'sbx_ch_4f0a92c1', payerName: 'Ines Calder' };
  const byCard = { ...card, ...processor, paymentDate: daysAgo(6), amount: '300.00' };
  plan.create(payment, { ...byCard, allocations: [{ invoiceId: partlyPaid, amount: '300.00' }] });
  const ach = { ...shared, method: 'ACH', last4: '6789', paymentDate: daysAgo(1), amount: '200.00' } as const;
  plan.create(payment, { ...ach, allocations: [{ invoiceId: overdue, amount: '200.00' }] });
  const unknown = {
    clientId: null,
    method: 'WIRE',
    paymentDate: daysAgo(2),
    amount: '75.00',
    currency: 'USD',
  } as const;
  plan.create(payment, { ...unknown, source: 'MANUAL', note: 'TRANSFER 8841 NO REFERENCE' });
  const retainer = { ...shared, method: 'WIRE', paymentDate: daysAgo(15), amount: '400.00', note: 'Retainer' } as const;
  return plan.create(payment, retainer).row.id;
}
