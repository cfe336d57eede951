import type { Books, BooksReader } from './books.ts';
import { cents, divideHalfUp, unscaled } from './cents.ts';
import type { SentLine } from './requests.ts';
import type { LineStep, Step } from './steps.ts';

/** The lines of a document of a client, with amounts based on the current state of the work that they bill. */
export async function linesOf(
  books: Books,
  { lines }: Pick<Step, 'lines'>,
  clientId: string,
  reader: BooksReader,
): Promise<SentLine[]> {
  const used = new Set<string>();
  const sent: SentLine[] = [];
  for (const { lineType, rows, percent, quantity, taxRatePercent, namesJob, relief, exceedsFee } of lines) {
    const takesWork = lineType !== 'DISCOUNT' && lineType !== 'INTEREST';
    const refs: string[] = [];
    let outstanding = 0n;
    const ofClient = [...books.firm.clientOfJob].filter(([, owner]) => owner === clientId).map(([id]) => id);
    let jobId = namesJob ? (chosen(ofClient, percent) ?? null) : null;
    for (const row of takesWork ? rows : []) {
      // Occasionally, a row that the client cannot be billed for.
      const own = books.refs.wips.filter((wip) => percent === 87 || books.clientOfWip.get(wip) === clientId);
      const ref = chosen(own, row);
      if (ref === undefined || used.has(ref)) continue;
      const read = await reader.wip(ref);
      used.add(ref);
      if (namesJob && refs.length === 0 && ofClient.includes(read.jobId)) jobId = read.jobId;
      refs.push(ref);
      outstanding += cents(read.outstandingAmount);
    }
    const base = refs.length === 0 ? BigInt(percent * 37) * (lineType === 'DISCOUNT' ? -1n : 1n) : outstanding;
    const unitAmount = unscaled(
      divideHalfUp(base * BigInt(percent) * 10_000n, BigInt(Math.round(Number(quantity) * 10_000))),
      4,
    );
    sent.push(lineOf(lineType, refs, { quantity, unitAmount, taxRatePercent, jobId, relief, exceedsFee }));
  }
  return sent;
}

export function lineOf(
  lineType: SentLine['lineType'],
  wipIds: readonly string[],
  {
    quantity,
    unitAmount,
    taxRatePercent,
    ...rest
  }: Pick<LineStep, 'quantity' | 'taxRatePercent'> &
    Pick<SentLine, 'jobId' | 'relief' | 'exceedsFee'> & { readonly unitAmount: string },
): SentLine {
  const tax = { taxable: taxRatePercent !== null, taxRatePercent: taxRatePercent ?? '0' };
  return { lineType, description: 'Work', quantity, unitAmount, ...tax, ...rest, wipIds };
}

export function chosen<Value>(values: readonly Value[], pick: number): Value | undefined {
  // Starting with the newest: most steps are possible for recent rows.
  return values.at(-1 - (pick % Math.max(values.length, 1)));
}
