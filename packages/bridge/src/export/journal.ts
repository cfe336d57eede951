import Big from 'big.js';
import type { Client } from '../../../client/src/index.ts';
import { CsvWriter } from '../files/csv.ts';

export interface JournalOptions {
  readonly from: string;
  readonly to: string;
  /** The org whose journal it is; undefined if the firm has only one. */
  readonly orgId: string | undefined;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly onRows: (rows: number) => void;
}

export interface JournalResult {
  readonly rows: number;
  /** Debit and credit by currency. */
  readonly sums: ReadonlyMap<string, { readonly debit: Big; readonly credit: Big }>;
}

const columns = [
  'businessDate',
  'postingId',
  'documentNumber',
  'accountCode',
  'accountName',
  'purpose',
  'debit',
  'credit',
] as const;
const more = ['currency', 'taxName', 'taxRatePercent', 'reason'] as const;

/** Writes the double entries of a period, of any number, in the order of their days. */
export async function exportJournal(
  api: Client,
  { from, to, orgId, path, signal, onRows }: JournalOptions,
): Promise<JournalResult> {
  const writer = new CsvWriter(path);
  const sums = new Map<string, { debit: Big; credit: Big }>();
  const body = {
    where: { businessDate: { _gte: from, _lte: to }, ...(orgId !== undefined && { orgId: { _eq: orgId } }) },
    orderBy: [{ businessDate: 'asc' as const }, { id: 'asc' as const }],
    fields: [...columns, ...more, 'clientId' as const],
    with: ['client' as const],
    pageSize: 500,
  };
  try {
    for await (const row of api.searchJournalEntries.rows({ body, signal })) {
      const { debit, credit } = sums.get(row.currency) ?? { debit: new Big(0), credit: new Big(0) };
      sums.set(row.currency, { debit: debit.plus(row.debit), credit: credit.plus(row.credit) });
      const client = row.with?.client?.name;
      await writer.write(
        [...columns, ...more, 'client'],
        [...columns.map((name) => row[name]), ...more.map((name) => row[name]), client],
      );
      onRows(writer.rows);
    }
    await writer.close();
  } catch (error) {
    await writer.discard();
    throw error;
  }
  return { rows: writer.rows, sums };
}
