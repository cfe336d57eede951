/** OFX 1 (SGML) and 2 (XML): statements of banks and cards. Both are read as tags with values; only OFX 2 closes all of them. */
import Big from 'big.js';
import { BridgeError } from '../errors.ts';
import { splitText } from '../files/text.ts';
import type { BankLine, BankPart } from './statement.ts';

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', nbsp: ' ', quot: '"', apos: "'" };

export async function* parseOfx(text: AsyncIterable<string>): AsyncGenerator<BankPart> {
  let fields = new Map<string, string>();
  let line: Map<string, string> | undefined;
  let [statements, last] = [0, ''];
  // Its currency and account are before its movements.
  const account = () => ({ account: fields.get('ACCTID') ?? 'unknown', currency: fields.get('CURDEF') });
  for await (const piece of splitText(text, '<')) {
    if (/^!(DOCTYPE|ENTITY)/i.test(piece))
      throw new BridgeError('The file declares a document type (DOCTYPE), which no OFX file does. It is not read.');
    const [, closing, tag = '', content = ''] = /^(\/?)([A-Za-z0-9.]+)>(.*)$/s.exec(piece) ?? [];
    const name = tag.toUpperCase();
    const value = content.trim().replace(/&(\w+);/g, (all, entity: string) => entities[entity] ?? all);
    const isStatement = /^(CC)?STMTRS$/.test(name);
    if (closing === '' && name === 'STMTTRN') line = new Map();
    else if (closing === '' && isStatement) fields = new Map();
    else if (closing === '' && value !== '') (line ?? fields).set(name, value);
    else if (closing === '/' && name === 'STMTTRN' && line !== undefined) {
      yield { ...account(), line: lineOf(line) };
      line = undefined;
    } else if (closing === '/' && isStatement) {
      statements += 1;
      // Files have a closing balance, but no opening one to compare it with.
      yield account();
    }
    last = piece;
  }
  if (!/^\/OFX>\s*$/i.test(last)) throw new BridgeError('The OFX file is not complete. Download it again.');
  if (statements === 0) throw new BridgeError('The OFX file has no statement.');
}

function lineOf(fields: ReadonlyMap<string, string>): BankLine {
  const [, year, month, day] = /^(\d{4})(\d\d)(\d\d)/.exec(fields.get('DTPOSTED') ?? '') ?? [];
  const amount = (fields.get('TRNAMT') ?? '').replace(',', '.');
  if (day === undefined || !/^[+-]?\d*\.?\d+$/.test(amount))
    throw new BridgeError(
      `The OFX file has a movement with the day “${fields.get('DTPOSTED')}” and the amount “${fields.get('TRNAMT')}”.`,
    );
  const texts = [fields.get('NAME'), fields.get('MEMO'), fields.get('REFNUM')];
  return {
    id: fields.get('FITID'),
    date: `${year}-${month}-${day}`,
    amount: new Big(amount.replace('+', '')),
    payer: fields.get('NAME'),
    text: texts.filter((one) => one !== undefined).join(' '),
    checkNumber: fields.get('CHECKNUM'),
  };
}
