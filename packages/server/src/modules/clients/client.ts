import { sql } from 'kysely';
import { Rejection } from '../../contract/rejection.ts';
import { defineEntity, type Entity, many, one } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Lookup } from '../../entity/loaded-rows.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { addRules, type PendingChange } from '../../entity/rules.ts';
import { checkNothingUnfinished, unfinishedRows, unpostedDrafts } from '../../entity/unfinished-rows.ts';
import { zero } from '../../platform/decimal.ts';
import { checkVatId, clientType, hasOpenStatus, org } from '../reference/index.ts';

/** Days after the invoice, if neither the client nor its type specifies them. */
const standardPaymentTerms = 30;

/** A client of the firm. */
export const client: Entity<'Client'> = defineEntity('Client', {
  table: 'client',
  relations: {
    contactClients: many('ContactClient', 'clientId'),
    partner: one('Staff', 'partnerId'),
    manager: one('Staff', 'managerId'),
    jobs: many('Job', 'clientId'),
  },
  sumsUp: ['wip_entry', 'invoice', 'payment'],
  computed: { overdueBalance },
  rules: {
    complete,
    isFixed: ({ id }, plan) => hasDocuments(plan, id),
    beforeRemoval({ id, values }, plan) {
      checkSettled(values, plan);
      checkNothingUnfinished(plan, unfinishedOfClient, id, 'client');
    },
    conditions: {
      isSettled: ({ values }, plan) => checkSettled(values, plan, '/status'),
      nothingToSettle: ({ id }, plan) => checkNothingUnfinished(plan, unsettledOfClient, id, 'client'),
    },
    constraints: {
      client_fiscal_year_end_day_range: {
        code: 'VALIDATION_ERROR',
        field: 'fiscalYearEndDay',
        detail: 'fiscalYearEndDay must be a day of fiscalYearEndMonth.',
      },
      client_status_settled: {
        code: 'INVALID_STATE',
        field: 'status',
        detail: 'A client with receivables, work in progress or unapplied credit cannot be archived.',
      },
      client_pms_ref_same: {
        code: 'VALIDATION_ERROR',
        field: 'pmsRef',
        detail: 'clientRef and pmsRef have the same value.',
      },
    },
  },
});

addRules(org, {
  beforeRemoval: ({ id }, plan) => checkNothingUnfinished(plan, unfinishedOfOrg, id, 'org'),
});

/** What an org would go on billing. */
const unfinishedOfOrg = unfinishedRows('Org', [
  {
    what: 'clients that are not archived',
    table: 'client',
    refers: 'org_id',
    ended: ['ARCHIVED'],
  },
]);

/** What bills a client, or brings it money. */
const unsettled = [
  unpostedDrafts,
  { what: 'imported invoices that are not posted', table: 'invoice', states: ['PENDING'] },
  { what: 'pending payments', table: 'payment', states: ['PENDING'] },
  { what: 'payment links that can be used', table: 'quick_payment_link', states: ['ACTIVE', 'PROCESSING'] },
].map((kind) => ({ ...kind, refers: 'client_id' }));
const unsettledOfClient = unfinishedRows('Client (unsettled)', unsettled);

/** What can lead to a bill as well. */
const unfinishedOfClient = unfinishedRows('Client', [
  { what: 'open jobs', table: 'job', refers: 'client_id', ended: ['CLOSED', 'CANCELLED'] },
  ...unsettled,
  {
    what: 'engagements that have not ended',
    table: 'engagement',
    refers: 'client_id',
    ended: ['COMPLETED', 'DECLINED', 'EXPIRED', 'CANCELLED'],
  },
]);

/** Returns whether a client has documents, which are in its currency and the books of its org, separate from those of others. */
export function hasDocuments(plan: Plan, id: string): boolean {
  return plan.lookup(clientsWithDocuments, id) === true;
}

/** Clients with documents, which are in their currency. A letter that is not sent yet follows the client, as jobs do. */
const clientsWithDocuments: Lookup<boolean> = {
  name: 'clients with documents',
  async load(transaction, tenantId, ids) {
    const has = ['draft_invoice', 'invoice', 'payment', 'quick_payment_link', 'wip_entry', 'engagement'].map(
      (table) =>
        sql`exists (select from ${sql.table(table)} t where t.tenant_id = ${tenantId} and t.client_id = client.id
          and ${table === 'engagement' ? sql`t.status <> 'DRAFT'` : sql`true`})`,
    );
    const found = await transaction.all<{ id: string }>(sql`
      select id from unnest(${ids}::uuid[]) as client (id) where ${sql.join(has, sql` or `)}`);
    return new Map(found.map(({ id }) => [id, true]));
  },
};

/** SQL of the amount that is overdue today. The other balances are stored with the client, in its currency. */
function overdueBalance(row: string) {
  return sql`(select coalesce(sum(i.amount_due), 0)::numeric(16, 2) from invoice i
    where i.tenant_id = ${sql.ref(`${row}.tenant_id`)} and i.client_id = ${sql.ref(`${row}.id`)}
      and i.currency = ${sql.ref(`${row}.currency`)} and ${hasOpenStatus('i')} and i.due_date < today())`;
}

function complete(change: PendingChange<'Client'>, plan: Plan): void {
  completeReference(change, plan);
  encryptTaxId(change, plan);
  const { values, previous } = change;
  checkVatId(values.vatId, previous?.vatId);
  if (previous !== undefined) return;
  values.orgId ??= onlyOrg(plan);
  values.currency ??= plan.get(org, values.orgId)?.currency ?? plan.tenant.currency;
  values.paymentTermsDays ??= paymentTermsOf(plan, values.clientTypeId);
}

/** `clientRef` and `pmsRef` are two names for one value; a new client without either gets the next number. */
function completeReference({ values, input, previous }: PendingChange<'Client'>, plan: Plan): void {
  const { clientRef, pmsRef } = input;
  if (clientRef !== undefined && pmsRef !== undefined && clientRef !== pmsRef)
    throw invalidField('pmsRef', 'clientRef and pmsRef have the same value. Send one of them, or the same in both.');
  const sent = clientRef ?? pmsRef;
  // The number of a client that was merged into this one still leads here; this one keeps its own.
  const isOfMerged =
    sent !== undefined &&
    previous !== undefined &&
    sent !== previous.clientRef &&
    plan.find(client, 'clientRef', sent)?.id === previous.id;
  values.clientRef = (isOfMerged ? undefined : sent) ?? previous?.clientRef ?? plan.nextReference(clientNumber);
  values.pmsRef = values.clientRef;
}

const clientNumber = {
  counter: 'client.client_ref',
  entity: client,
  fields: ['clientRef'],
  format: (number: number) => `C-${String(number).padStart(5, '0')}`,
};

/** Clients with amounts in another currency than their own, from before documents had to be in it. No balance includes them. */
const clientsWithOtherCurrency: Lookup<boolean> = {
  name: 'clients with another currency',
  async load(transaction, tenantId, ids) {
    const open = {
      invoice: sql`outstanding(t.status, t.amount_due)`,
      payment: sql`held(t.status, t.unapplied_amount)`,
      wip_entry: sql`t.outstanding_amount`,
    };
    const has = Object.entries(open).map(
      ([table, amount]) => sql`exists (select from ${sql.table(table)} t
        where t.tenant_id = ${tenantId} and t.client_id = k.id and t.currency <> k.currency and ${amount} <> 0)`,
    );
    const found = await transaction.all<{ id: string }>(sql`
      select k.id from client k where k.tenant_id = ${tenantId} and k.id = any(${ids}) and (${sql.join(has, sql` or `)})`);
    return new Map(found.map(({ id }) => [id, true]));
  },
};

function checkSettled(
  { id, outstandingBalance, unbilledWip, unappliedCredit }: Row<'Client'>,
  plan: Plan,
  pointer?: string,
): void {
  const isSettled = outstandingBalance.eq(zero) && unbilledWip.eq(zero) && unappliedCredit.eq(zero);
  if (isSettled && plan.lookup(clientsWithOtherCurrency, id) !== true) return;
  throw new Rejection(
    'INVALID_STATE',
    'The client has receivables, work in progress or unapplied credit. Bill and collect, apply or refund these first.',
    pointer,
  );
}

/** Purpose of the key that encrypts tax IDs. */
export const taxIdPurpose = 'tax-id';

/** The tax ID is stored encrypted; responses show its last four characters. */
function encryptTaxId({ input, values, privateColumns }: PendingChange<'Client'>, plan: Plan): void {
  const { taxId } = input;
  if (taxId === undefined) return;
  privateColumns.tax_id_encrypted = taxId === null ? null : hex(plan.origin.vault.encrypt(taxIdPurpose, taxId));
  values.taxIdLast4 = taxId === null ? null : taxId.slice(-4);
}

/** Formats bytes as text for PostgreSQL. */
function hex(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

/** The ID of the only org of the tenant. @throws Rejection if it has several, so that the caller must name one. */
export function onlyOrg(plan: Plan): string {
  const [first, second] = plan.all(org, 'active', 'true');
  if (first === undefined) throw invalidField('orgId', 'The tenant has no org. Create a record of the type Org first.');
  if (second !== undefined) throw invalidField('orgId', 'orgId is required because this tenant has several orgs.');
  return first.id;
}

function paymentTermsOf(plan: Plan, clientTypeId: string | null): number {
  const type = clientTypeId === null ? undefined : plan.get(clientType, clientTypeId);
  return type?.defaultPaymentTermsDays ?? standardPaymentTerms;
}
