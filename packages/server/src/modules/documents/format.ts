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
  const places = placesToShow(amount, currency);
  return `${currency} ${formatNumber(amount, places, places, locale)}`;
}

/** Formats an amount on pages, in the format of the United States: $1,250.00. */
export function formatMoney(amount: string, currency: string): string {
  const places = placesToShow(amount, currency);
  const decimals = { minimumFractionDigits: places, maximumFractionDigits: places };
  return numberFormat('en-US', { style: 'currency', currency, ...decimals }).format(
    amount as Intl.StringNumericLiteral,
  );
}

/** `Intl` has other decimals for some currencies than ISO 4217, and would round the amount. */
function placesToShow(amount: string, currency: string): number {
  return isInMinorUnits(parseDecimal(amount), currency) ? placesOf(currency) : 2;
}

/** Formats a number with at least and at most this many decimal places; by default, at most as many as it has. */
export function formatNumber(amount: string, places: number, most = places, locale = 'en-US'): string {
  const decimals = { minimumFractionDigits: places, maximumFractionDigits: most };
  return numberFormat(locale, decimals).format(amount as Intl.StringNumericLiteral);
}

/** Formats a rate in percent, such as 19% or, in German, 19 %. */
export function formatPercent(rate: string, locale: string): string {
  const percent = { style: 'unit', unit: 'percent', maximumFractionDigits: 4 } as const;
  return numberFormat(locale, percent).format(rate as Intl.StringNumericLiteral);
}

/** Formats a day, such as September 8, 2026, or as `medium`, Sep 8, 2026. */
export function formatDay(day: string, locale = 'en-US', dateStyle: 'long' | 'medium' = 'long'): string {
  return timeFormat(locale, { dateStyle, timeZone: 'UTC' }).format(new Date(day));
}

/** Formats a period of days, such as September 1 – 30, 2026; a day where one is null or both are the same. */
export function formatPeriod(start: string | null, end: string | null, locale: string): string | null {
  const [first, last] = [start ?? end, end ?? start];
  if (first === null || last === null) return null;
  return timeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).formatRange(new Date(first), new Date(last));
}

/** Formats an instant in a time zone, such as September 8, 2026 at 2:12 PM PDT. */
export function formatInstant(instant: string, timeZone: string, locale: string): string {
  const day = { year: 'numeric', month: 'long', day: 'numeric' } as const;
  const time = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short', timeZone } as const;
  return timeFormat(locale, { ...day, ...time }).format(new Date(instant));
}

const numberFormats = new LRUCache<string, Intl.NumberFormat>({ max: 100 });
const timeFormats = new LRUCache<string, Intl.DateTimeFormat>({ max: 500 });

/** Returns a format that is kept: to create one takes as long as to format about 25 numbers. */
function numberFormat(locale: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify([locale, options]);
  const format = numberFormats.get(key) ?? new Intl.NumberFormat(locale, options);
  numberFormats.set(key, format);
  return format;
}

/** Returns a format of times that is kept, too. */
export function timeFormat(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([locale, options]);
  const format = timeFormats.get(key) ?? new Intl.DateTimeFormat(locale, options);
  timeFormats.set(key, format);
  return format;
}

/** Returns text without characters that file names cannot contain. */
export function fileNamePart(text: string): string {
  return text.replaceAll(/[\\/:*?"<>|\p{Cc}]/gu, '-');
}
