/** Matches the money that came in to open invoices, and records it as payments, once for each movement. */
import Big from 'big.js';
import type { Client, Schema } from '../../../client/src/index.ts';
import { CsvWriter } from '../files/csv.ts';
import { given, hashOf, systemRefOf } from '../import/plan.ts';
import { Writer } from '../import/writer.ts';
import { Matcher, type OpenInvoice, type Proposal } from './match.ts';
import type { Statement } from './read.ts';
import type { BankLine } from './statement.ts';

export interface Receipt {
  readonly line: BankLine;
  readonly systemRef: string;
  readonly proposal: Proposal;
  /** Why it was not recorded, when it should have been. */
  failure?: string | undefined;
}

export interface BankCounts {
  recorded: number;
  /** How many of these are of unknown payers. */
  unknown: number;
  /** Recorded by an earlier run. */
  before: number;
  failed: number;
  /** Below the least score. */
  unsure: number;
  /** Those that match no open invoice, and are not recorded. */
  unmatched: number;
  /** Movements that take money out, which are no payments of clients. */
  outgoing: number;
}

export interface BankOptions {
  readonly minScore: number;
  readonly apply: boolean;
  /** Whether what matches no open invoice is recorded, too, as payments without a client. */
  readonly suspense: boolean;
  /** The org whose account it is; undefined if the firm has only one. */
  readonly orgId: string | undefined;
  readonly signal: AbortSignal;
  readonly failedPath: string;
}

/** Movements that are matched and recorded at a time. */
const partSize = 200;

/** @param onReceipts is called with the movements that no earlier run has recorded, and how many have been read */
export async function recordPayments(
  api: Client,
  statement: Statement,
  { minScore, apply, suspense, orgId, signal, failedPath }: BankOptions,
  onReceipts: (receipts: readonly Receipt[], movements: number) => void,
): Promise<BankCounts> {
  const { account, currency } = statement;
  const counts = { recorded: 0, unknown: 0, before: 0, failed: 0, unsure: 0, unmatched: 0, outgoing: 0 };
  // Before the payments: one that another run records in between is then known, and its invoice not matched again.
  const matcher = new Matcher(await openInvoices(api, currency, orgId, signal));
  const writer = new Writer(api, apply, signal);
  const failed = new CsvWriter(failedPath);
  const keys = new Keys(account);
  let movements = 0;
  let part: { line: BankLine; systemRef: string }[] = [];
  const record = async () => {
    const known = await recordedAmong(
      api,
      part.map(({ systemRef }) => systemRef),
      signal,
    );
    const receipts: Receipt[] = part
      .filter(({ systemRef }) => !known.has(systemRef))
      .map((one) => ({ ...one, proposal: matcher.propose(one.line, minScore) }));
    counts.before += part.length - receipts.length;
    part = [];
    const sure = receipts.filter((one) => one.proposal.score >= minScore || (suspense && isUnknown(one)));
    const written = await writer.write(sure.map((one) => ({ record: paymentOf(one, currency, orgId) })));
    for (const [index, { reason }] of written.entries()) {
      const receipt = sure[index];
      if (receipt !== undefined) receipt.failure = reason;
    }
    const recorded = new Set(sure.filter(({ failure }) => failure === undefined));
    counts.recorded += recorded.size;
    counts.unknown += [...recorded].filter(isUnknown).length;
    counts.failed += sure.length - recorded.size;
    for (const receipt of receipts) {
      if (recorded.has(receipt)) continue;
      if (receipt.failure === undefined) counts[isUnknown(receipt) ? 'unmatched' : 'unsure'] += 1;
      const { line, systemRef, proposal, failure } = receipt;
      const { date, payer, text, checkNumber } = line;
      const cells = [systemRef, date, line.amount.toFixed(2), currency, account, payer, text, checkNumber];
      await failed.write(header, [...cells, failure ?? reasonOf(proposal)]);
    }
    onReceipts(receipts, movements);
  };
  try {
    for await (const line of statement.lines()) {
      movements += 1;
      if (line.amount.lte(0)) counts.outgoing += 1;
      else part.push({ line, systemRef: keys.of(line) });
      if (part.length === partSize) await record();
    }
    await record();
    await failed.close();
  } catch (error) {
    await failed.discard();
    throw error;
  }
  return counts;
}

/** Whether a movement matches no open invoice: a payment of an unknown payer. */
export function isUnknown({ proposal }: Receipt): boolean {
  return proposal.invoices.length === 0;
}

export function proposedText({ invoices }: Proposal): string {
  return invoices.map(({ invoice }) => invoice.number).join(' + ');
}

const header = ['Key', 'Date', 'Amount', 'Currency', 'Account', 'Payer', 'Text', 'Check number', 'Reason'];

function reasonOf(proposal: Proposal): string {
  return proposal.score === 0
    ? proposal.reason
    : `${proposedText(proposal)}, score ${proposal.score}: ${proposal.reason}`;
}

/**
 * Keys of payments. A movement is the same whenever a file has it: by its key at the bank, otherwise by its content and its place among
 * equal ones. In a file of what was not recorded, where somebody may have changed the text, it has the key that it had.
 */
class Keys {
  readonly #account: string;
  readonly #seen = new Set<number>();
  /** Of those that several movements have. */
  readonly #counts = new Map<number, number>();

  constructor(account: string) {
    this.#account = account;
  }

  of({ id, date, amount, payer, text, checkNumber }: BankLine): string {
    if (id?.startsWith(systemRefOf(form, kind, '')) === true) return id;
    const content = id === undefined ? [payer ?? '', text, checkNumber ?? ''] : [id];
    const hash = hashOf(JSON.stringify([this.#account, date, amount.toFixed(2), ...content]));
    // As numbers of 48 bits, the keys of a large file take little memory.
    const short = Number.parseInt(hash.slice(0, 12), 16);
    const count = this.#seen.has(short) ? (this.#counts.get(short) ?? 1) + 1 : 1;
    if (count === 1) this.#seen.add(short);
    else this.#counts.set(short, count);
    return systemRefOf(form, kind, `${date}:${hash}${count === 1 ? '' : `:${count}`}`);
  }
}

const form = { system: 'bank' };
const kind = 'payment';
const invoiceFields = ['id', 'invoiceNumber', 'clientId', 'clientName', 'clientRef', 'dueDate', 'amountDue'] as const;

/** The open invoices of the org whose account it is: others are paid to another account, and can have the same numbers. */
async function openInvoices(
  api: Client,
  currency: string,
  orgId: string | undefined,
  signal: AbortSignal,
): Promise<OpenInvoice[]> {
  const open = { documentType: { _eq: 'INVOICE' }, currency: { _eq: currency }, amountDue: { _gt: '0.00' } } as const;
  const body = {
    where: {
      ...open,
      status: { _in: ['POSTED' as const, 'PARTIALLY_PAID' as const] },
      ...(orgId !== undefined && { orgId: { _eq: orgId } }),
    },
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

async function recordedAmong(api: Client, systemRefs: readonly string[], signal: AbortSignal): Promise<Set<string>> {
  const found = new Set<string>();
  if (systemRefs.length === 0) return found;
  const body = { where: { systemRef: { _in: [...systemRefs] } }, fields: ['systemRef' as const], pageSize: partSize };
  for await (const row of api.searchPayments.rows({ body, signal })) found.add(row.systemRef);
  return found;
}

function paymentOf(receipt: Receipt, currency: string, orgId: string | undefined): Schema<'PaymentUpsert'> {
  const { line, systemRef, proposal } = receipt;
  const attributes = given({
    clientId: proposal.invoices[0]?.invoice.clientId ?? null,
    orgId: isUnknown(receipt) ? orgId : undefined,
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
