import { join } from 'node:path';
import { type Client, isProblem, orThrow, ProblemError, type Schema } from '../../../client/src/index.ts';
import { CsvWriter } from '../files/csv.ts';
import type { DocumentFolder } from './folder.ts';

export type InvoiceFormat = Schema<'InvoiceDocumentFormat'>['format'];

/** The formats of the contract, with the extensions of their files. */
const extensions: Readonly<Record<InvoiceFormat, string>> = {
  ubl: 'xml',
  xrechnung: 'xml',
  facturx: 'pdf',
  pdf: 'pdf',
};
export const invoiceFormats = Object.keys(extensions);

const header = ['Invoice', 'Client', 'Date', 'Missing', 'Reason'];

/**
 * Writes the documents of all invoices and credit notes of a period, or of one client. What an invoice lacks is in `failed`, a row for
 * each value; without such invoices, there is no such file.
 *
 * @returns how many invoices have no document in this format
 */
export async function exportInvoices(
  api: Client,
  folder: DocumentFolder,
  options: { from: string; to: string; client: string | undefined; format: InvoiceFormat; signal: AbortSignal },
): Promise<{ readonly incomplete: number; readonly failed: string }> {
  const { from, to, client, format, signal } = options;
  const failed = join(folder.path, `${format}.failed.csv`);
  const writer = new CsvWriter(failed);
  const body = {
    where: {
      invoiceDate: { _gte: from, _lte: to },
      postedAt: { _is_null: false },
      status: { _neq: 'VOIDED' as const },
      ...(client !== undefined && { client: { clientRef: { _eq: client } } }),
    },
    orderBy: [{ invoiceDate: 'asc' as const }, { id: 'asc' as const }],
    fields: ['id' as const, 'invoiceNumber' as const, 'invoiceDate' as const, 'clientId' as const],
    with: ['client' as const, 'org' as const],
    pageSize: 500,
  };
  let incomplete = 0;
  try {
    // Numbers are unique per org.
    for await (const row of api.searchInvoices.rows({ body, signal }))
      await folder.add([row.with?.org?.name ?? '', row.invoiceNumber, format], extensions[format], async () => {
        try {
          return await orThrow(api.getInvoiceDocument({ path: { id: row.id, format }, signal }));
        } catch (error) {
          if (!(error instanceof ProblemError) || !isProblem(error.problem, 'DOCUMENT_INCOMPLETE')) throw error;
          incomplete += 1;
          const { name } = row.with?.client ?? {};
          for (const { pointer, detail } of error.problem.errors ?? [])
            await writer.write(header, [row.invoiceNumber, name, row.invoiceDate, pointer, detail]);
          return undefined;
        }
      });
    await writer.close();
  } catch (error) {
    await writer.discard();
    throw error;
  }
  return { incomplete, failed };
}
