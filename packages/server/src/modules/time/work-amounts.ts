import { type Arithmetic, decimals } from '../../platform/arithmetic.ts';
import type { Decimal } from '../../platform/decimal.ts';

/** The value of time at a rate. */
export function workAmount<A, T>(
  { times, round }: Arithmetic<A, T>,
  { hours, billingRate }: { readonly hours: A; readonly billingRate: A },
): A {
  return round(times(hours, billingRate));
}

interface Work<Amount, Text> {
  readonly status: Text;
  readonly amount: Amount;
  readonly writeUpAmount: Amount;
  readonly writeOffAmount: Amount;
  readonly billedAmount: Amount;
}

/** The amount of work in progress that is neither billed nor written off. */
export function outstanding<A, T>(
  { when, plus, minus, zero }: Arithmetic<A, T>,
  { status, amount, writeUpAmount, writeOffAmount, billedAmount }: Work<A, T>,
): A {
  return when(status, ['REVERSED'], zero, minus(plus(amount, writeUpAmount), writeOffAmount, billedAmount));
}

/** The same of a row. The column of the same name is only updated when the row is stored. */
export function outstandingOf(row: Work<Decimal, string>): Decimal {
  return outstanding(decimals(), row);
}
