import { sql } from 'kysely';
import type { AnyEntity } from '../../../entity/entity.ts';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { counterOf, formatNumber, periodOf } from './document-series.ts';

type Series = Pick<Row<'DocumentSeries'>, 'id' | 'documentType' | 'officeId' | 'pattern' | 'restarts'> & {
  readonly firstNumber: number;
  readonly firstPeriod: string;
};

interface NumberedOrg {
  readonly code: string;
  readonly isFirst: boolean;
  readonly series: readonly Series[];
}

/** Orgs by ID, with their active series, and which of them is the tenant's first. */
const numberedOrgs: Lookup<NumberedOrg> = {
  name: 'orgs that number invoices',
  async load(transaction, tenantId, ids) {
    const rows = await transaction.all<NumberedOrg & { readonly id: string }>(sql`
      select id, code, id = (select min(id::text)::uuid from org where tenant_id = ${tenantId}) as "isFirst", coalesce((
        select json_agg(json_build_object('id', s.id, 'documentType', s.document_type, 'officeId', s.office_id, 'pattern', s.pattern,
          'restarts', s.restarts, 'firstNumber', s.first_number, 'firstPeriod', s.first_period))
        from document_series s where s.tenant_id = org.tenant_id and s.org_id = org.id and s.active), '[]') as series
      from org where tenant_id = ${tenantId} and id = any(${ids})`);
    return new Map(rows.map((row) => [row.id, row]));
  },
};

/** The counter of a type of document, and the start of its numbers. */
const numbers = {
  INVOICE: { counter: 'invoice.invoice_number', start: 'INV' },
  CREDIT_NOTE: { counter: 'invoice.credit_note_number', start: 'CN' },
} as const;

type Numbered = Pick<Row<'Invoice'>, 'documentType' | 'invoiceDate' | 'orgId'>;

/**
 * Returns the next number of a document: of the series for the office of its client, of that for all offices, or the standard one of
 * the org and year, such as `INV-2026-00412`. Numbers have no gaps and are never reused. Standard numbers of orgs other than the
 * tenant's first include the org's code (`INV-UK-2026-00007`).
 */
export function nextInvoiceNumber(plan: Plan, entity: AnyEntity, bill: Numbered, officeId: string | null): string {
  const org = plan.lookup(numberedOrgs, bill.orgId);
  const ofType = org?.series.filter(({ documentType }) => documentType === bill.documentType) ?? [];
  const series =
    ofType.find((one) => one.officeId !== null && one.officeId === officeId) ??
    ofType.find((one) => one.officeId === null);
  return plan.nextReference({
    ...(series === undefined ? standardNumber(bill, org) : numberOf(series, bill)),
    entity,
    fields: ['invoiceNumber'],
    within: ['orgId', bill.orgId],
    isGapless: true,
  });
}

function numberOf(series: Series, { invoiceDate }: Numbered) {
  const period = periodOf(series, invoiceDate);
  return {
    counter: counterOf(series, period),
    first: series.firstPeriod === period ? series.firstNumber : 1,
    format: (number: number) => formatNumber(series, invoiceDate, number),
  };
}

function standardNumber({ documentType, invoiceDate, orgId }: Numbered, org: NumberedOrg | undefined) {
  const { counter, start } = numbers[documentType];
  const year = invoiceDate.slice(0, 4);
  const prefix = org === undefined || org.isFirst ? start : `${start}-${org.code}`;
  return {
    counter: `${counter}.${orgId}.${year}`,
    format: (number: number) => `${prefix}-${year}-${String(number).padStart(5, '0')}`,
  };
}
