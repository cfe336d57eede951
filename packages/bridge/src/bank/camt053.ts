/** CAMT.053 of ISO 20022, in all versions: bank to customer statements. Entries are read one by one, so a file can have any number. */
import Big from 'big.js';
import sax from 'sax';
import { BridgeError } from '../errors.ts';
import type { BankLine, BankPart } from './statement.ts';

interface Transaction {
  readonly amount: string | undefined;
  readonly reference: string | undefined;
  readonly payer: string | undefined;
  readonly texts: readonly string[];
}

/** An element with what is in it. */
class Element {
  readonly name: string;
  readonly currency: string | undefined;
  readonly children: Element[] = [];
  /** Of an entry: its transactions, of which it can have any number. */
  readonly transactions: Transaction[] = [];
  content = '';

  constructor(name: string, currency?: string) {
    this.name = name;
    this.currency = currency;
  }

  all(name: string): Element[] {
    return this.children.filter((one) => one.name === name);
  }

  /** The first element with one of these paths; an empty one if there is none. */
  at(...paths: readonly string[]): Element {
    for (const path of paths) {
      let found: Element | undefined = this;
      for (const name of path.split('.')) found = found?.children.find((one) => one.name === name);
      if (found !== undefined) return found;
    }
    return new Element('');
  }

  get text(): string | undefined {
    return this.content.trim().replace(/\s+/g, ' ') || undefined;
  }
}

export async function* parseCamt053(text: AsyncIterable<string>): AsyncGenerator<BankPart> {
  const parts: BankPart[] = [];
  const open: Element[] = [];
  let statements = 0;
  const parser = sax.parser(true, { position: false });
  parser.onerror = ({ message }) => {
    throw new BridgeError(`The file is not complete XML: ${message.split('\n')[0]}. Download it again.`);
  };
  parser.ondoctype = () => {
    // No statement has one, and entities that it declares can be of any size.
    throw new BridgeError(
      'The file declares a document type (DOCTYPE), which no CAMT.053 statement does. It is not read.',
    );
  };
  parser.onopentag = ({ name, attributes }) => {
    open.push(new Element(localName(name), String(attributes.Ccy ?? '') || undefined));
  };
  parser.ontext = parser.oncdata = (content) => {
    const element = open.at(-1);
    if (element !== undefined) element.content += content;
  };
  parser.onclosetag = () => {
    const [parent, element] = [open.at(-2), open.pop()];
    if (element === undefined || parent === undefined) return;
    if (element.name === 'Stmt') {
      statements += 1;
      parts.push({
        ...accountOf(element),
        opening: balanceOf(element, 'OPBD', 'PRCD'),
        closing: balanceOf(element, 'CLBD'),
      });
    } else if (element.name === 'TxDtls') open.at(-2)?.transactions.push(transactionOf(element));
    else if (element.name !== 'Ntry') parent.children.push(element);
    else if ((element.at('Sts.Cd', 'Sts').text ?? 'BOOK') === 'BOOK')
      for (const line of linesOf(element)) parts.push({ ...accountOf(parent, element), line });
  };
  for await (const piece of text) {
    parser.write(piece);
    yield* parts.splice(0);
  }
  parser.close();
  yield* parts;
  if (statements === 0) throw new BridgeError('The file has no CAMT.053 statement.');
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** The account and the balances of a statement are before its entries. */
function accountOf(statement: Element, entry = new Element('')) {
  return {
    account: statement.at('Acct.Id.IBAN', 'Acct.Id.Othr.Id').text ?? 'unknown',
    currency: statement.at('Acct.Ccy').text ?? statement.at('Bal.Amt').currency ?? entry.at('Amt').currency,
  };
}

function balanceOf(statement: Element, ...codes: readonly string[]): Big | undefined {
  const found = statement.all('Bal').find((one) => codes.includes(one.at('Tp.CdOrPrtry.Cd').text ?? ''));
  return found === undefined ? undefined : signed(found);
}

function signed(element: Element): Big {
  const amount = amountOf(element.at('Amt').text);
  return element.at('CdtDbtInd').text === 'DBIT' ? amount.times(-1) : amount;
}

function amountOf(text = ''): Big {
  if (!/^\d+(\.\d+)?$/.test(text))
    throw new BridgeError(`The file has the amount “${text}”, which is not one of CAMT.053.`);
  return new Big(text);
}

/** An entry of several transactions is a line for each of them, if their amounts are those of the entry. */
function linesOf(entry: Element): BankLine[] {
  const amount = signed(entry);
  const date = entry.at('BookgDt.Dt', 'BookgDt.DtTm', 'ValDt.Dt', 'ValDt.DtTm').text?.slice(0, 10) ?? '';
  const id = entry.at('AcctSvcrRef', 'NtryRef').text;
  const { transactions } = entry;
  const more = entry.at('AddtlNtryInf').text ?? [];
  const partiesOf = ({ payer, texts }: Transaction) => ({ payer, text: [texts, more].flat().join(' ') });
  const sum = transactions.reduce((total, one) => total.plus(amountOf(one.amount ?? '0')), new Big(0));
  if (transactions.length > 1 && sum.eq(amount.abs()))
    return transactions.map((one, index) => ({
      id: id === undefined ? undefined : `${id}/${one.reference ?? index + 1}`,
      date,
      amount: amountOf(one.amount).times(amount.lt(0) ? -1 : 1),
      ...partiesOf(one),
    }));
  return [{ id, date, amount, ...partiesOf(transactions[0] ?? transactionOf(entry)) }];
}

function transactionOf(element: Element): Transaction {
  const remittance = element.at('RmtInf');
  const structured = remittance.all('Strd');
  const texts = [
    ...remittance.all('Ustrd').map((one) => one.text),
    ...structured.map((one) => one.at('CdtrRefInf.Ref').text),
    ...structured.map((one) => one.at('RfrdDocInf.Nb').text),
    element.at('Refs.EndToEndId').text,
  ];
  return {
    amount: element.at('Amt', 'AmtDtls.TxAmt.Amt').text,
    reference: element.at('Refs.AcctSvcrRef', 'Refs.TxId').text,
    payer: element.at('RltdPties.Dbtr.Nm', 'RltdPties.Dbtr.Pty.Nm', 'RltdPties.UltmtDbtr.Nm').text,
    texts: texts.flatMap((one) => (one === undefined || one === 'NOTPROVIDED' ? [] : [one])),
  };
}
