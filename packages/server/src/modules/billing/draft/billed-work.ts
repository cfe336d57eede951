import { Rejection } from '../../../contract/rejection.ts';
import type { Row } from '../../../entity/row.ts';
import { type Decimal, sum, zero } from '../../../platform/decimal.ts';
import { outstandingOf } from '../../time/index.ts';
import { type InvoiceLine, invalidLine } from '../invoice/invoice-lines.ts';
import { type Relief, reliefOf } from '../rules/relief.ts';

/** The work in progress that the lines of a document bill, by ID. */
export type WipRows = ReadonlyMap<string, Row<'WipEntry'>>;

export function wipIdsOf(lines: readonly InvoiceLine[]): string[] {
  return lines.flatMap(({ wipIds }) => wipIds);
}

/** @throws Rejection if a line refers to work in progress that the draft, or the imported invoice, cannot bill. */
export function checkBilledRows(
  draft: Pick<Row<'DraftInvoice'>, 'id' | 'clientId' | 'currency' | 'billThroughDate'>,
  index: number,
  { wipIds, lineType, amount }: InvoiceLine,
  rows: WipRows,
): void {
  if ((lineType === 'DISCOUNT' || lineType === 'INTEREST') && wipIds.length > 0)
    throw invalidLine(index, 'wipIds', `A ${lineType} line cannot bill work in progress. Send an empty list.`);
  const billed: Row<'WipEntry'>[] = [];
  for (const [position, id] of wipIds.entries()) {
    const row = rows.get(id);
    if (row === undefined) continue;
    const pointer = `wipIds/${position}`;
    if (row.clientId !== draft.clientId)
      throw invalidLine(index, pointer, 'The work in progress belongs to another client.');
    if (row.currency !== draft.currency)
      throw invalidLine(
        index,
        pointer,
        `The work in progress is in ${row.currency}, the document in ${draft.currency}.`,
      );
    if (row.workDate > draft.billThroughDate)
      throw invalidLine(
        index,
        pointer,
        `The work was done on ${row.workDate}, after ${draft.billThroughDate}, through which the document bills.`,
      );
    const isHeld = row.status === 'IN_DRAFT' && row.draftInvoiceId === draft.id;
    if (!isHeld && row.status !== 'OPEN' && row.status !== 'PARTIALLY_BILLED') {
      const detail =
        row.status === 'IN_DRAFT'
          ? 'Another draft invoice includes this row.'
          : `The work in progress is ${row.status}.`;
      throw new Rejection('INVALID_STATE', detail, `/lines/${index}/${pointer}`);
    }
    billed.push(row);
  }
  const outstanding = sum(billed.map(outstandingOf));
  const isNegative = outstanding.lt(zero);
  if (lineType !== 'DISCOUNT' && (isNegative ? amount.gt(zero) : amount.lt(zero)))
    throw invalidLine(
      index,
      'unitAmount',
      `The outstanding amount of the work in progress is ${outstanding.toFixed(2)}. The amount of the line must have the same sign.`,
    );
}

/** The jobs of the lines and of the work that they bill. */
export function jobsOf(lines: readonly InvoiceLine[], rows: WipRows): string[] {
  const ids = lines.flatMap(({ jobId, wipIds }) => [jobId, ...wipIds.map((id) => rows.get(id)?.jobId)]);
  return [...new Set(ids.filter((id) => typeof id === 'string'))];
}

/** What a line takes from a row of the work that it bills. */
export interface RowRelief extends Relief {
  readonly row: Row<'WipEntry'>;
  readonly jobId: string;
}

/** Returns what a line takes from each row that it bills, in the order of their IDs. */
export function reliefsOf(line: InvoiceLine, rows: WipRows): RowRelief[] {
  const billed = line.wipIds.map((id) => rows.get(id)).filter((row) => row !== undefined);
  const sorted = billed.sort((one, other) => (one.id < other.id ? -1 : 1));
  const reliefs = reliefOf(line, sorted.map(outstandingOf), sorted[0]?.currency ?? '');
  return sorted.flatMap((row, index) => {
    const relief = reliefs[index];
    return relief === undefined ? [] : [{ ...relief, row, jobId: row.jobId }];
  });
}

/** Returns the standard value of the billed work, and the difference to the lines. */
export function standardOf(
  lines: readonly InvoiceLine[],
  rows: WipRows,
): { readonly standardAmount: Decimal; readonly adjustmentAmount: Decimal } {
  const relieved = lines.flatMap((line) => reliefsOf(line, rows));
  const adjustmentAmount = sum(relieved.map(({ writeUp, writeOff }) => writeUp.minus(writeOff)));
  return { standardAmount: sum(relieved.map(({ billed }) => billed)).minus(adjustmentAmount), adjustmentAmount };
}
