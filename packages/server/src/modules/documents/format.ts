import { isInMinorUnits, placesOf } from '../../contract/currency.ts';
import { parseDecimal } from '../../platform/decimal.ts';

/** Formats an amount with its currency, such as `USD 1,250.00` or `JPY 1,250`: as decimal text, never as floating point. */
export function formatAmount(amount: string, currency: string, locale?: string): string {
  const places = isInMinorUnits(parseDecimal(amount), currency) ? placesOf(currency) : 2;
  return `${currency} ${formatNumber(amount, places, places, locale)}`;
}

/** Formats a number with at least and at most this many decimal places; by default, at most as many as it has. */
export function formatNumber(amount: string, places: number, most = places, locale = 'en-US'): string {
  const format = new Intl.NumberFormat(locale, { minimumFractionDigits: places, maximumFractionDigits: most });
  return format.format(amount as Intl.StringNumericLiteral);
}

/** Formats a day, such as September 8, 2026. */
export function formatDay(day: string, locale = 'en-US'): string {
  return Temporal.PlainDate.from(day).toLocaleString(locale, { dateStyle: 'long' });
}

/** Formats a period of days, such as September 1 – 30, 2026; a day where one is null or both are the same. */
export function formatPeriod(start: string | null, end: string | null, locale: string): string | null {
  const [first, last] = [start ?? end, end ?? start];
  if (first === null || last === null) return null;
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' });
  return format.formatRange(new Date(first), new Date(last));
}

/** Formats an instant in a time zone, such as September 8, 2026 at 2:12 PM PDT. */
export function formatInstant(instant: string, timeZone: string): string {
  const zoned = Temporal.Instant.from(instant).toZonedDateTimeISO(timeZone);
  const time = zoned.toLocaleString('en-US', { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' });
  return `${formatDay(zoned.toPlainDate().toString())} at ${time}`;
}

/** Returns text without characters that file names cannot contain. */
export function fileNamePart(text: string): string {
  return text.replaceAll(/[\\/:*?"<>|\p{Cc}]/gu, '-');
}

/** A postal address as it is stored. */
export interface StoredAddress {
  readonly line1: string | null;
  readonly line2: string | null;
  readonly city: string | null;
  readonly state: string | null;
  readonly postalCode: string | null;
  readonly country: string | null;
}

/** Where a postal code follows the city and the state. */
const postalCodeLast: ReadonlySet<string | null> = new Set([null, 'US', 'CA', 'AU', 'NZ', 'GB', 'IE', 'IN', 'JP']);

/** The lines of an address in a document. The country is in the language of the document. */
export function addressLines(address: StoredAddress | null, language = 'en'): readonly string[] {
  if (address === null) return [];
  const { line1, line2, city, state, postalCode, country } = address;
  const named = postalCodeLast.has(country)
    ? [city, [state, postalCode].filter((part) => part !== null).join(' ')]
    : [[postalCode, city].filter((part) => part !== null).join(' '), state];
  const locality = named.filter((part) => part);
  const nation = country === null ? null : new Intl.DisplayNames(language, { type: 'region' }).of(country);
  return [line1, line2, locality.join(', '), nation].flatMap((line) => line || []);
}
