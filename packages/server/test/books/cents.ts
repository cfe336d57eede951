import { type Decimal, parseDecimal } from '../../src/platform/decimal.ts';

/** Money as whole cents: the model only calculates with integers. */
export type Cents = bigint;

/** Converts a decimal text to an integer in units of its last place. */
export function scaled(text: string, places: number): bigint {
  const isNegative = text.startsWith('-');
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  if (fraction.length > places) throw new Error(`${text} has more than ${places} places.`);
  const value = BigInt(whole + fraction.padEnd(places, '0'));
  return isNegative ? -value : value;
}

export function cents(text: string): Cents {
  return scaled(text, 2);
}

/** Converts such an integer to decimal text. */
export function unscaled(value: bigint, places: number): string {
  const digits = String(value < 0n ? -value : value).padStart(places + 1, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

export function money(value: Cents): string {
  return unscaled(value, 2);
}

/** Amounts for a rule of the service, and its result. */
export function decimalOf(value: Cents): Decimal {
  return parseDecimal(money(value));
}

export function centsOf(value: Decimal): Cents {
  return cents(value.toFixed(2));
}

/** Returns the quotient, rounded half away from zero. */
export function divideHalfUp(value: bigint, by: bigint): bigint {
  const isNegative = value < 0n !== by < 0n;
  const [dividend, divisor] = [value < 0n ? -value : value, by < 0n ? -by : by];
  const quotient = (2n * dividend + divisor) / (2n * divisor);
  return isNegative ? -quotient : quotient;
}

/** The minor unit of a currency of walks, in hundredths: amounts in it are multiples of that. */
export function unitOf(currency: string): Cents {
  return currency === 'JPY' ? 100n : 1n;
}

/** Returns the quotient as a multiple of a unit, rounded half away from zero. */
export function divideToUnits(value: bigint, by: bigint, unit: Cents): Cents {
  return divideHalfUp(value, by * unit) * unit;
}

/** Half of an amount, in whole units of a currency; less where that is not possible. */
export function halfOf(amount: Cents, currency: string): Cents {
  const unit = unitOf(currency);
  return (amount / 2n / unit) * unit;
}

export function total(values: Iterable<bigint>): bigint {
  let result = 0n;
  for (const value of values) result += value;
  return result;
}
