import { Rejection } from '../../contract/rejection.ts';
import type { Row } from '../../entity/row.ts';
import { type Decimal, parseDecimal, sum, zero } from '../../platform/decimal.ts';

/** A tax of a tax code, or of a line before its amount is calculated. */
export type Tax = Row<'TaxCode'>['taxes'][number];

/** A tax as a caller lists it. */
export type ListedTax = Pick<Tax, 'name' | 'ratePercent'> & {
  readonly [Name in 'category' | 'regionId']?: Tax[Name] | undefined;
};

/** The rate that taxes have together; undefined without taxes. */
export function rateOf(taxes: readonly Tax[]): Decimal | undefined {
  const [first, ...others] = taxes;
  // The rate of the only tax keeps its decimal places.
  return others.length === 0 ? first?.ratePercent : sum(taxes.map(({ ratePercent }) => ratePercent));
}

const hundred = parseDecimal('100');

/** @throws Rejection if a category contradicts its rate, or the rates are more than 100 percent together. */
export function completeTaxes(listed: readonly ListedTax[], pointer: string): readonly Tax[] {
  const taxes = listed.map(({ category = null, regionId = null, ...tax }): Tax => ({ ...tax, category, regionId }));
  for (const [index, { category, ratePercent }] of taxes.entries()) {
    if (category !== null && (category === 'S') !== ratePercent.gt(zero))
      throw new Rejection(
        'VALIDATION_ERROR',
        `The category ${category} requires ${category === 'S' ? 'a rate above 0' : 'the rate 0'}.`,
        `${pointer}/${index}/category`,
      );
  }
  if (rateOf(taxes)?.gt(hundred) !== true) return taxes;
  throw new Rejection(
    'VALIDATION_ERROR',
    'The rates of the taxes of a line are together at most 100 percent.',
    pointer,
  );
}
