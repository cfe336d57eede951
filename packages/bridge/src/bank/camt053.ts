/** CAMT.053 of ISO 20022, in all versions: bank to customer statements. */
import Big from 'big.js';
import { XMLParser } from 'fast-xml-parser';
import { BridgeError } from '../errors.ts';
import type { BankLine, Statement } from './statement.ts';

const lists = new Set(['Stmt', 'Bal', 'Ntry', 'NtryDtls', 'TxDtls', 'Ustrd', 'Strd', 'AddtlRmtInf']);
const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  removeNSPrefix: true,
  parseTagValue: false,
  isArray: (name) => lists.has(name),
});

/** What an element can be; each step into it is checked. */
class Element {
  readonly #value: unknown;

  constructor(value: unknown) {
    this.#value = value;
  }

  /** The first of these paths that exists. */
  at(...paths: readonly string[]): Element {
    for (const path of paths) {
      const value = path.split('.').reduce<unknown>((one, name) => childOf(one, name), this.#value);
      if (value !== undefined) return new Element(value);
    }
    return new Element(undefined);
  }

  all(name: string): Element[] {
    const value = childOf(this.#value, name);
    return value === undefined ? [] : [value].flat().map((one) => new Element(one));
  }

  get text(): string | undefined {
    const value = typeof this.#value === 'object' ? childOf(this.#value, '#text') : this.#value;
    return typeof value === 'string' && value.trim() !== '' ? value.trim().replace(/\s+/g, ' ') : undefined;
  }
}

function childOf(value: unknown, name: string): unknown {
  const one = Array.isArray(value) ? value[0] : value;
  return typeof one === 'object' && one !== null ? Object.entries(one).find(([key]) => key === name)?.[1] : undefined;
}

export function parseCamt053(text: string): Statement[] {
  // No statement has one, and entities that it declares can be of any size.
  if (/<!(DOCTYPE|ENTITY)/i.test(text))
    throw new BridgeError(
      'The file declares a document type (DOCTYPE), which no CAMT.053 statement does. It is not read.',
    );
  let root: Element;
  try {
    root = new Element(parser.parse(text, true));
  } catch (error) {
    throw new BridgeError(
      `The file is not complete XML: ${error instanceof Error ? error.message : error} Download it again.`,
    );
  }
  const statements = root.at('Document.BkToCstmrStmt').all('Stmt');
  if (statements.length === 0) throw new BridgeError('The file has no CAMT.053 statement.');
  return statements.map((statement) => {
    const balance = (...codes: string[]) => {
      const found = statement.all('Bal').find((one) => codes.includes(one.at('Tp.CdOrPrtry.Cd').text ?? ''));
      return found === undefined ? undefined : signed(found);
    };
    const booked = statement.all('Ntry').filter((entry) => (entry.at('Sts.Cd', 'Sts').text ?? 'BOOK') === 'BOOK');
    return {
      account: statement.at('Acct.Id.IBAN', 'Acct.Id.Othr.Id').text ?? 'unknown',
      currency: statement.at('Acct.Ccy', 'Bal.Amt.@Ccy', 'Ntry.Amt.@Ccy').text,
      opening: balance('OPBD', 'PRCD'),
      closing: balance('CLBD'),
      lines: booked.flatMap(linesOf),
    };
  });
}

function signed(element: Element): Big {
  const amount = amountOf(element.at('Amt'));
  return element.at('CdtDbtInd').text === 'DBIT' ? amount.times(-1) : amount;
}

function amountOf(element: Element): Big {
  const { text = '' } = element;
  if (!/^\d+(\.\d+)?$/.test(text))
    throw new BridgeError(`The file has the amount “${text}”, which is not one of CAMT.053.`);
  return new Big(text);
}

/** An entry of several payments is a line for each of them, if their amounts are those of the entry. */
function linesOf(entry: Element): BankLine[] {
  const amount = signed(entry);
  const date = entry.at('BookgDt.Dt', 'BookgDt.DtTm', 'ValDt.Dt', 'ValDt.DtTm').text?.slice(0, 10) ?? '';
  const id = entry.at('AcctSvcrRef', 'NtryRef').text;
  const payments = entry.all('NtryDtls').flatMap((one) => one.all('TxDtls'));
  const amounts = payments.map((one) => one.at('Amt', 'AmtDtls.TxAmt.Amt'));
  const sum = amounts.reduce((total, one) => (one.text === undefined ? total : total.plus(amountOf(one))), new Big(0));
  const more = entry.at('AddtlNtryInf').text;
  if (payments.length > 1 && sum.eq(amount.abs()))
    return payments.map((payment, index) => ({
      id: id === undefined ? undefined : `${id}/${payment.at('Refs.AcctSvcrRef', 'Refs.TxId').text ?? index + 1}`,
      date,
      amount: amountOf(amounts[index] ?? new Element('')).times(amount.lt(0) ? -1 : 1),
      ...partiesOf(payment, more),
    }));
  return [{ id, date, amount, ...partiesOf(payments[0] ?? entry, more) }];
}

function partiesOf(payment: Element, more: string | undefined): { payer: string | undefined; text: string } {
  const remittance = payment.at('RmtInf');
  const structured = remittance.all('Strd');
  const texts = [
    ...remittance.all('Ustrd').map((one) => one.text),
    ...structured.map((one) => one.at('CdtrRefInf.Ref').text),
    ...structured.map((one) => one.at('RfrdDocInf.Nb').text),
    payment.at('Refs.EndToEndId').text,
    more,
  ];
  return {
    payer: payment.at('RltdPties.Dbtr.Nm', 'RltdPties.Dbtr.Pty.Nm', 'RltdPties.UltmtDbtr.Nm').text,
    text: texts.filter((one) => one !== undefined && one !== 'NOTPROVIDED').join(' '),
  };
}
