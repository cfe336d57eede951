/** Business days as numbers since 1970-01-01, so that millions of them can be compared quickly. */

const millisecondsADay = 86_400_000;

export function dayNumber(date: string): number {
  return Date.parse(date) / millisecondsADay;
}

export function dateText(day: number): string {
  return new Date(day * millisecondsADay).toISOString().slice(0, 10);
}

/** Returns an hour of a day in UTC, in milliseconds since 1970. */
export function instantAt(day: number, hour: number): number {
  return day * millisecondsADay + Math.round(hour * 3_600_000);
}

export function instantText(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

export function yearOf(day: number): number {
  return new Date(day * millisecondsADay).getUTCFullYear();
}

/** Starts at 1. */
export function monthOf(day: number): number {
  return new Date(day * millisecondsADay).getUTCMonth() + 1;
}

export function isWeekday(day: number): boolean {
  // 1970-01-01 was a Thursday.
  const weekday = (day + 4) % 7;
  return weekday !== 0 && weekday !== 6;
}

/** The day that the demo data uses as today, and the first of the three years before it. */
export const lastDay = dayNumber('2026-10-01');
export const firstDay = dayNumber('2023-10-02');
