/** OFX 1 (SGML) and 2 (XML): statements of banks and cards. Both are read as tags with values; only OFX 2 closes all of them. */
import Big from 'big.js';
import { BridgeError } from '../errors.ts';
import type { BankLine, Statement } from './statement.ts';

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', nbsp: ' ', quot: '"', apos: "'" };

export function parseOfx(text: string): Statement[] {
  if (/<!(DOCTYPE|ENTITY)/i.test(text))
    throw new BridgeError('The file declares a document type (DOCTYPE), which no OFX file does. It is not read.');
  if (!/<\/OFX>\s*$/i.test(text)) throw new BridgeError('The OFX file is not complete. Download it again.');
  const statements: Statement[] = [];
  let fields = new Map<string, string>();
  let lines: BankLine[] = [];
  let line: Map<string, string> | undefined;
  for (const [, closing, tag = '', content = ''] of text.matchAll(/<(\/?)([A-Za-z0-9.]+)>([^<]*)/g)) {
    const name = tag.toUpperCase();
    const value = content.trim().replace(/&(\w+);/g, (all, entity: string) => entities[entity] ?? all);
    if (closing === '' && name === 'STMTTRN') line = new Map();
    else if (closing === '' && /^(CC)?STMTRS$/.test(name)) [fields, lines] = [new Map(), []];
    else if (closing === '' && value !== '') (line ?? fields).set(name, value);
    else if (closing === '/' && name === 'STMTTRN' && line !== undefined) {
      lines.push(lineOf(line));
      line = undefined;
    } else if (closing === '/' && /^(CC)?STMTRS$/.test(name))
      // Files have a closing balance, but no opening one to compare it with.
      statements.push({ account: fields.get('ACCTID') ?? 'unknown', currency: fields.get('CURDEF'), lines });
  }
  if (statements.length === 0) throw new BridgeError('The OFX file has no statement.');
  return statements;
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
