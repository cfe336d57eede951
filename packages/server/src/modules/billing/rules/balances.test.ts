import { type RawBuilder, sql } from 'kysely';
import { expect, test } from 'vitest';
import { ruleFunctions } from '../../../../scripts/rule-functions.ts';
import { testStore } from '../../../../test/database.ts';
import { schemaOf } from '../../../contract/contract.ts';
import { decimals } from '../../../platform/arithmetic.ts';
import { parseDecimal } from '../../../platform/decimal.ts';
import { outstandingOf } from '../../time/index.ts';
import { due } from './balances.ts';

const { store, tenantId } = await testStore();
const statesOf = (name: string) => (schemaOf(name).enum ?? []).map(String);

test('the functions of the database are those that the rules write', async () => {
  const definitions = () =>
    store.system((transaction) =>
      transaction.all(sql<{ name: string; definition: string }>`
        select proname as name, pg_get_functiondef(oid) as definition from pg_proc
        where pronamespace = current_schema()::regnamespace and prokind = 'f' order by 1`),
    );
  const before = await definitions();
  await store.ownerStatements(ruleFunctions.join('\n'));
  expect(await definitions()).toEqual(before);
  expect(before.map(({ name }) => name)).toEqual(expect.arrayContaining(['counts', 'line_tax', 'document_total']));
});

/** The value of a generated column of a row with these values. */
async function generated(table: string, column: string, row: RawBuilder<unknown>): Promise<string> {
  const [found] = await store.system((transaction) =>
    transaction.all(sql<{ expression: string }>`
      select pg_get_expr(adbin, adrelid) as expression from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
      where adrelid = ${table}::regclass and attname = ${column}`),
  );
  const [value] = await store.read(tenantId, (session) =>
    session.all(sql<{ value: string }>`select (${sql.raw(found?.expression ?? '')})::text as value from (${row}) row`),
  );
  return value?.value ?? '';
}

test('the amount due that the database generates is that of the rule, in every status', async () => {
  const decimal = { total: '100.00', paid: '40.00', credited: '20.00', writtenOff: '10.00' };
  const amounts = {
    total: parseDecimal(decimal.total),
    paid: parseDecimal(decimal.paid),
    credited: parseDecimal(decimal.credited),
    writtenOff: parseDecimal(decimal.writtenOff),
  };
  for (const documentType of statesOf('InvoiceDocumentType'))
    for (const status of statesOf('InvoiceStatus')) {
      const row = sql`select ${status}::text as status, ${documentType}::text as document_type, ${decimal.total}::numeric as total,
        ${decimal.paid}::numeric as amount_paid, ${decimal.credited}::numeric as amount_credited,
        ${decimal.writtenOff}::numeric as amount_written_off`;
      const ofRule = due(decimals(), { status, documentType, ...amounts });
      expect(Number(await generated('invoice', 'amount_due', row)), `${documentType} ${status}`).toBe(
        Number(ofRule.toFixed(2)),
      );
    }
});

test('the outstanding amount of work that the database generates is that of the rule, in every status', async () => {
  const amounts = {
    amount: parseDecimal('100.00'),
    writeUpAmount: parseDecimal('5.00'),
    writeOffAmount: parseDecimal('20.00'),
    billedAmount: parseDecimal('31.00'),
  };
  for (const status of statesOf('WipEntryStatus')) {
    const row = sql`select ${status}::text as status, 100.00 as amount, 5.00 as write_up_amount, 20.00 as write_off_amount,
      31.00 as billed_amount`;
    expect(Number(await generated('wip_entry', 'outstanding_amount', row)), status).toBe(
      Number(outstandingOf({ status, ...amounts }).toFixed(2)),
    );
  }
});
