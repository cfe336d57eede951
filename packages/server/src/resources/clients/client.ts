import { sql } from 'kysely';
import { defineEntity, type Entity, many, one } from '../../entity/entity.ts';
import type { Draft } from '../../entity/rules.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { invalidField, Violation } from '../../entity/violation.ts';
import type { Row } from '../../query/read.ts';
import { contactClient } from '../contacts/contact-client.ts';
import { job } from '../projects/job.ts';
import { staff } from '../staff/staff.ts';
import { clientGroup } from './client-group.ts';

/** Days after the invoice, where neither the client nor its type says otherwise. */
const standardPaymentTerms = 30;

/** A party that the firm works for. */
export const client: Entity = defineEntity({
  type: 'Client',
  table: 'client',
  relations: {
    contactClients: many(() => contactClient, 'clientId'),
    partner: one(() => staff, 'partnerId'),
    manager: one(() => staff, 'managerId'),
    jobs: many(() => job, 'clientId'),
  },
  rules: {
    complete,
    beforeRemoval: (_unit, _draft, row) => {
      if (!isSettled(row)) {
        throw new Violation(
          'INVALID_STATE',
          'The client has receivables or work in progress. Bill and collect these first.',
        );
      }
    },
    shownIn: ({ previous, values }) => groupsThatCount(previous, values),
    constraints: {
      client_status_settled: {
        code: 'INVALID_STATE',
        field: 'status',
        detail: 'A client with receivables or work in progress cannot be archived.',
      },
      client_pms_ref_same: {
        code: 'VALIDATION_ERROR',
        field: 'pmsRef',
        detail: 'clientRef and pmsRef hold the same value.',
      },
    },
  },
});

async function complete(unit: UnitOfWork, draft: Draft): Promise<void> {
  await completeReference(unit, draft);
  sealTaxId(unit, draft);
  const { values, previous } = draft;
  if (previous !== undefined) return;
  values.orgId ??= await onlyOrg(unit);
  values.currency ??= await currencyOf(unit, values.orgId);
  values.paymentTermsDays ??= (await termsOf(unit, values.clientTypeId)) ?? standardPaymentTerms;
}

/** `clientRef` and `pmsRef` are two names of one value; a new client without either gets the next number. */
async function completeReference(unit: UnitOfWork, { values, given, previous }: Draft): Promise<void> {
  if ('clientRef' in given && 'pmsRef' in given && values.clientRef !== values.pmsRef) {
    throw invalidField('pmsRef', 'clientRef and pmsRef hold the same value; give one of them, or the same in both.');
  }
  const reference = 'clientRef' in given ? values.clientRef : 'pmsRef' in given ? values.pmsRef : previous?.clientRef;
  values.clientRef =
    reference ?? (await unit.freeReference('client', 'client_ref', (number) => `C-${String(number).padStart(5, '0')}`));
  values.pmsRef = values.clientRef;
}

/** The tax id is kept encrypted; answers show its last four characters. */
function sealTaxId(unit: UnitOfWork, { given, hidden }: Draft): void {
  if (!('taxId' in given)) return;
  const { taxId } = given;
  hidden.tax_id_encrypted = typeof taxId === 'string' ? unit.origin.vault.encrypt('tax-id', taxId) : null;
  hidden.tax_id_last4 = typeof taxId === 'string' ? taxId.slice(-4) : null;
}

async function onlyOrg(unit: UnitOfWork): Promise<string> {
  const orgs = await unit.transaction.all<{ id: string }>(sql`
    select id from org where tenant_id = ${unit.tenantId} and active limit 2`);
  const [org, another] = orgs;
  if (org === undefined)
    throw invalidField('orgId', 'The tenant has no org yet. Write one as a record of the type Org first.');
  if (another !== undefined)
    throw invalidField('orgId', 'The tenant has several orgs: say which one bills the client.');
  return org.id;
}

async function currencyOf(unit: UnitOfWork, orgId: unknown): Promise<string | undefined> {
  const org = await unit.transaction.first<{ currency: string }>(sql`
    select currency from org where tenant_id = ${unit.tenantId} and id = ${orgId}`);
  return org?.currency;
}

async function termsOf(unit: UnitOfWork, clientTypeId: unknown): Promise<number | null | undefined> {
  if (clientTypeId === null) return undefined;
  const type = await unit.transaction.first<{ days: number | null }>(sql`
    select default_payment_terms_days as days from client_type where tenant_id = ${unit.tenantId} and id = ${clientTypeId}`);
  return type?.days;
}

function isSettled(row: Row): boolean {
  return row.outstandingBalance === '0.00' && row.unbilledWip === '0.00';
}

/** Groups count their members, so a client that joins, leaves, goes or comes back changes them. */
function groupsThatCount(previous: Row | undefined, values: Draft['values']) {
  const ids = new Set([previous?.clientGroupId, values.clientGroupId]);
  const stays =
    previous?.clientGroupId === values.clientGroupId && previous?.active === true && values.active === undefined;
  if (stays) return [];
  return [...ids].filter((id) => typeof id === 'string').map((id) => ({ entity: clientGroup, id }));
}
