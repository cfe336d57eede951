/** MT940 of SWIFT: customer statements. */
import Big from 'big.js';
import { BridgeError } from '../errors.ts';
import { type BankLine, checkBalance, type Statement } from './statement.ts';

interface Field {
  readonly tag: string;
  readonly value: string;
}

const movement = /^(\d{6})(\d{4})?(R?[CD])[A-Z]?(\d+,\d*)[A-Z][A-Z0-9]{3}([^\n]*?)(?:\/\/([^\n]*))?(?:\n([\s\S]*))?$/;

export function parseMt940(text: string, ignoreBalance: boolean): Statement[] {
  const statements = new Map<string, { currency: string; opening: Big; closing: Big; lines: BankLine[] }>();
  let account = 'unknown';
  let opening: { amount: Big; currency: string } | undefined;
  let lines: BankLine[] = [];
  const fields = fieldsOf(text);
  for (const [index, { tag, value }] of fields.entries()) {
    if (tag === '25' || tag === '25P') account = value.split('\n')[0]?.trim() ?? account;
    else if (tag === '60F' || tag === '60M') [opening, lines] = [balanceOf(value), []];
    else if (tag === '61') {
      const next = fields[index + 1];
      lines.push(lineOf(value, next?.tag === '86' ? next.value : ''));
    } else if ((tag === '62F' || tag === '62M') && opening !== undefined) {
      const closing = balanceOf(value).amount;
      const part = { account, currency: opening.currency, opening: opening.amount, closing, lines };
      if (!ignoreBalance) checkBalance(part);
      const earlier = statements.get(account);
      // A long statement has several parts, and a file can have several days.
      statements.set(
        account,
        earlier === undefined ? part : { ...earlier, closing, lines: [...earlier.lines, ...lines] },
      );
      opening = undefined;
    }
  }
  if (statements.size === 0 || opening !== undefined)
    throw new BridgeError('The MT940 file is not complete. Download it again.');
  // Parts were checked one by one, and days between them may be missing.
  return [...statements].map(([name, { currency, lines: all }]) => ({ account: name, currency, lines: all }));
}

function fieldsOf(text: string): Field[] {
  const fields: { tag: string; value: string }[] = [];
  for (const line of text.split(/\r?\n/)) {
    const [, tag, value = ''] = /^(?:\{4:)?:(\d\d[A-Z]?):(.*)$/.exec(line) ?? [];
    const last = fields.at(-1);
    if (tag !== undefined) fields.push({ tag, value });
    else if (last !== undefined && !/^(-\}?|\{.*)$/.test(line.trim())) last.value += `\n${line}`;
  }
  return fields;
}

function balanceOf(value: string): { amount: Big; currency: string } {
  const [, sign, currency = '', amount = ''] = /^([CD])\d{6}([A-Z]{3})(\d+,\d*)/.exec(value.trim()) ?? [];
  if (amount === '') throw new BridgeError(`The MT940 file has the balance “${value.trim()}”, which cannot be read.`);
  return { amount: decimalOf(amount).times(sign === 'D' ? -1 : 1), currency };
}

function lineOf(value: string, details: string): BankLine {
  const [, day = '', entryDay, mark, amount = '', reference = '', bankReference, more = ''] =
    movement.exec(value.trim()) ?? [];
  if (amount === '') throw new BridgeError(`The MT940 file has the movement “${value.trim()}”, which cannot be read.`);
  const isCredit = mark === 'C' || mark === 'RD';
  const { payer, text } = detailsOf(details);
  return {
    id: bankReference?.trim() || undefined,
    date: bookingDay(day, entryDay),
    amount: decimalOf(amount).times(isCredit ? 1 : -1),
    payer,
    text: [reference === 'NONREF' ? '' : reference, text, more].join(' ').replace(/\s+/g, ' ').trim(),
  };
}

/** The day of the entry has no year: it is that of the value date, or of the year beside it. */
function bookingDay(valueDay: string, entryDay: string | undefined): string {
  const year = Number(`20${valueDay.slice(0, 2)}`);
  const month = Number(valueDay.slice(2, 4));
  if (entryDay === undefined) return `${year}-${valueDay.slice(2, 4)}-${valueDay.slice(4)}`;
  const months = Number(entryDay.slice(0, 2)) - month;
  const own = months > 6 ? year - 1 : months < -6 ? year + 1 : year;
  return `${own}-${entryDay.slice(0, 2)}-${entryDay.slice(2)}`;
}

/** German banks number the parts (`?20` to `?29` text, `?32` name), others name them (`/NAME/`, `/REMI/`). */
function detailsOf(details: string): { payer: string | undefined; text: string } {
  const plain = details.replaceAll('\n', '');
  if (/^\d{3}\?\d\d/.test(plain)) {
    const parts = [...plain.matchAll(/\?(\d\d)([^?]*)/g)].map(([, number, text = '']) => ({
      number: Number(number),
      text,
    }));
    const between = (from: number, to: number) => parts.filter(({ number }) => number >= from && number <= to);
    const texts = [...between(20, 29), ...between(60, 63)].map(({ text }) => text);
    return {
      payer:
        between(32, 33)
          .map(({ text }) => text)
          .join('')
          .trim() || undefined,
      text: texts.join(''),
    };
  }
  const [, name] = /\/(?:NAME|ORDP)\/([^/]*)/.exec(plain) ?? [];
  return { payer: name?.trim() || undefined, text: details.replaceAll('\n', ' ') };
}

function decimalOf(amount: string): Big {
  return new Big(amount.replace(/,$/, '').replace(',', '.'));
}
