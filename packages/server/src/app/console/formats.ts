import { type Html, type HtmlContent, html } from '../../wire/html.ts';

/** What formats depend on: the time zone of the firm. */
export interface Locale {
  readonly timeZone: string;
}

const timeFormats = new Map<string, Intl.DateTimeFormat>();

function timeFormat(timeZone: string): Intl.DateTimeFormat {
  let format = timeFormats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', timeZone });
    timeFormats.set(timeZone, format);
  }
  return format;
}

/** An instant (RFC 3339), on the clock of the firm. */
export function when({ timeZone }: Locale, instant: string | null): Html {
  if (instant === null) return html`<span class="soft">never</span>`;
  const time = Date.parse(instant);
  const text = Number.isNaN(time) ? instant : timeFormat(timeZone).format(time);
  return html`<time class="when" datetime="${instant}">${text}</time>`;
}

const dayFormat = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });

/** A calendar day, `YYYY-MM-DD`. */
export function day(date: string): Html {
  const time = Date.parse(date);
  return html`<time class="when" datetime="${date}">${Number.isNaN(time) ? date : dayFormat.format(time)}</time>`;
}

const monthFormat = new Intl.DateTimeFormat('en', { month: 'short', year: '2-digit', timeZone: 'UTC' });

/** The month of a calendar day. */
export function monthOf(date: string): string {
  return monthFormat.format(Date.parse(date));
}

const wholeFormat = new Intl.NumberFormat('en');

/** A decimal number with separators and all of its places. */
export function decimal(number: string): string {
  const { sign = '', whole = '', rest = '' } = /^(?<sign>-?)(?<whole>\d+)(?<rest>\.\d+)?$/.exec(number)?.groups ?? {};
  return whole === '' ? number : `${sign}${wholeFormat.format(BigInt(whole))}${rest}`;
}

/** @param currency undefined if nothing says which one it is */
export function money(amount: string, currency: string | undefined): Html {
  return html`<span class="amount">${decimal(amount)}${currency !== undefined && html` <span class="soft">${currency}</span>`}</span>`;
}

export function count(number: number): string {
  return wholeFormat.format(number);
}

export function badge(text: string, kind: 'good' | 'bad' | '' = ''): Html {
  return html`<span class="badge ${kind}">${text}</span>`;
}

export function none(): HtmlContent {
  return html`<span class="soft">none</span>`;
}
