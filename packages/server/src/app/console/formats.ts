import { formatDay, formatNumber, timeFormat } from '../../modules/documents/index.ts';
import type { Tenant } from '../../platform/auth/caller.ts';
import { type Html, type HtmlContent, html } from '../../wire/html.ts';

/** An instant (RFC 3339), on the clock of the firm. */
export function when({ timeZone }: Pick<Tenant, 'timeZone'>, instant: string | null): Html {
  if (instant === null) return html`<span class="soft">never</span>`;
  const time = Date.parse(instant);
  const format = timeFormat('en', { dateStyle: 'medium', timeStyle: 'short', timeZone });
  const text = Number.isNaN(time) ? instant : format.format(time);
  return html`<time class="when" datetime="${instant}">${text}</time>`;
}

/** A calendar day, `YYYY-MM-DD`. */
export function day(date: string): Html {
  const text = Number.isNaN(Date.parse(date)) ? date : formatDay(date, 'en', 'medium');
  return html`<time class="when" datetime="${date}">${text}</time>`;
}

/** The month of a calendar day. */
export function monthOf(date: string): string {
  return timeFormat('en', { month: 'short', year: '2-digit', timeZone: 'UTC' }).format(Date.parse(date));
}

/** A decimal number with separators and all of its places. */
export function decimal(number: string): string {
  const [numeral, places = ''] = /^-?\d+(?:\.(\d+))?$/.exec(number) ?? [];
  return numeral === undefined ? number : formatNumber(numeral, places.length);
}

/** @param currency undefined if nothing says which one it is */
export function money(amount: string, currency: string | undefined): Html {
  return html`<span class="amount">${decimal(amount)}${currency !== undefined && html` <span class="soft">${currency}</span>`}</span>`;
}

export function count(number: number): string {
  return formatNumber(String(number), 0);
}

export function badge(text: string, kind: 'good' | 'bad' | '' = ''): Html {
  return html`<span class="badge ${kind}">${text}</span>`;
}

export function none(): HtmlContent {
  return html`<span class="soft">none</span>`;
}
