/** MT940 of SWIFT: customer statements. */
import Big from 'big.js';
import { BridgeError } from '../errors.ts';
import { splitText } from '../files/text.ts';
import type { BankLine, BankPart } from './statement.ts';

interface Field {
  readonly tag: string;
  readonly value: string;
}

const movementForm =
  /^(\d{6})(\d{4})?(R?[CD])[A-Z]?(\d+(?:,\d*)?)[A-Z][A-Z0-9]{3}([^\n]*?)(?:\/\/([^\n]*))?(?:\n([\s\S]*))?$/;

export async function* parseMt940(text: AsyncIterable<string>): AsyncGenerator<BankPart> {
  let account = 'unknown';
  let opening: { amount: Big; currency: string } | undefined;
  let statements = 0;
  // Its details can follow, which some banks send in several fields.
  let movement: string | undefined;
  let details: string[] = [];
  for await (const { tag, value } of fieldsOf(text)) {
    if (movement !== undefined && tag === '86') {
      details.push(value);
      continue;
    }
    if (movement !== undefined)
      yield { account, currency: opening?.currency, line: lineOf(movement, details.join('\n')) };
    details = [];
    movement = tag === '61' ? value : undefined;
    if (tag === '25' || tag === '25P') account = value.split('\n')[0]?.trim() ?? account;
    else if (tag === '60F' || tag === '60M') opening = balanceOf(value);
    else if ((tag === '62F' || tag === '62M') && opening !== undefined) {
      // A long statement has several parts, and between the days of a file, others may be missing: each part has its own balances.
      yield { account, currency: opening.currency, opening: opening.amount, closing: balanceOf(value).amount };
      statements += 1;
      opening = undefined;
    }
  }
  if (statements === 0 || opening !== undefined || movement !== undefined)
    throw new BridgeError('The MT940 file is not complete. Download it again.');
}

async function* fieldsOf(text: AsyncIterable<string>): AsyncGenerator<Field> {
  let field: Field | undefined;
  for await (const piece of splitText(text, '\n')) {
    const line = piece.replace(/\r$/, '');
    const [, tag, value = ''] = /^(?:\{4:)?:(\d\d[A-Z]?):(.*)$/.exec(line) ?? [];
    if (tag !== undefined) {
      if (field !== undefined) yield field;
      field = { tag, value };
    } else if (field !== undefined && !/^(-\}?|\{.*)$/.test(line.trim()))
      field = { tag: field.tag, value: `${field.value}\n${line}` };
  }
  if (field !== undefined) yield field;
}

function balanceOf(value: string): { amount: Big; currency: string } {
  const [, sign, currency = '', amount = ''] = /^([CD])\d{6}([A-Z]{3})(\d+,\d*)/.exec(value.trim()) ?? [];
  if (amount === '') throw new BridgeError(`The MT940 file has the balance “${value.trim()}”, which cannot be read.`);
  return { amount: decimalOf(amount).times(sign === 'D' ? -1 : 1), currency };
}

function lineOf(value: string, details: string): BankLine {
  const [, day = '', entryDay, mark, amount = '', reference = '', bankReference, more = ''] =
    movementForm.exec(value.trim()) ?? [];
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
