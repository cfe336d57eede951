import { isInMinorUnits } from '../contract/currency.ts';
import { isDecimal } from '../platform/decimal.ts';
import { invalidField } from './invalid-field.ts';

/**
 * Checks that new amounts are multiples of the minor unit of their currency. Stored amounts remain as they are.
 *
 * @throws Rejection for the first field whose amount has too many decimals
 */
export function checkMinorUnits(
  { values, previous }: { readonly values: object; readonly previous: object | undefined },
  currency: string,
  fields: readonly string[],
): void {
  const [after, before] = [new Map(Object.entries(values)), new Map(Object.entries(previous ?? {}))];
  for (const field of fields) {
    const [amount, stored] = [after.get(field), before.get(field)];
    if (!isDecimal(amount) || isInMinorUnits(amount, currency)) continue;
    const isStored = isDecimal(stored) && stored.eq(amount) && before.get('currency') === after.get('currency');
    if (!isStored) throw invalidField(field, wholeAmountOnly(currency));
  }
}

export function wholeAmountOnly(currency: string): string {
  return `${currency} has no decimals. Send a whole amount, such as 100.00.`;
}
