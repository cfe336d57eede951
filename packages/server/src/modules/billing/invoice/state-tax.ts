import { Rejection } from '../../../contract/rejection.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { type Decimal, sum, zero } from '../../../platform/decimal.ts';
import { inProportion, isNear, withTax } from '../rules/stated-tax.ts';

/**
 * Gives the lines of an import the tax that its source has, and says whether it differs from the calculated one.
 *
 * @throws Rejection if it differs by more than 0.01 per line, and the import does not say that it is as stated.
 */
export function stateTax({ values, input }: PendingChange<'Invoice'>): void {
  const isConfirmed = input.taxAsStated === true;
  const check = (stated: Decimal, calculated: Decimal, lines: number, pointer: string) => {
    if (lines === 0 && !stated.eq(zero))
      throw new Rejection('VALIDATION_ERROR', 'A tax requires a line with taxes.', pointer);
    if (isConfirmed || isNear(stated, calculated, lines)) return;
    const detail = `The tax of ${stated.toFixed(2)} is not ${calculated.toFixed(2)}, as calculated. Send taxAsStated: true to import it.`;
    throw new Rejection('VALIDATION_ERROR', detail, pointer);
  };
  let lines = values.lines.map((line, index) => {
    const stated = input.lines?.[index]?.taxAmount;
    if (stated === undefined) return line;
    check(stated, line.taxAmount, Math.min(line.taxes.length, 1), `/lines/${index}/taxAmount`);
    return withTax(line, stated, values);
  });
  const { taxTotal } = input;
  if (taxTotal !== undefined) {
    const taxed = lines.filter(({ taxes }) => taxes.length > 0);
    check(taxTotal, sum(taxed.map(({ taxAmount }) => taxAmount)), taxed.length, '/taxTotal');
    const shares = inProportion(
      taxTotal,
      taxed.map(({ taxAmount }) => taxAmount),
      values.currency,
    );
    const ofLine = new Map(taxed.map((line, index) => [line, shares[index] ?? zero]));
    lines = lines.map((line) => withTax(line, ofLine.get(line) ?? zero, values));
  }
  values.taxAsStated = lines.some(({ taxAmount }, index) => values.lines[index]?.taxAmount.eq(taxAmount) === false);
  values.lines = lines;
}
