import type { components } from '@financial-automation/spec';
import { LRUCache } from 'lru-cache';
import { isInMinorUnits, placesOf } from '../../contract/currency.ts';
import { parseDecimal } from '../../platform/decimal.ts';

/** A language of documents. */
export type Language = components['schemas']['DocumentLanguage'];

/** How documents and mails to a client write numbers and days: in its language, as in its country, otherwise as in that of the firm. */
export function localeOf(
  language: Language,
  clientCountry: string | null | undefined,
  firmCountry?: string | null,
): string {
  return `${language}-${clientCountry ?? firmCountry ?? 'US'}`;
}

/** What the foot of each page says. */
export const pageTexts: Readonly<Record<Language, string>> = {
  en: 'Page {page} of {pages}',
  de: 'Seite {page} von {pages}',
  fr: 'Page {page} sur {pages}',
  es: 'Página {page} de {pages}',
};

/** Countries of paper in inches. */
const letterCountries: ReadonlySet<string> = new Set(['US', 'CA', 'MX']);

export function paperIn(country: string): 'LETTER' | 'A4' {
  return letterCountries.has(country) ? 'LETTER' : 'A4';
}

/** Formats an amount with its currency, such as `USD 1,250.00` or `JPY 1,250`: as decimal text, never as floating point. */
export function formatAmount(amount: string, currency: string, locale?: string): string {
  const places = isInMinorUnits(parseDecimal(amount), currency) ? placesOf(currency) : 2;
  return `${currency} ${formatNumber(amount, places, places, locale)}`;
}

/** Formats a number with at least and at most this many decimal places; by default, at most as many as it has. */
export function formatNumber(amount: string, places: number, most = places, locale = 'en-US'): string {
  const key = `${locale} ${places} ${most}`;
  const known = numberFormats.get(key);
  const format = known ?? new Intl.NumberFormat(locale, { minimumFractionDigits: places, maximumFractionDigits: most });
  if (known === undefined) numberFormats.set(key, format);
  return format.format(amount as Intl.StringNumericLiteral);
}

/** Formats by locale and places: to make one takes as long as to format about 25 numbers. */
const numberFormats = new LRUCache<string, Intl.NumberFormat>({ max: 100 });

/** Formats a rate in percent, such as 19% or, in German, 19 %. */
export function formatPercent(rate: string, locale: string): string {
  const format = new Intl.NumberFormat(locale, { style: 'unit', unit: 'percent', maximumFractionDigits: 4 });
  return format.format(rate as Intl.StringNumericLiteral);
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
export function formatInstant(instant: string, timeZone: string, locale: string): string {
  const zoned = Temporal.Instant.from(instant).toZonedDateTimeISO(timeZone);
  const day = { year: 'numeric', month: 'long', day: 'numeric' } as const;
  return zoned.toLocaleString(locale, { ...day, hour: 'numeric', minute: '2-digit', timeZoneName: 'short' });
}

/** Returns text without characters that file names cannot contain. */
export function fileNamePart(text: string): string {
  return text.replaceAll(/[\\/:*?"<>|\p{Cc}]/gu, '-');
}
