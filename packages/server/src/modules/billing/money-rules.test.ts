import { type RawBuilder, sql } from 'kysely';
import { expect, test } from 'vitest';
import { testService } from '../../../test/service.ts';
import { schemaOf } from '../../contract/contract.ts';
import { parseDecimal } from '../../platform/decimal.ts';
import { amountBy, counts, due, held, owed, totalOfLines, totalSql } from './money-rules.ts';

const { store, tenant } = await testService();
const evaluate = async (expression: RawBuilder<unknown>) => {
  const rows = await store.read(tenant.id, (session) =>
    session.all(sql<{ value: string }>`select (${expression})::text as value`),
  );
  return rows[0]?.value;
};
const statesOf = (name: string) => (schemaOf(name).enum ?? []).map(String);

test('the functions of the database that triggers use have the rules of the service, in every status', async () => {
  const amount = parseDecimal('12.50');
  for (const status of statesOf('PaymentStatus')) {
    expect(await evaluate(sql`counts(${status})`), status).toBe(String(counts(status)));
    const ofRule = amountBy(held, status, { unapplied: amount });
    expect(Number(await evaluate(sql`held(${status}, 12.50)`)), status).toBe(Number(ofRule.toFixed(2)));
  }
  for (const status of statesOf('InvoiceStatus')) {
    const ofRule = amountBy(owed, status, { due: amount });
    expect(Number(await evaluate(sql`outstanding(${status}, 12.50)`)), status).toBe(Number(ofRule.toFixed(2)));
  }
});

test('the amount due that the database calculates is that of the rule, in every status', async () => {
  const [row] = await store.system((transaction) =>
    transaction.all(sql<{ expression: string }>`
      select pg_get_expr(adbin, adrelid) as expression from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
      where adrelid = 'invoice'::regclass and attname = 'amount_due'`),
  );
  const amounts = { total: '100.00', paid: '40.00', credited: '20.00', writtenOff: '10.00' };
  const decimals = {
    total: parseDecimal(amounts.total),
    paid: parseDecimal(amounts.paid),
    credited: parseDecimal(amounts.credited),
    writtenOff: parseDecimal(amounts.writtenOff),
  };
  for (const documentType of statesOf('InvoiceDocumentType'))
    for (const status of statesOf('InvoiceStatus')) {
      const stored = await evaluate(sql`(select ${sql.raw(row?.expression ?? '')} from (values (
        ${status}::text, ${documentType}::text, ${amounts.total}::numeric, ${amounts.paid}::numeric, ${amounts.credited}::numeric,
        ${amounts.writtenOff}::numeric)) i (status, document_type, total, amount_paid, amount_credited, amount_written_off))`);
      const ofRule = amountBy(due, documentType === 'CREDIT_NOTE' ? documentType : status, decimals);
      expect(Number(stored), `${documentType} ${status}`).toBe(Number(ofRule.toFixed(2)));
    }
});

test('the triggers of documents add lines up as the rules say', async () => {
  const texts = await store.system((transaction) =>
    transaction.all(sql<{ text: string }>`
      select prosrc as text from pg_proc where proname in ('check_invoice', 'check_draft_invoice')`),
  );
  expect(texts).toHaveLength(2);
  for (const lineType of statesOf('InvoiceLineType')) {
    const [name, sign] = totalOfLines[lineType] ?? ['subtotal', 1];
    const line = sql`(values (${lineType}::text, 10::numeric, 0::numeric)) l (line_type, amount, tax_amount)`;
    for (const total of ['subtotal', 'discountTotal', 'interestTotal'] as const) {
      const expected = total === name ? sign * 10 : 0;
      expect(Number((await evaluate(sql`(select ${totalSql(total)} from ${line})`)) ?? 0), lineType).toBe(expected);
    }
    for (const { text } of texts) {
      const sums = /select (coalesce\(sum\(amount\)[\s\S]*?)\s+into lines/.exec(text)?.[1] ?? 'null';
      const row = await store.read(tenant.id, (session) => session.first(sql`select ${sql.raw(sums)} from ${line}`));
      const totals = { subtotal: 0, discount_total: 0, interest_total: 0, tax_total: 0 };
      const column = { subtotal: 'subtotal', discountTotal: 'discount_total', interestTotal: 'interest_total' }[name];
      expect(
        Object.fromEntries(Object.entries(row ?? {}).map(([key, value]) => [key, Number(value)])),
        lineType,
      ).toEqual({
        ...totals,
        [column]: 10 * sign,
      });
    }
  }
});
