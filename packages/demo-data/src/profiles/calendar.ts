/** Business days as numbers since 1970-01-01, so that millions of them can be compared quickly. */

const millisecondsADay = 86_400_000;

export function dayNumber(date: string): number {
  return Date.parse(date) / millisecondsADay;
}

export function dateText(day: number): string {
  return new Date(day * millisecondsADay).toISOString().slice(0, 10);
}

export function yearOf(day: number): number {
  return new Date(day * millisecondsADay).getUTCFullYear();
}

/** Starts at 1. */
export function monthOf(day: number): number {
  return new Date(day * millisecondsADay).getUTCMonth() + 1;
}

/** Returns the first day of the month, or of the quarter, of a day, or of a later one. */
export function startOfPeriod(day: number, months: 1 | 3, later = 0): number {
  const date = new Date(day * millisecondsADay);
  const month = date.getUTCMonth() - (date.getUTCMonth() % months) + later * months;
  return Date.UTC(date.getUTCFullYear(), month, 1) / millisecondsADay;
}

export function isWeekday(day: number): boolean {
  // 1970-01-01 was a Thursday.
  const weekday = (day + 4) % 7;
  return weekday !== 0 && weekday !== 6;
}

/** The three years of the demo data. The last day of work is the one before today. */
export interface Span {
  readonly firstDay: number;
  readonly today: number;
  readonly firstYear: number;
}

/** @param today RFC 3339 */
export function threeYearsBefore(today: string): Span {
  const end = dayNumber(today);
  if (!Number.isInteger(end)) throw new Error(`${today} is not a date, such as 2026-10-01.`);
  const firstDay = dayNumber(Temporal.PlainDate.from(today).subtract({ years: 3 }).add({ days: 1 }).toString());
  return { firstDay, today: end, firstYear: yearOf(firstDay) };
}
