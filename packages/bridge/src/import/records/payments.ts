import Big from 'big.js';
import { RowError } from '../../errors.ts';
import { contentRef, given, keyFrom, recordPlan, systemRefOf } from '../plan.ts';
import { clientOf } from './clients.ts';

const methods = ['ACH', 'CARD', 'CHECK', 'WIRE', 'CASH', 'OTHER'] as const;

export const payments = recordPlan({
  fields: ['key', 'number', 'client', 'date', 'amount', 'currency', 'method', 'invoice', 'memo'],
  required: ['client', 'date', 'amount'],
  references: { client: 'client', invoice: 'invoice' },
  /** A payment of several invoices has a row for each. */
  documentOf(row) {
    const number = row.key('key') ?? row.key('number');
    return number === undefined ? undefined : JSON.stringify([number, row.text('client'), row.text('date')]);
  },
  keyOf(row, field, form) {
    const key = row.key(field);
    return field === 'client' && key !== undefined ? clientOf(form, key) : key;
  },
  plan(rows, context) {
    const [row] = rows;
    const client = clientOf(context.form, keyFrom(row, 'client'));
    const paymentDate = row.day('date');
    if (paymentDate === undefined) throw new RowError(`${row.nameOf('date')} is missing.`);
    let sum = new Big(0);
    const content = [client, paymentDate, row.text('number') ?? ''];
    const allocations = rows.flatMap((part) => {
      // Some exports write money that comes in as a negative amount of the client's account.
      const amount = part.decimal('amount')?.abs();
      if (amount === undefined || amount.eq(0)) throw new RowError(`${part.nameOf('amount')} is missing.`);
      const invoice = part.key('invoice');
      sum = sum.plus(amount);
      content.push(amount.toFixed(2), invoice ?? '');
      return invoice === undefined ? [] : [{ invoiceId: context.idOf('invoice', invoice), amount: amount.toFixed(2) }];
    });
    const method = row.choice('method', methods) ?? 'OTHER';
    const number = row.text('number', 40);
    const key = row.key('key');
    const attributes = given({
      clientId: context.idOf('client', client),
      paymentDate,
      amount: sum.toFixed(2),
      currency: row.text('currency')?.toUpperCase(),
      method,
      status: 'COMPLETED' as const,
      source: 'IMPORT' as const,
      checkNumber: method === 'CHECK' ? number : undefined,
      note: row.text('memo', 2000),
      allocations,
    });
    const systemRef =
      key === undefined
        ? contentRef(context, 'payment', paymentDate, content)
        : systemRefOf(context.form, 'payment', key);
    return { record: { type: 'Payment', systemRef, source: 'IMPORT', attributes } };
  },
});
