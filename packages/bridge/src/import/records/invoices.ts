import Big from 'big.js';
import type { Schema } from '../../../../client/src/index.ts';
import { RowError } from '../../errors.ts';
import { given, hashOf, keyFrom, type PlanContext, recordPlan, systemRefOf } from '../plan.ts';
import type { Row } from '../row.ts';
import { clientOf } from './clients.ts';

const lineFields = ['item', 'description', 'quantity', 'rate', 'amount', 'taxAmount', 'taxRate'] as const;
const states = ['POSTED', 'VOIDED', 'DRAFT'] as const;
type Line = Schema<'ImportedInvoiceLineInput'>;

export const invoices = recordPlan({
  fields: [
    'number',
    'client',
    'kind',
    'date',
    'due',
    'status',
    'currency',
    'memo',
    'order',
    'total',
    'paid',
    ...lineFields,
  ],
  required: ['number', 'client', 'date', 'amount'],
  references: { client: 'client' },
  documentOf: (row) => row.key('number'),
  keyOf(row, field, form) {
    const key = row.key(field);
    return field === 'client' && key !== undefined ? clientOf(form, key) : key;
  },
  plan(rows, context) {
    const [row] = rows;
    const { form } = context;
    const number = keyFrom(row, 'number');
    const isNote = row.choice('kind', ['INVOICE', 'CREDIT_NOTE']) === 'CREDIT_NOTE';
    const status = row.choice('status', states) ?? 'POSTED';
    if (status === 'DRAFT')
      throw new RowError('It is a draft, which has no number yet. Issue it first, or create it anew.');
    const client = clientOf(form, keyFrom(row, 'client'));
    const invoiceDate = row.day('date');
    if (invoiceDate === undefined) throw new RowError(`${row.nameOf('date')} is missing.`);
    const { lines, pricesIncludeTax } = linesOf(rows, isNote);
    const clientId = context.idOf('client', client);
    const currency = row.text('currency')?.toUpperCase();
    const attributes = given({
      invoiceNumber: number,
      pmsRef: pmsRefOf(context, number),
      clientId,
      invoiceDate,
      dueDate: row.day('due') ?? invoiceDate,
      currency,
      memo: row.text('memo', 2000),
      purchaseOrder: row.text('order', 64),
      pricesIncludeTax,
      taxAsStated: true,
      lines,
      ...(status === 'VOIDED'
        ? { status: 'VOIDED' as const, voidReason: `Voided in ${form.system}`, changeDate: invoiceDate }
        : {}),
    });
    const paid = row.decimal('paid');
    const isPaid = paid?.gt(0) === true && !isNote && status === 'POSTED';
    const paymentDate = isPaid ? paidOn(context, invoiceDate, attributes.dueDate) : undefined;
    const amount = paid?.toFixed(2) ?? '';
    const payment = (invoiceId: string) =>
      ({
        type: 'Payment',
        systemRef: systemRefOf(form, 'paid', number),
        source: 'IMPORT',
        attributes: given({
          clientId,
          paymentDate: paymentDate ?? invoiceDate,
          amount,
          currency,
          method: 'OTHER' as const,
          status: 'COMPLETED' as const,
          source: 'IMPORT' as const,
          note: `Paid in ${form.system}`,
          allocations: [{ invoiceId, amount }],
        }),
      }) as const;
    return {
      record: { type: 'Invoice', systemRef: systemRefOf(form, 'invoice', number), source: 'IMPORT', attributes },
      after: paymentDate === undefined ? undefined : payment,
    };
  },
});

function pmsRefOf({ form }: PlanContext, number: string): string {
  const ref = `${form.system}:${number}`;
  return ref.length <= 64 ? ref : `${form.system}:${hashOf(number)}`;
}

/** Files of invoices say how much of them is paid, but not when. */
function paidOn({ options }: PlanContext, invoiceDate: string, dueDate: string): string | undefined {
  const { paidOn: day } = options;
  if (day === 'none') return undefined;
  if (day === 'invoice-date') return invoiceDate;
  return day === 'due-date' ? dueDate : day;
}

type LineRow = Row<(typeof lineFields)[number] | 'total'>;

function linesOf(rows: readonly LineRow[], isNote: boolean): { lines: Line[]; pricesIncludeTax: boolean } {
  const parts = rows.flatMap((row) => {
    const amount = row.decimal('amount');
    // A comment between lines has no amount.
    if (amount === undefined) return [];
    return [{ row, amount, tax: taxOf(row, amount) }];
  });
  if (parts.length === 0) throw new RowError('No row of the document has an amount.');
  const net = parts.reduce((sum, { amount }) => sum.plus(amount), new Big(0));
  const tax = parts.reduce((sum, part) => sum.plus(part.tax.amount), new Big(0));
  const total = rows[0]?.decimal('total');
  const pricesIncludeTax = total !== undefined && !tax.eq(0) && total.abs().eq(net.abs());
  if (total !== undefined && !pricesIncludeTax && !total.abs().eq(net.plus(tax).abs()))
    throw new RowError(
      `The lines and their tax add up to ${net.plus(tax).toFixed(2)}, but the total is ${total.toFixed(2)}. Some rows of the document may be missing.`,
    );
  // Some systems write the amounts of credit notes as positive, some as negative numbers.
  const sign = isNote && net.gt(0) ? -1 : 1;
  const isNegative = net.times(sign).lt(0);
  return { lines: parts.map((part) => lineOf(part, sign, isNegative, pricesIncludeTax)), pricesIncludeTax };
}

interface Tax {
  readonly amount: Big;
  /** In percent; undefined if the amount decides. */
  readonly rate: Big | undefined;
}

function taxOf(row: LineRow, amount: Big): Tax {
  const [stated, rate] = [row.decimal('taxAmount'), row.decimal('taxRate')];
  if (stated !== undefined) return { amount: stated, rate: stated.eq(0) ? undefined : rate };
  return { amount: rate === undefined ? new Big(0) : amount.times(rate).div(100).round(2), rate };
}

function lineOf(
  { row, amount, tax }: { row: LineRow; amount: Big; tax: Tax },
  sign: number,
  isNegative: boolean,
  pricesIncludeTax: boolean,
): Line {
  // With more decimals than the service keeps, both can have another product than in the file.
  const [quantity, rate] = [row.decimal('quantity')?.round(4), row.decimal('rate')?.round(4)];
  const fits =
    quantity !== undefined && rate !== undefined && !quantity.eq(0) && quantity.times(rate).round(2).eq(amount);
  const net = pricesIncludeTax ? amount.minus(tax.amount) : amount;
  const percent = tax.amount.eq(0) || net.eq(0) ? undefined : (tax.rate ?? tax.amount.div(net).times(100).round(4));
  const signed = amount.times(sign);
  return {
    lineType: signed.lt(0) && !isNegative ? 'DISCOUNT' : 'OTHER',
    description: row.text('description', 2000) ?? row.text('item', 2000) ?? 'Services',
    quantity: (fits ? quantity.times(sign) : new Big(sign)).toString(),
    unitAmount: (fits ? rate : amount).toString(),
    ...(percent === undefined
      ? { taxable: false }
      : { taxable: true, taxRatePercent: percent.toString(), taxAmount: tax.amount.times(sign).toFixed(2) }),
  };
}
