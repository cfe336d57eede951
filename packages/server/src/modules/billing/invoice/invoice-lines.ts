import { Rejection } from '../../../contract/rejection.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { type Decimal, parseDecimal, sum, zero } from '../../../platform/decimal.ts';
import { job } from '../../projects/index.ts';
import { org, taxRegion } from '../../reference/index.ts';
import { calculateLines, type Pricing, type Tax } from '../rules/document.ts';
import { isFee } from '../rules/job-amounts.ts';

/** A line of a draft invoice or an invoice. */
export type InvoiceLine = Row<'Invoice'>['lines'][number];

/** A line from a caller: fields that the service fills in may be missing. */
type LineInput = Omit<
  InvoiceLine,
  'id' | 'taxable' | 'taxRatePercent' | 'taxes' | 'relief' | 'amount' | 'taxAmount'
> & {
  readonly id?: string | undefined;
  readonly taxable?: boolean | undefined;
  readonly taxRatePercent?: Decimal | undefined;
  readonly taxes?: readonly TaxInput[] | undefined;
  readonly relief?: InvoiceLine['relief'] | undefined;
};

type TaxInput = Pick<Tax, 'name' | 'ratePercent'> & {
  readonly [Name in 'category' | 'regionId']?: Tax[Name] | undefined;
};

/**
 * Completes lines with their IDs, taxes, relief and amounts. A line without an ID keeps that of the line at the same
 * position, and one without taxes or relief keeps its own, so that sending the same lines again changes nothing.
 *
 * @param previous the current lines of the document.
 * @throws Rejection if a line violates a rule, with a pointer relative to the lines.
 */
export function completeLines(
  plan: Plan,
  owner: Row<'Client'> | undefined,
  document: Pricing & { readonly lines: readonly LineInput[] },
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
  const completed = lines.map((line, index) => {
    if (line.jobId !== null && owner !== undefined && plan.get(job, line.jobId)?.clientId !== owner.id)
      throw invalidLine(index, 'jobId', 'The job belongs to another client.');
    const id = line.id ?? idAt(index);
    const before = previous.find((one) => one.id === id);
    const taxes = taxesOf(plan, owner, index, line, before);
    const untaxedRate = line.taxRatePercent ?? (before?.taxable === false ? before.taxRatePercent : zero);
    const taxRatePercent = rateOf(taxes) ?? untaxedRate;
    const relief =
      line.relief ??
      (before?.lineType === line.lineType ? before.relief : undefined) ??
      (isFee(line) ? 'PART' : 'FULL');
    return { ...line, id, taxable: taxes.length > 0, taxRatePercent, taxes, relief };
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
    if ((lineType === 'DISCOUNT' || lineType === 'INTEREST') && wipIds.length > 0)
      throw invalidLine(index, 'wipIds', `A ${lineType} line cannot bill work in progress. Send an empty list.`);
  }
}

export function invalidLine(index: number, pointer: string, detail: string): Rejection {
  return new Rejection('VALIDATION_ERROR', detail, `/lines/${index}/${pointer}`);
}

/** The rate that the taxes of a line have together; undefined without taxes. */
function rateOf(taxes: readonly Tax[]): Decimal | undefined {
  const [first, ...others] = taxes;
  // The rate of the only tax keeps its decimal places.
  return others.length === 0 ? first?.ratePercent : sum(taxes.map(({ ratePercent }) => ratePercent));
}

const hundred = parseDecimal('100');

/** The taxes of a line: those that the caller lists, those that it has, or the one of its short form. */
function taxesOf(
  plan: Plan,
  owner: Row<'Client'> | undefined,
  index: number,
  { taxes, taxable, taxRatePercent }: LineInput,
  before: InvoiceLine | undefined,
): readonly Tax[] {
  if (taxes !== undefined) {
    const listed = taxes.map(({ category = null, regionId = null, ...tax }): Tax => ({ ...tax, category, regionId }));
    const rate = rateOf(listed);
    if (rate?.gt(hundred) === true)
      throw invalidLine(index, 'taxes', 'The rates of the taxes of a line are together at most 100 percent.');
    if (taxable !== undefined && taxable !== listed.length > 0)
      throw invalidLine(index, 'taxable', 'taxable and taxes disagree. Send one of them.');
    if (rate !== undefined && taxRatePercent?.eq(rate) === false)
      throw invalidLine(
        index,
        'taxRatePercent',
        'taxRatePercent is not the sum of the rates of taxes. Send one of them.',
      );
    return listed;
  }
  const isTaxed = taxable ?? before?.taxable ?? false;
  if (before?.taxable === isTaxed && taxRatePercent?.eq(before.taxRatePercent) !== false)
    return before.taxes.map(({ amount: _, ...tax }) => tax);
  if (!isTaxed) return [];
  const region = owner?.taxRegionId == null ? undefined : plan.get(taxRegion, owner.taxRegionId);
  const ratePercent = taxRatePercent ?? region?.ratePercent ?? zero;
  return [{ name: region?.name ?? 'Tax', ratePercent, category: null, regionId: region?.id ?? null }];
}

/** Where the tax of new documents of a client is rounded. */
export function taxRoundingOf(plan: Plan, owner: Row<'Client'>): Pricing['taxRounding'] {
  return plan.get(org, owner.orgId)?.taxRounding ?? 'LINE';
}
