import { Rejection } from '../../../contract/rejection.ts';
import { invalidField } from '../../../entity/invalid-field.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { type Decimal, zero } from '../../../platform/decimal.ts';
import { engagement } from '../../engagements/index.ts';
import { job } from '../../projects/index.ts';
import { completeTaxes, type ListedTax, org, rateOf, type Tax, taxCode, taxRegion } from '../../reference/index.ts';
import { calculateLines, type Pricing } from '../rules/document.ts';
import { isFee } from '../rules/job-amounts.ts';

/** A line of a draft invoice or an invoice. */
export type InvoiceLine = Row<'Invoice'>['lines'][number];

/** A line from a caller: fields that the service fills in may be missing. */
type LineInput = Omit<
  InvoiceLine,
  'id' | 'unitCode' | 'taxable' | 'taxRatePercent' | 'taxes' | 'relief' | 'amount' | 'taxAmount'
> & {
  readonly id?: string | undefined;
  readonly unitCode?: InvoiceLine['unitCode'] | undefined;
  readonly taxable?: boolean | undefined;
  readonly taxRatePercent?: Decimal | undefined;
  readonly taxes?: readonly ListedTax[] | undefined;
  readonly relief?: InvoiceLine['relief'] | undefined;
};

/** What the lines of a document have in common. */
export interface LineDefaults extends Pricing {
  readonly taxExemptReason: string | null;
}

/** @throws Rejection if a document names a job or an engagement of another client than its own */
export function checkSameClient(
  plan: Plan,
  clientId: string,
  {
    jobIds = [],
    engagementId,
  }: { readonly jobIds?: readonly string[] | undefined; readonly engagementId?: string | null | undefined },
): void {
  plan.each(jobIds, (id, index) => {
    if (plan.get(job, id)?.clientId !== clientId)
      throw new Rejection('VALIDATION_ERROR', 'The job belongs to another client.', `/jobIds/${index}`);
  });
  if (engagementId != null && plan.get(engagement, engagementId)?.clientId !== clientId)
    throw invalidField('engagementId', 'The engagement belongs to another client.');
}

/**
 * Completes lines with their IDs, units, taxes, relief and amounts. A line without an ID keeps that of the line at the same
 * position, and one without a unit, taxes or relief keeps its own, so that sending the same lines again changes nothing.
 *
 * @param previous the current lines of the document.
 * @throws Rejection if a line violates a rule, with a pointer relative to the lines.
 */
export function completeLines(
  plan: Plan,
  owner: Row<'Client'> | undefined,
  document: LineDefaults & { readonly lines: readonly LineInput[] },
  previous: readonly InvoiceLine[],
): InvoiceLine[] {
  const { lines } = document;
  const known = new Set(previous.map(({ id }) => id));
  const named = new Set<string>();
  const billed = new Set<string>();
  for (const [index, { id, wipIds }] of lines.entries()) {
    if (id !== undefined && !known.has(id))
      throw invalidLine(index, 'id', 'The document has no line with this ID. Omit it to add a line.');
    if (id !== undefined && named.has(id)) throw invalidLine(index, 'id', 'Another line of the request has this ID.');
    if (id !== undefined) named.add(id);
    for (const [position, wipId] of wipIds.entries()) {
      if (billed.has(wipId))
        throw invalidLine(
          index,
          `wipIds/${position}`,
          'Two lines of one document cannot bill the same work in progress.',
        );
      billed.add(wipId);
    }
  }
  const idAt = (index: number): string => {
    const id = previous[index]?.id;
    return id === undefined || named.has(id) ? plan.newId() : id;
  };
  const completed = plan.each(lines, (line, index) => {
    if (line.jobId !== null && owner !== undefined && plan.get(job, line.jobId)?.clientId !== owner.id)
      throw invalidLine(index, 'jobId', 'The job belongs to another client.');
    const id = line.id ?? idAt(index);
    const before = previous.find((one) => one.id === id);
    const { taxes, taxCodeId } = taxesOf(plan, {
      owner,
      index,
      line,
      before,
      isExempt: document.taxExemptReason !== null,
    });
    const untaxedRate = line.taxRatePercent ?? (before?.taxable === false ? before.taxRatePercent : zero);
    const taxRatePercent = rateOf(taxes) ?? untaxedRate;
    const kept = before?.lineType === line.lineType ? before : undefined;
    const relief = line.relief ?? kept?.relief ?? (isFee(line) ? 'PART' : 'FULL');
    const unitCode = line.unitCode ?? kept?.unitCode ?? (line.lineType === 'TIME' ? 'HUR' : 'C62');
    return { ...line, id, unitCode, taxable: taxes.length > 0, taxRatePercent, taxes, taxCodeId, relief };
  });
  return calculateLines(completed, document);
}

/**
 * @throws Rejection if a line has a sign that its type does not allow. Lines that bill work in progress can have either.
 */
export function checkSigns(lines: readonly InvoiceLine[]): void {
  for (const [index, { lineType, amount, wipIds }] of lines.entries()) {
    if (lineType === 'DISCOUNT' ? amount.gt(zero) : amount.lt(zero) && wipIds.length === 0)
      throw invalidLine(
        index,
        'unitAmount',
        lineType === 'DISCOUNT'
          ? 'A discount must not be positive.'
          : 'Only a discount, or a line that bills negative work in progress, can be negative.',
      );
  }
}

export function invalidLine(index: number, pointer: string, detail: string): Rejection {
  return new Rejection('VALIDATION_ERROR', detail, `/lines/${index}/${pointer}`);
}

interface TaxedInput {
  readonly owner: Row<'Client'> | undefined;
  readonly index: number;
  readonly line: LineInput;
  readonly before: InvoiceLine | undefined;
  readonly isExempt: boolean;
}

/** The taxes of a line: those that the caller lists, those of its tax code, those that it has, or those that its short form means. */
function taxesOf(plan: Plan, { owner, index, line, before, isExempt }: TaxedInput) {
  const { taxable, taxRatePercent, taxCodeId } = line;
  const named = line.taxes ?? codeTaxes(plan, taxCodeId === before?.taxCodeId ? null : taxCodeId, isExempt);
  if (named !== undefined) {
    const taxes = completeTaxes(named, `/lines/${index}/taxes`);
    const rate = rateOf(taxes);
    if (taxable !== undefined && taxable !== taxes.length > 0)
      throw invalidLine(index, 'taxable', 'taxable and taxes disagree. Send one of them.');
    if (rate !== undefined && taxRatePercent?.eq(rate) === false)
      throw invalidLine(
        index,
        'taxRatePercent',
        'taxRatePercent is not the sum of the rates of taxes. Send one of them.',
      );
    return { taxes, taxCodeId };
  }
  const isTaxed = taxable ?? before?.taxable ?? false;
  if (before?.taxable === isTaxed && taxRatePercent?.eq(before.taxRatePercent) !== false)
    return { taxes: before.taxes.map(({ amount: _, ...tax }): Tax => tax), taxCodeId };
  if (!isTaxed) return { taxes: [], taxCodeId };
  const ofClient = taxRatePercent === undefined ? (owner?.taxCodeId ?? null) : null;
  const taxes = codeTaxes(plan, ofClient, isExempt) ?? [regionTax(plan, owner, taxRatePercent, isExempt)];
  return { taxes, taxCodeId: ofClient ?? taxCodeId };
}

function codeTaxes(plan: Plan, id: string | null, isExempt: boolean): readonly Tax[] | undefined {
  const taxes = id === null ? undefined : plan.get(taxCode, id)?.taxes;
  return isExempt ? taxes?.map(exempt) : taxes;
}

/** The one tax of the short form of a line. */
function regionTax(plan: Plan, owner: Row<'Client'> | undefined, rate: Decimal | undefined, isExempt: boolean): Tax {
  const region = owner?.taxRegionId == null ? undefined : plan.get(taxRegion, owner.taxRegionId);
  const ratePercent = rate ?? region?.ratePercent ?? zero;
  const tax = { name: region?.name ?? 'Tax', ratePercent, category: null, regionId: region?.id ?? null };
  return isExempt && rate === undefined ? exempt(tax) : tax;
}

function exempt(tax: Tax): Tax {
  return { ...tax, ratePercent: zero, category: 'E' };
}

/** The reason why new documents of a client are exempt from tax, or null. */
export function taxExemptReasonOf(plan: Plan, { taxExemptReason, taxRegionId }: Row<'Client'>): string | null {
  return taxExemptReason ?? (taxRegionId === null ? null : (plan.get(taxRegion, taxRegionId)?.taxExemptReason ?? null));
}

/** Where the tax of new documents of a client is rounded. */
export function taxRoundingOf(plan: Plan, owner: Row<'Client'>): Pricing['taxRounding'] {
  return plan.get(org, owner.orgId)?.taxRounding ?? 'LINE';
}
