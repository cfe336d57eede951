import type Big from 'big.js';
import { BridgeError, RowError } from '../errors.ts';
import { openTable } from '../files/table.ts';
import type { Notation } from '../files/values.ts';
import type { Form } from '../import/form.ts';
import { Row } from '../import/row.ts';
import type { BankLine, BankPart } from './statement.ts';

export const bankFields = [
  'id',
  'date',
  'amount',
  'credit',
  'debit',
  'currency',
  'account',
  'payer',
  'text',
  'check',
] as const;
export type BankForm = Form<'bank'>;

/** The file that the command writes for what it could not match, and common names of banks. */
export const bankForm: BankForm = {
  records: 'bank',
  system: 'bank',
  columns: {
    id: ['Key'],
    date: ['Date', 'Booking date', 'Posting date', 'Transaction date', 'Value date', 'Buchungstag'],
    amount: ['Amount', 'Betrag'],
    credit: ['Credit', 'Paid in', 'Deposit', 'Deposits', 'Money in'],
    debit: ['Debit', 'Paid out', 'Withdrawal', 'Withdrawals', 'Money out'],
    currency: ['Currency', 'Währung'],
    account: ['Account', 'Account number', 'IBAN'],
    payer: ['Payer', 'Counterparty', 'Name', 'Beguenstigter/Zahlungspflichtiger'],
    text: ['Text', 'Description', 'Details', 'Memo', 'Reference', 'Verwendungszweck'],
    check: ['Check number', 'Check'],
  },
};

/** @param account the account of a file that does not name it */
export async function* readBankCsv(
  path: string,
  form: BankForm,
  notation: Notation,
  account: string | undefined,
  encoding: string | undefined,
): AsyncGenerator<BankPart> {
  const table = await openTable(path, form.columns, ['date', ...(form.required ?? [])], encoding);
  if (!table.columns.has('amount') && !table.columns.has('credit'))
    throw new BridgeError('The file has no column of amounts. Describe its columns in a file for --mapping.');
  for await (const read of table.rows()) {
    const row = new Row<(typeof bankFields)[number]>(form, table, notation, read);
    try {
      const amount = row.decimal('amount') ?? row.decimal('credit')?.abs() ?? row.decimal('debit')?.abs().times(-1);
      // A line of a balance, or a text that continues, moves nothing.
      if (amount === undefined) continue;
      const date = row.day('date');
      if (date === undefined) throw new RowError(`${row.nameOf('date')} is missing.`);
      const name = row.text('account') ?? account;
      if (name === undefined)
        throw new BridgeError(
          'The file does not name its account. Add --account with a name that is the same for all files of this account.',
        );
      yield { account: name, currency: row.text('currency')?.toUpperCase(), line: lineOf(row, date, amount) };
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      throw new BridgeError(`Line ${row.line}: ${error.message} Correct it, and run the command again.`);
    }
  }
}

function lineOf(row: Row<(typeof bankFields)[number]>, date: string, amount: Big): BankLine {
  return {
    id: row.text('id'),
    date,
    amount,
    payer: row.text('payer'),
    text: row.text('text') ?? '',
    checkNumber: row.text('check', 40),
  };
}
