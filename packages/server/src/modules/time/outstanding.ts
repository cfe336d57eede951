import type { Decimal } from '../../platform/decimal.ts';

/**
 * The amount that is neither billed nor written off. The column of the same name is only updated when the row is stored.
 */
export function outstandingOf(row: {
  readonly amount: Decimal;
  readonly writeUpAmount: Decimal;
  readonly writeOffAmount: Decimal;
  readonly billedAmount: Decimal;
}): Decimal {
  return row.amount.plus(row.writeUpAmount).minus(row.writeOffAmount).minus(row.billedAmount);
}
