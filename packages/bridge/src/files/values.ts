/** Values as people and programs write them. What has two readings is never guessed: the error names the option that decides. */
import Big from 'big.js';
import { BridgeError, RowError } from '../errors.ts';

export interface Notation {
  /** Order of days such as `03/04/2026`. */
  readonly dates?: 'dmy' | 'mdy' | undefined;
  /** The first of the 100 years that two digits can mean, such as `2000`. */
  readonly twoDigitYears?: string | undefined;
  /** Decimal mark. */
  readonly decimal?: 'comma' | 'point' | undefined;
  /** Country calling code of phone numbers without one, such as `1`; `none` leaves them out. */
  readonly callingCode?: string | undefined;
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const time = '(?:[T ,]+\\d.*)?';
const isoDay = new RegExp(`^(\\d{4})[-/.](\\d{1,2})[-/.](\\d{1,2})${time}$`);
const digits = new RegExp(`^(\\d{1,2})[-/.](\\d{1,2})[-/.](\\d{4}|\\d{2})${time}$`);
const dayMonth = /^(\d{1,2})[ -]([a-z]{3,9})\.?,?[ -](\d{4}|\d{2})$/i;
const monthDay = /^([a-z]{3,9})\.? (\d{1,2}),? (\d{4}|\d{2})$/i;

/** Returns a day as `YYYY-MM-DD`. */
export function parseDay(text: string, { dates, twoDigitYears }: Notation): string {
  const iso = isoDay.exec(text);
  if (iso) return dayOf(text, iso[1], iso[2], iso[3]);
  const [, dayFirst, monthSecond, namedYear] = dayMonth.exec(text) ?? [];
  const [, monthFirst = monthSecond, daySecond = dayFirst, year = namedYear] = monthDay.exec(text) ?? [];
  const [, first = '', second = '', lastYear = year] = digits.exec(text) ?? [];
  if (lastYear === undefined) throw new RowError(`“${text}” is not a date.`);
  const asked: string[] = [];
  if (year === undefined && dates === undefined) {
    const only = Number(first) > 12 ? 'dmy' : Number(second) > 12 ? 'mdy' : undefined;
    asked.push(
      only === undefined ? '--dates dmy if the day comes first, or --dates mdy if the month does' : `--dates ${only}`,
    );
  }
  if (lastYear.length === 2 && twoDigitYears === undefined)
    asked.push('--two-digit-years 2000 if their years are from 2000 to 2099, or another first year');
  if (asked.length > 0) throw new BridgeError(`The file has dates such as “${text}”. Add ${asked.join('; and add ')}.`);
  const whole = lastYear.length === 2 ? wholeYear(Number(lastYear), Number(twoDigitYears)) : lastYear;
  if (year !== undefined) return dayOf(text, whole, monthNamed(monthFirst), daySecond);
  return dates === 'dmy' ? dayOf(text, whole, second, first) : dayOf(text, whole, first, second);
}

/** The year of the 100 from `from` on that ends in these digits. */
function wholeYear(digits: number, from: number): string {
  return String(from + ((digits - (from % 100) + 100) % 100));
}

function monthNamed(name = ''): number {
  return months.indexOf(name.slice(0, 3).toLowerCase()) + 1;
}

function dayOf(
  text: string,
  year: string | undefined,
  month: string | number | undefined,
  day: string | undefined,
): string {
  const iso = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
  if (!isDay(iso))
    throw new RowError(
      `“${text}” is not a date of the calendar${text.includes('/') ? ' in the order of --dates' : ''}.`,
    );
  return iso;
}

/** Whether a text is a day of the calendar such as `2026-01-31`. */
export function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(date.valueOf()) && date.toISOString().startsWith(text);
}

/** Returns a decimal number. Reads `1,234.56`, `1.234,56`, `1 234,56`, `1'234.56`, `$12.00`, `12.00 EUR`, `(12.00)`, `12.00-`. */
export function parseDecimal(text: string, { decimal }: Notation): Big {
  const negative = /^\(.*\)$|^[^\d]*[-−]|[-−]$/.test(text);
  const plain = text.replace(/^[^\d.,]+|[^\d]+$/g, '').replace(/[\s'’\u00a0\u202f]/g, '');
  if (!/^[\d.,]*\d$/.test(plain) || /[a-z]/i.test(text.replace(/^\W*[A-Z]{3}\b|\b[A-Z]{3}$/g, '')))
    throw new RowError(`“${text}” is not a number.`);
  const mark = markOf(plain, text, decimal);
  const [whole = '', places = '', ...more] = plain.split(mark);
  const other = mark === ',' ? '.' : ',';
  const grouped = whole.split(other);
  const isGrouped = grouped.slice(1).every((group) => group.length === 3);
  if (more.length > 0 || places.includes(other) || !isGrouped)
    throw new RowError(`“${text}” is not a number with a decimal ${mark === ',' ? 'comma' : 'point'}.`);
  const value = new Big(`${grouped.join('') || '0'}.${places || '0'}`);
  return negative ? value.times(-1) : value;
}

function markOf(plain: string, text: string, decimal: Notation['decimal']): ',' | '.' {
  if (decimal !== undefined) return decimal === 'comma' ? ',' : '.';
  if (/^\d{1,3}(,\d{3})+\.\d+$/.test(plain) || /^\d*(\.(\d{1,2}|\d{4,}))?$/.test(plain)) return '.';
  const isComma = /^[\d.]*,(\d{1,2}|\d{4,})$|^\d{1,3}(\.\d{3})+,\d+$/.test(plain);
  throw new BridgeError(
    isComma
      ? `The file has numbers such as “${text}”. Add --decimal comma.`
      : `The file has numbers such as “${text}”. Add --decimal comma if it is the mark before decimals, or --decimal point.`,
  );
}

/** Returns hours as a decimal number: `1.5`, `1:30` and `01:30:00` are one and a half. */
export function parseHours(text: string, notation: Notation): Big {
  const [, hours, minutes = '', seconds = '0'] = /^(\d+):([0-5]\d)(?::([0-5]\d))?$/.exec(text) ?? [];
  if (hours === undefined) return parseDecimal(text.replace(/ ?h(ours?|rs?)?$/i, ''), notation).round(2);
  return new Big(hours).plus(new Big(minutes).div(60)).plus(new Big(seconds).div(3600)).round(2);
}

/** Returns the minutes since midnight of a time such as `08:30`, `8:30 PM` or `2026-03-02 17:05`. */
export function parseTime(text: string): number {
  const [, hour = '', minute = '', half] =
    /(?:^|[T ])(\d{1,2}):([0-5]\d)(?::[0-5]\d)?(?:\.\d+)? ?([ap]m)?$/i.exec(text) ?? [];
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'pm' ? 12 : 0);
  if (minute === '' || hours > 23 || (half !== undefined && Number(hour) > 12))
    throw new RowError(`“${text}” is not a time.`);
  return hours * 60 + Number(minute);
}

/** Returns a phone number in E.164 format, or undefined if it is left out. */
export function parsePhone(text: string, { callingCode }: Notation): string | undefined {
  const number = text.replace(/^\s*00/, '+').replace(/[\s().\-/\u00a0‐-–]/g, '');
  const national = /^\d{4,14}$/.test(number);
  if (/^\+[1-9]\d{3,14}$/.test(number)) return number;
  if (!national) throw new RowError(`“${text}” is not a phone number.`);
  if (callingCode === undefined)
    throw new BridgeError(
      `The file has phone numbers without a country, such as “${text}”. Add --calling-code with that of your country, such as --calling-code 1, or --calling-code none to leave them out.`,
    );
  if (callingCode === 'none') return undefined;
  // A number may be written with the calling code, but without the plus.
  if (callingCode === '1' && number.length === 11 && number.startsWith('1')) return `+${number}`;
  return `+${callingCode}${number.replace(/^0/, '')}`;
}

export function parseYes(text: string): boolean {
  if (/^(y|yes|true|1|x|billable|oui|ja|si|sí)$/i.test(text)) return true;
  if (/^(n|no|false|0|non-?billable|not billable|non|nein)$/i.test(text)) return false;
  throw new RowError(`“${text}” is neither yes nor no.`);
}

const countries = new Map<string, string>();

/** Returns the code of a country (ISO 3166-1) that is written as its code or its English name. */
export function parseCountry(text: string): string {
  if (/^[A-Z]{2}$/.test(text)) return text;
  if (countries.size === 0) {
    const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    for (const code of letters.flatMap((first) => letters.map((second) => first + second)))
      countries.set(names.of(code)?.toLowerCase() ?? '', code);
    for (const [name, code] of [
      ['usa', 'US'],
      ['united states of america', 'US'],
      ['uk', 'GB'],
      ['great britain', 'GB'],
    ] as const)
      countries.set(name, code);
  }
  const code = countries.get(text.toLowerCase());
  if (code === undefined) throw new RowError(`“${text}” is not a country. Use its code, such as US.`);
  return code;
}
