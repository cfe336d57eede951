import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testStore } from '../../../../test/database.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { type Decimal, parseDecimal, sum } from '../../../platform/decimal.ts';
import { calculateLines, totalsOf } from './document.ts';
import { reliefOf } from './relief.ts';

const { store, tenantId } = await testStore();
const documents = isNightly ? 2_000 : 150;
const priceOf = (currency: string) => ({ currency, pricesIncludeTax: false, taxRounding: 'LINE' }) as const;

const lineTypes = ['TIME', 'EXPENSE', 'FIXED_FEE', 'PROGRESS', 'DISCOUNT', 'INTEREST', 'OTHER'] as const;

/** A decimal text with a maximum number of places, optionally negative. */
function decimalText(places: number, max: number, isSigned = false): fc.Arbitrary<string> {
  return fc
    .tuple(fc.integer({ min: isSigned ? -max : 0, max }), fc.nat({ max: 10 ** places - 1 }))
    .map(([whole, fraction]) => (places === 0 ? String(whole) : `${whole}.${String(fraction).padStart(places, '0')}`));
}

/** Unit prices with no decimals and with up to four. */
const price = (isSigned: boolean) =>
  fc.constantFrom(0, 2, 3, 4).chain((places) => decimalText(places, 100_000, isSigned));
const quantity = fc.oneof(fc.constant('1'), decimalText(2, 40), decimalText(4, 12));
// Many products of these end in half a cent, where the rounding mode matters.
const tie = fc.constantFrom(
  ['0.5', '0.01'],
  ['0.1', '0.05'],
  ['0.25', '0.02'],
  ['2.5', '0.001'],
  ['7.5', '33.33'],
  ['3', '0.005'],
);

const line = fc
  .record({
    lineType: fc.constantFrom(...lineTypes),
    priced: fc.oneof({ weight: 3, arbitrary: fc.tuple(quantity, price(true)) }, { weight: 1, arbitrary: tie }),
    taxable: fc.boolean(),
    taxRatePercent: fc.oneof(fc.constantFrom('8.25', '19', '5.5', '0.0625', '12.5', '100'), decimalText(4, 99)),
  })
  .map(({ priced: [amountOf = '', unitAmount = ''], ...rest }) => ({ ...rest, quantity: amountOf, unitAmount }));

type Line = typeof line extends fc.Arbitrary<infer Value> ? Value : never;

/** Calculates each line of each document, and each row that a line bills, in PostgreSQL with `numeric`. */
async function calculatedBySql(all: readonly (readonly Line[])[]) {
  const lines = all.flatMap((ofOne, document) => ofOne.map((one, position) => ({ ...one, document, position })));
  return store.read(tenantId, async (session) => {
    const amounts = await session.all(sql<{ document: number; position: number; amount: string; tax: string }>`
      select document, position, amount::text, (case when taxable then round(amount * "taxRatePercent" / 100, 2) else 0 end)::numeric(20, 2)::text as tax
      from (select *, round(quantity * "unitAmount", 2) as amount from jsonb_to_recordset(${JSON.stringify(lines)}::jsonb) as line (
        document integer, position integer, quantity numeric, "unitAmount" numeric, taxable boolean, "taxRatePercent" numeric)) line
      order by 1, 2`);
    const totals = await session.all(sql<Record<string, string>>`
      with line as (select *, round(quantity * "unitAmount", 2) as amount
        from jsonb_to_recordset(${JSON.stringify(lines)}::jsonb) as line (document integer, "lineType" text,
          quantity numeric, "unitAmount" numeric, taxable boolean, "taxRatePercent" numeric)),
      taxed as (select *, case when taxable then round(amount * "taxRatePercent" / 100, 2) else 0 end as tax from line),
      summed as (select document, coalesce(sum(amount) filter (where "lineType" not in ('DISCOUNT', 'INTEREST')), 0) as subtotal,
          coalesce(-sum(amount) filter (where "lineType" = 'DISCOUNT'), 0) as discount,
          coalesce(sum(amount) filter (where "lineType" = 'INTEREST'), 0) as interest, sum(tax) as tax
        from taxed group by 1)
      select subtotal::numeric(20, 2)::text as subtotal, discount::numeric(20, 2)::text as "discountTotal",
        tax::numeric(20, 2)::text as "taxTotal", interest::numeric(20, 2)::text as "interestTotal",
        (subtotal - discount + tax + interest)::numeric(20, 2)::text as total
      from summed order by document`);
    return { amounts, totals };
  });
}

const taxAt = (percent: string) => ({
  name: 'Tax',
  ratePercent: parseDecimal(percent),
  category: null,
  regionId: null,
});

function calculated(lines: readonly Line[]) {
  const priced = calculateLines(
    lines.map(({ quantity: count, unitAmount, taxable, taxRatePercent, ...rest }) => ({
      ...rest,
      quantity: parseDecimal(count),
      unitAmount: parseDecimal(unitAmount),
      taxes: taxable ? [taxAt(taxRatePercent)] : [],
    })),
    priceOf('USD'),
  );
  return { priced, totals: totalsOf(priced) };
}

const text = (value: Decimal) => value.toFixed(2).replace(/^-(0\.00)$/, '$1');

test('random documents have the totals that SQL calculates, rounded half up at each line', async () => {
  const all = fc.sample(fc.array(line, { minLength: 1, maxLength: 6 }), { numRuns: documents, seed: 20_261_122 });
  const ours = all.map(calculated);
  const { amounts, totals } = await calculatedBySql(all);
  expect(ours.flatMap(({ priced }) => priced.map(({ amount, taxAmount }) => [text(amount), text(taxAmount)]))).toEqual(
    amounts.map(({ amount, tax }) => [amount, tax]),
  );
  expect(
    ours.map(({ totals: own }) => Object.fromEntries(Object.entries(own).map(([name, value]) => [name, text(value)]))),
  ).toEqual(totals);
});

test('half a minor unit is rounded away from zero', () => {
  const amountsOf = (count: string, unitAmount: string, currency: string) => {
    const priced = { quantity: parseDecimal(count), unitAmount: parseDecimal(unitAmount) };
    const lines = calculateLines([{ ...priced, taxes: [taxAt('8')] }], priceOf(currency));
    return lines.flatMap(({ amount, taxAmount }) => [text(amount), text(taxAmount)]);
  };
  const amountOf = (count: string, unitAmount: string) => amountsOf(count, unitAmount, 'USD')[0];
  expect(amountsOf('0.5', '1201', 'JPY')).toEqual(['601.00', '48.00']);
  expect([amountOf('0.5', '0.01'), amountOf('-0.5', '0.01'), amountOf('0.5', '0.0099')]).toEqual([
    '0.01',
    '-0.01',
    '0.00',
  ]);
});

test('random lines relieve the work that SQL calculates', async () => {
  const work = fc.record({
    relief: fc.constantFrom('FULL', 'PART'),
    amount: decimalText(2, 9_000, true),
    outstanding: fc.array(decimalText(2, 5_000), { minLength: 1, maxLength: 6 }),
    isNegative: fc.boolean(),
  });
  const all = fc
    .sample(work, { numRuns: documents, seed: 20_261_123 })
    .map(({ isNegative, outstanding, amount, relief }) => ({
      relief,
      amount: amount.replace('-', isNegative ? '-' : ''),
      outstanding: outstanding.map((one) => (isNegative ? `-${one}` : one)),
    }))
    // A line with work has the sign of its work.
    .filter(({ amount, outstanding }) => amount.startsWith('-') === (outstanding[0] ?? '').startsWith('-'))
    .filter(({ outstanding }) => outstanding.some((one) => Number(one) !== 0));
  const rows = all.flatMap(({ outstanding, ...rest }, document) =>
    outstanding.map((one, position) => ({ ...rest, document, position, outstanding: one })),
  );
  const expected = await store.read(tenantId, (session) =>
    session.all(sql<{ document: number; billed: string; up: string; off: string }>`
      with work as (select *, sum(outstanding) over (partition by document) as whole,
          position = max(position) over (partition by document) as is_last
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as work (document integer, position integer,
          relief text, amount numeric, outstanding numeric)),
      shared as (select *, case when is_last then 0 else round(amount * outstanding / whole, 2) end as share,
          relief = 'PART' and abs(amount) <= abs(whole) as is_part from work),
      billed as (select *, case when is_last then amount - sum(share) over (partition by document) else share end as billed
        from shared)
      select document, billed::numeric(20, 2)::text as billed,
        (case when is_part then 0 else greatest(billed - outstanding, 0) end)::numeric(20, 2)::text as up,
        (case when is_part then 0 else greatest(outstanding - billed, 0) end)::numeric(20, 2)::text as off
      from billed order by document, position`),
  );
  const byDocument = Map.groupBy(expected, ({ document }) => document);
  for (const [document, { relief, amount, outstanding }] of all.entries()) {
    const relieved = reliefOf({ relief, amount: parseDecimal(amount) }, outstanding.map(parseDecimal), 'USD');
    const ofSql = byDocument.get(document) ?? [];
    const isWithin = ofSql.every(
      ({ billed }, index) => Math.abs(Number(billed)) <= Math.abs(Number(outstanding[index])),
    );
    // Cents that the last row of a partial billing cannot take go to the rows before it; then only the sum is compared.
    if (relief === 'PART' && !isWithin) {
      expect(text(sum(relieved.map(({ billed }) => billed)))).toBe(text(parseDecimal(amount)));
      continue;
    }
    expect(
      relieved.map(({ billed, writeUp, writeOff }) => ({
        document,
        billed: text(billed),
        up: text(writeUp),
        off: text(writeOff),
      })),
      JSON.stringify({ relief, amount, outstanding }),
    ).toEqual(ofSql);
  }
});
