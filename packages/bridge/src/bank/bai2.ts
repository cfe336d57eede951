/** BAI2: balance reports of banks in the United States. Amounts are in the smallest unit of the currency. */
import Big from 'big.js';
import { BridgeError } from '../errors.ts';
import { splitText } from '../files/text.ts';
import type { BankLine, BankPart } from './statement.ts';

/** Numbers of fields after an amount, by the type of its funds; `D` has a number of pairs of its own. */
const fundsFields: Readonly<Record<string, number>> = { S: 3, V: 2 };

export async function* parseBai2(text: AsyncIterable<string>): AsyncGenerator<BankPart> {
  let [groupDay, last, accounts] = ['', '', 0];
  let groupCurrency: string | undefined;
  let open: BankPart | undefined;
  for await (const [code = '', ...fields] of recordsOf(text)) {
    if (code === '16' && open !== undefined) {
      const { account, currency } = open;
      yield { account, currency, line: lineOf(fields, groupDay) };
    } else if (code !== '16' && open !== undefined) {
      yield open;
      open = undefined;
    }
    if (code === '02') [groupDay, groupCurrency] = [dayOf(fields[3] ?? ''), fields[5] || undefined];
    else if (code === '03') {
      const [account = 'unknown', currency, ...amounts] = fields;
      // A file without a currency is in US dollars, as the specification says.
      open = { account, currency: currency || groupCurrency || 'USD', ...balancesOf(amounts) };
      accounts += 1;
    }
    last = code;
  }
  if (last !== '99') throw new BridgeError('The BAI2 file is not complete. Download it again.');
  if (accounts === 0) throw new BridgeError('The BAI2 file has no account.');
}

/** Records with their continuations (`88`). A text goes to the end of its record and can have commas. */
async function* recordsOf(text: AsyncIterable<string>): AsyncGenerator<string[]> {
  let record = '';
  const fieldsOf = () => record.replace(/\/$/, '').split(',');
  for await (const piece of splitText(text, '\n')) {
    const line = piece.trim();
    if (line === '') continue;
    if (line.startsWith('88,'))
      record = `${record.replace(/\/$/, ',')}${record.endsWith('/') ? '' : ' '}${line.slice(3)}`;
    else {
      if (record !== '') yield fieldsOf();
      record = line;
    }
  }
  if (record !== '') yield fieldsOf();
}

function balancesOf(fields: readonly string[]): { opening?: Big; closing?: Big } {
  const found: { opening?: Big; closing?: Big } = {};
  for (let index = 0; index < fields.length; ) {
    const [type, amount = '', , funds = ''] = fields.slice(index, index + 4);
    if (type === '010' && amount !== '') found.opening = centsOf(amount);
    if (type === '015' && amount !== '') found.closing = centsOf(amount);
    index += 4 + moreFields(funds, fields[index + 4]);
  }
  return found;
}

function moreFields(funds: string, pairs: string | undefined): number {
  return funds === 'D' ? 1 + 2 * Number(pairs ?? 0) : (fundsFields[funds] ?? 0);
}

function lineOf([type = '', amount = '', funds = '', ...rest]: readonly string[], date: string): BankLine {
  const [bankReference, customerReference, ...text] = rest.slice(moreFields(funds, rest[0]));
  const number = Number(type);
  const isCredit = number >= 100 && number < 400;
  if (!isCredit && !(number >= 400 && number < 700))
    throw new BridgeError(`The BAI2 file has a movement of the type “${type}”, which is neither a credit nor a debit.`);
  return {
    id: bankReference || undefined,
    date,
    amount: centsOf(amount).times(isCredit ? 1 : -1),
    text: [customerReference, ...text].join(' ').trim(),
    checkNumber: type === '475' ? customerReference : undefined,
  };
}

function centsOf(text: string): Big {
  if (!/^[+-]?\d+$/.test(text))
    throw new BridgeError(`The BAI2 file has the amount “${text}”, which is not a number of cents.`);
  return new Big(text.replace('+', '')).div(100);
}

function dayOf(text: string): string {
  const [, year, month, day] = /^(\d\d)(\d\d)(\d\d)$/.exec(text) ?? [];
  if (day === undefined) throw new BridgeError(`The BAI2 file has the day “${text}”, which is not one.`);
  return `20${year}-${month}-${day}`;
}
