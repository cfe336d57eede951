/** Matches the money that came in to open invoices, and records it as payments, once for each movement; what matches none has no client yet. */
import Big from 'big.js';
import type { Client, Schema } from '../../../client/src/index.ts';
import { BridgeError } from '../errors.ts';
import { CsvWriter } from '../files/csv.ts';
import { given, hashOf, systemRefOf } from '../import/plan.ts';
import { Writer } from '../import/writer.ts';
import { Matcher, type OpenInvoice, type Proposal } from './match.ts';
import type { BankLine, Statement } from './statement.ts';

export interface Receipt {
  readonly line: BankLine;
  readonly systemRef: string;
  readonly isRecorded: boolean;
  readonly proposal: Proposal;
  /** Why it was not recorded, when it should have been. */
  failure?: string | undefined;
}

export interface BankResult {
  readonly currency: string;
  readonly receipts: readonly Receipt[];
  /** Movements that take money out, which are no payments of clients. */
  readonly outgoing: number;
  readonly recorded: number;
  /** How many of these are of unknown payers. */
  readonly unknown: number;
}

export async function recordPayments(
  api: Client,
  { account, currency, lines }: Statement,
  options: {
    minScore: number;
    apply: boolean;
    currency: string | undefined;
    org: string | undefined;
    signal: AbortSignal;
    failedPath: string;
  },
): Promise<BankResult> {
  const { minScore, apply, org, signal, failedPath } = options;
  const own = currency ?? options.currency;
  if (own === undefined)
    throw new BridgeError('The file does not say its currency. Add it with --currency, such as --currency USD.');
  const incoming = keyed(
    account,
    lines.filter(({ amount }) => amount.gt(0)),
  );
  // Before the payments: one that another run records in between is then known, and its invoice not matched again.
  const matcher = new Matcher(await openInvoices(api, own, signal));
  const recordedRefs = await recordedAmong(
    api,
    incoming.map(({ systemRef }) => systemRef),
    signal,
  );
  const receipts: Receipt[] = incoming.map(({ line, systemRef }) => {
    const isRecorded = recordedRefs.has(systemRef);
    const proposal = isRecorded
      ? { score: 0, reason: 'recorded already', invoices: [] }
      : matcher.propose(line, minScore);
    return { line, systemRef, isRecorded, proposal };
  });

  const writer = new Writer(api, apply, signal);
  const isSure = (one: Receipt) => !one.isRecorded && (one.proposal.score >= minScore || isUnknown(one));
  const sure = receipts.filter(isSure);
  const written = await writer.write(sure.map((one) => ({ record: paymentOf(one, own, org) })));
  for (const [index, { reason }] of written.entries()) {
    const receipt = sure[index];
    if (receipt !== undefined) receipt.failure = reason;
  }
  const failed = new CsvWriter(failedPath);
  const header = ['Key', 'Date', 'Amount', 'Currency', 'Account', 'Payer', 'Text', 'Check number', 'Reason'];
  for (const receipt of receipts) {
    const { line, isRecorded, proposal, failure } = receipt;
    if (isRecorded || (isSure(receipt) && failure === undefined)) continue;
    const why =
      failure ??
      (proposal.score === 0
        ? proposal.reason
        : `${proposedText(proposal)}, score ${proposal.score}: ${proposal.reason}`);
    const cells = [
      line.id,
      line.date,
      line.amount.toFixed(2),
      own,
      account,
      line.payer,
      line.text,
      line.checkNumber,
      why,
    ];
    await failed.write(header, cells);
  }
  await failed.close();
  const recorded = sure.filter(({ failure }) => failure === undefined);
  const outgoing = lines.length - incoming.length;
  return { currency: own, receipts, outgoing, recorded: recorded.length, unknown: recorded.filter(isUnknown).length };
}

/** Whether a movement matches no open invoice: a payment of an unknown payer. */
export function isUnknown({ isRecorded, proposal }: Receipt): boolean {
  return !isRecorded && proposal.invoices.length === 0;
}

export function proposedText({ invoices }: Proposal): string {
  return invoices.map(({ invoice }) => invoice.number).join(' + ');
}

/** A movement is the same whenever a file has it: by its key at the bank, otherwise by its content and its place among equal ones. */
function keyed(account: string, lines: readonly BankLine[]): { line: BankLine; systemRef: string }[] {
  const form = { system: 'bank' };
  const counts = new Map<string, number>();
  return lines.map((line) => {
    const content = line.id === undefined ? [line.payer ?? '', line.text, line.checkNumber ?? ''] : [line.id];
    const hash = hashOf(JSON.stringify([account, line.date, line.amount.toFixed(2), ...content]));
    const count = (counts.get(hash) ?? 0) + 1;
    counts.set(hash, count);
    return { line, systemRef: systemRefOf(form, 'payment', `${line.date}:${hash}${count === 1 ? '' : `:${count}`}`) };
  });
}

const invoiceFields = ['id', 'invoiceNumber', 'clientId', 'clientName', 'clientRef', 'dueDate', 'amountDue'] as const;

async function openInvoices(api: Client, currency: string, signal: AbortSignal): Promise<OpenInvoice[]> {
  const open = { documentType: { _eq: 'INVOICE' }, currency: { _eq: currency }, amountDue: { _gt: '0.00' } } as const;
  const body = {
    where: { ...open, status: { _in: ['POSTED' as const, 'PARTIALLY_PAID' as const] } },
    pageSize: 500,
  };
  const found: OpenInvoice[] = [];
  for await (const row of api.searchInvoices.rows({ body: { ...body, fields: [...invoiceFields] }, signal })) {
    const { id, invoiceNumber: number, clientId, clientName, clientRef, dueDate } = row;
    found.push({
      id,
      number,
      clientId,
      clientName: clientName ?? '',
      clientRef: clientRef ?? '',
      dueDate,
      due: new Big(row.amountDue),
    });
  }
  return found;
}

const maxKeys = 500;

async function recordedAmong(api: Client, systemRefs: readonly string[], signal: AbortSignal): Promise<Set<string>> {
  const found = new Set<string>();
  for (let index = 0; index < systemRefs.length; index += maxKeys) {
    const where = { systemRef: { _in: systemRefs.slice(index, index + maxKeys) } };
    for await (const row of api.searchPayments.rows({ body: { where, fields: ['systemRef'], pageSize: 500 }, signal }))
      found.add(row.systemRef);
  }
  return found;
}

function paymentOf(receipt: Receipt, currency: string, org: string | undefined): Schema<'PaymentUpsert'> {
  const { line, systemRef, proposal } = receipt;
  const attributes = given({
    clientId: proposal.invoices[0]?.invoice.clientId ?? null,
    orgId: org === undefined || !isUnknown(receipt) ? undefined : { systemRef: org },
    paymentDate: line.date,
    amount: line.amount.toFixed(2),
    currency,
    method: line.checkNumber === undefined ? ('WIRE' as const) : ('CHECK' as const),
    source: 'IMPORT' as const,
    checkNumber: line.checkNumber?.slice(0, 40),
    payerName: line.payer?.slice(0, 200),
    note: line.text.slice(0, 2000) || undefined,
    allocations: proposal.invoices.map(({ invoice, amount }) => ({ invoiceId: invoice.id, amount: amount.toFixed(2) })),
  });
  return { type: 'Payment', systemRef, attributes };
}
