import { sql } from 'kysely';
import type { AnyEntity } from '../../../entity/entity.ts';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';

interface NumberedOrg {
  readonly code: string;
  readonly isFirst: boolean;
}

/** Orgs by ID, and which of them is the tenant's first. */
const numberedOrgs: Lookup<NumberedOrg> = {
  name: 'orgs that number invoices',
  async load(transaction, tenantId, ids) {
    const rows = await transaction.all<NumberedOrg & { readonly id: string }>(sql`
      select id, code, id = (select min(id::text)::uuid from org where tenant_id = ${tenantId}) as "isFirst"
      from org where tenant_id = ${tenantId} and id = any(${ids})`);
    return new Map(rows.map((row) => [row.id, row]));
  },
};

/** The counter of a type of document, and the start of its numbers. */
const numbers = {
  INVOICE: { counter: 'invoice.invoice_number', start: 'INV' },
  CREDIT_NOTE: { counter: 'invoice.credit_note_number', start: 'CN' },
} as const;

/**
 * Returns the next number of a type of document, an org and a year, such as `INV-2026-00412`. Numbers have no gaps and are never
 * reused. Numbers of orgs other than the tenant's first include the org's code (`INV-UK-2026-00007`), so that they are
 * unique within the tenant.
 */
export function nextInvoiceNumber(
  plan: Plan,
  entity: AnyEntity,
  orgId: string,
  { documentType, invoiceDate }: Pick<Row<'Invoice'>, 'documentType' | 'invoiceDate'>,
): string {
  const { counter, start } = numbers[documentType];
  const year = invoiceDate.slice(0, 4);
  const org = plan.lookup(numberedOrgs, orgId);
  const prefix = org === undefined || org.isFirst ? start : `${start}-${org.code}`;
  return plan.nextReference({
    counter: `${counter}.${orgId}.${year}`,
    entity,
    fields: ['invoiceNumber'],
    isGapless: true,
    format: (number) => `${prefix}-${year}-${String(number).padStart(5, '0')}`,
  });
}
