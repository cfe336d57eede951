/** Documents whose prices include tax, and whose tax is rounded as a whole. `rules/document.unit.test.ts` has the figures. */
import type { components } from '@financial-automation/spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cents, money, total } from '../../../test/books/cents.ts';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';
import { findBreaches } from './ledger/invariants.ts';

const service = await sharedService();
const { client, draftOf, invoice, newClient, newJob, post, records, workFor, wip } = await firm(service);
const { body: orgs } = await service.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
const roundBy = async (taxRounding: string) =>
  records.update([{ type: 'Org', systemRef: orgs.data[0]?.systemRef ?? null, attributes: { taxRounding } }]);
const taxed = (unitAmount: string, taxRatePercent: string) => ({ unitAmount, taxable: true, taxRatePercent });
const agrees = async () => {
  const { id } = service.tenant;
  expect([...(await service.store.read(id, (session) => findBreaches(session, id)))]).toEqual([]);
};

test('prices that include tax are split, on drafts, invoices and imports', async () => {
  const draft = await draftOf([taxed('340.00', '19'), taxed('79.20', '19'), taxed('10.00', '0')], {
    pricesIncludeTax: true,
  });
  expect(draft.attributes).toMatchObject({
    taxRounding: 'LINE',
    lines: [
      { amount: '285.71', taxAmount: '54.29' },
      { amount: '66.55', taxAmount: '12.65' },
      { amount: '10.00', taxAmount: '0.00' },
    ],
    subtotal: '362.26',
    taxTotal: '66.94',
    total: '429.20',
  });
  const [changed] = await records.update([
    { type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { pricesIncludeTax: false } },
  ]);
  expect(changed?.attributes).toMatchObject({
    lines: [{ amount: '340.00', taxAmount: '64.60' }, {}, {}],
    total: '508.85',
  });
  await records.update([{ type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { pricesIncludeTax: true } }]);
  const bill = await invoice(await post(draft));
  expect(bill).toMatchObject({
    pricesIncludeTax: true,
    total: '429.20',
    amountDue: '429.20',
    lines: [{ amount: '285.71' }, {}, {}],
  });
  const line = { lineType: 'OTHER', description: 'Work', quantity: '1', ...taxed('79.20', '19') };
  const dates = { invoiceDate: '2026-01-20', dueDate: '2026-03-02' };
  const imported = only(
    await records.upsert([
      {
        type: 'Invoice',
        attributes: { pmsRef: 'gross', clientId: client.id, ...dates, pricesIncludeTax: true, lines: [line] },
      },
    ]),
  );
  expect(imported.attributes).toMatchObject({ subtotal: '66.55', taxTotal: '12.65', total: '79.20' });
  await agrees();
});

test('tax is rounded over the document if the org says so, and documents keep how they were rounded', async () => {
  const before = await draftOf([taxed('55.55', '23'), taxed('11.11', '23')]);
  await roundBy('DOCUMENT');
  const draft = await draftOf([taxed('55.55', '23'), taxed('11.11', '23'), taxed('0.30', '8')]);
  expect(draft.attributes).toMatchObject({
    taxRounding: 'DOCUMENT',
    lines: [{ taxAmount: '12.78' }, { taxAmount: '2.55' }, { taxAmount: '0.02' }],
    total: '82.31',
  });
  await roundBy('LINE');
  const [kept] = await records.update([
    { type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { pricesIncludeTax: true } },
  ]);
  expect(kept?.attributes).toMatchObject({ taxRounding: 'DOCUMENT', total: '66.96' });
  expect(await invoice(await post(draft))).toMatchObject({ taxRounding: 'DOCUMENT', total: '66.96' });
  expect(await invoice(await post(before))).toMatchObject({ taxRounding: 'LINE', taxTotal: '15.34' });
  await agrees();
});

test('a line whose price includes tax bills work by its amount without tax', async () => {
  const wipId = await workFor('1.00');
  const line = { lineType: 'TIME' as const, ...taxed('226.10', '19'), wipIds: [wipId] };
  expect(await invoice(await post(await draftOf([line], { pricesIncludeTax: true })))).toMatchObject({
    subtotal: '190.00',
    total: '226.10',
  });
  expect(await wip(wipId)).toMatchObject({
    status: 'BILLED',
    billedAmount: '190.00',
    writeUpAmount: '0.00',
    writeOffAmount: '0.00',
  });
  await agrees();
});

test('aggregateBilledLines reports the tax of a period by rate, with credit notes, voids as of a day, and as the ledger has it', async () => {
  const { id: clientId } = await newClient();
  const dates = { clientId, dueDate: '2026-06-30' };
  const bill = async (day: string, lines: Parameters<typeof draftOf>[0], more: object = {}) =>
    invoice(await post(await draftOf(lines, { ...dates, proposedInvoiceDate: day, ...more })));
  const first = await bill('2026-04-10', [taxed('100.00', '19'), taxed('50.00', '7')]);
  const voided = await bill('2026-04-20', [taxed('119.00', '19')], { pricesIncludeTax: true });
  await bill('2026-05-02', [
    taxed('10.00', '19'),
    { unitAmount: '-2.00', lineType: 'DISCOUNT', taxable: true, taxRatePercent: '19' },
  ]);
  const jobId = await newJob(clientId);
  const row = { wipType: 'PROGRESS', clientId, jobId, workDate: '2026-01-10', amount: '-20.00' };
  const { id: work } = await records.make('WipEntry', row);
  await bill('2026-04-25', [{ lineType: 'PROGRESS', ...taxed('-20.00', '19'), wipIds: [work] }], {
    creditedInvoiceId: first.id,
  });
  await records.update([
    {
      type: 'Invoice',
      systemRef: voided.systemRef,
      attributes: { status: 'VOIDED', voidReason: 'Wrong client', changeDate: '2026-05-15' },
    },
  ]);

  const report = async (from: string, to: string) => {
    const { body } = await service.call<{ data: { key: Record<string, string>; values: Record<string, string> }[] }>(
      'POST',
      '/gql/v1/invoice_lines/aggregate',
      {
        where: {
          clientId: { _eq: clientId },
          invoiceDate: { _gte: from, _lte: to },
          status: { _neq: 'PENDING' },
          _or: [{ voidedDate: { _is_null: true } }, { voidedDate: { _gt: to } }],
        },
        groupBy: [{ column: 'taxRatePercent' }],
        measures: { base: { function: 'SUM', column: 'amount' }, tax: { function: 'SUM', column: 'taxAmount' } },
        orderBy: [{ column: 'taxRatePercent', direction: 'asc' }],
      },
    );
    return body.data.map(({ key, values }) => `${Number(key.taxRatePercent)}% of ${values.base}: ${values.tax}`);
  };
  expect(await report('2026-04-01', '2026-04-30')).toEqual(['7% of 50.00: 3.50', '19% of 180.00: 34.20']);
  expect(await report('2026-05-01', '2026-05-31')).toEqual(['19% of 8.00: 1.52']);
  // As of the end of May, the void counts.
  const all = ['7% of 50.00: 3.50', '19% of 88.00: 16.72'];
  expect(await report('2026-04-01', '2026-05-31')).toEqual(all);
  const { body: balance } = await service.call<{ closingBalance: string }>(
    'GET',
    `/api/v1/clients/${clientId}/statement?from=2026-01-01&to=2026-05-31`,
  );
  expect(balance.closingBalance).toBe('158.22');
  const { body: found } = await service.call<{ data: object[] }>('POST', '/gql/v1/invoice_lines/search', {
    where: { documentNumber: { _eq: voided.invoiceNumber } },
  });
  expect(found.data).toMatchObject([
    {
      invoiceId: voided.id,
      status: 'VOIDED',
      voidedDate: '2026-05-15',
      amount: '100.00',
      taxAmount: '19.00',
      clientId,
    },
  ]);
  await agrees();
});

type Invoice = components['schemas']['Invoice'];
type Groups = { data: { key: Record<string, string | null>; values: Record<string, string> }[] };
const gst = { name: 'GST', ratePercent: '5', category: 'S' as const };
const qst = { name: 'QST', ratePercent: '9.975' };

test('a line has several taxes, which a write keeps, and the report has a row for each', async () => {
  const { id: clientId } = await newClient();
  const line = { unitAmount: '100.00', description: 'Advice', taxes: [gst, qst] };
  const untaxed = { unitAmount: '10.00', taxes: [] };
  const draft = await draftOf([line, untaxed], { clientId });
  const taxes = [
    { ...gst, regionId: null, amount: '5.00' },
    { ...qst, category: null, regionId: null, amount: '9.98' },
  ];
  expect(draft.attributes).toMatchObject({
    lines: [
      { taxable: true, taxRatePercent: '14.975', taxes, taxAmount: '14.98' },
      { taxable: false, taxRatePercent: '0', taxes: [], taxAmount: '0.00' },
    ],
    taxTotal: '14.98',
    total: '124.98',
  });
  const { systemRef } = draft;
  const written = { lineType: 'OTHER', quantity: '1', description: 'Work' };
  const write = async (lines: readonly object[]) =>
    records.update([{ type: 'DraftInvoice', systemRef, attributes: { lines } }]);
  // The short form of the taxes of a line keeps them.
  const short = { ...written, unitAmount: '100.00', description: 'Advice', taxable: true };
  for (const one of [{ ...written, ...line }, short, { ...short, taxRatePercent: '14.9750' }])
    expect(await write([one, { ...written, ...untaxed }])).toMatchObject([{ status: 'UNCHANGED' }]);
  const [single] = await write([
    { ...short, taxRatePercent: '19' },
    { ...written, ...untaxed },
  ]);
  expect(single?.attributes?.lines).toMatchObject([
    { taxes: [{ name: 'Tax', ratePercent: '19', category: null, amount: '19.00' }] },
    {},
  ]);
  await write([
    { ...written, ...line },
    { ...written, ...untaxed },
  ]);

  const bill = await invoice(await post(draft));
  expect(bill.lines).toMatchObject([{ taxes }, { taxes: [] }]);
  const { body: report } = await service.call<{ data: object[] }>('POST', '/gql/v1/invoice_lines/search', {
    where: { clientId: { _eq: clientId } },
    orderBy: [{ id: 'asc' }],
  });
  const [first, second] = bill.lines;
  const rows = [
    {
      lineId: first?.id,
      amount: '100.00',
      taxableAmount: '100.00',
      taxName: 'GST',
      taxCategory: 'S',
      taxAmount: '5.00',
    },
    {
      lineId: first?.id,
      amount: '0.00',
      taxableAmount: '100.00',
      taxName: 'QST',
      taxRatePercent: '9.975',
      taxAmount: '9.98',
    },
    { id: second?.id, lineId: second?.id, amount: '10.00', taxableAmount: '0.00', taxName: null, taxable: false },
  ];
  expect(report.data).toHaveLength(3);
  for (const row of rows) expect(report.data).toContainEqual(expect.objectContaining(row));
  await agrees();
});

test.each<[object, string]>([
  [{ taxes: Array(4).fill({ name: 'All', ratePercent: '100' }) }, '/attributes/lines/0/taxes'],
  [{ taxes: [gst], taxable: false }, '/attributes/lines/0/taxable'],
  [{ taxes: [gst], taxRatePercent: '7' }, '/attributes/lines/0/taxRatePercent'],
  [{ taxes: [{ ...gst, regionId: '0199a1c2-0a08-7c01-8a4f-5d2e9b60f1ff' }] }, '/attributes/lines/0/taxes/0/regionId'],
  [{ taxes: [{ ...gst, amount: '5.00' }] }, '/attributes/lines/0/taxes/0'],
])('DraftInvoice › rejects the taxes %j', async (taxes, pointer) => {
  const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '10.00', ...taxes };
  const days = { billThroughDate: '2026-12-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-03-02' };
  const [failed] = await records.upsert([
    { type: 'DraftInvoice', attributes: { clientId: client.id, ...days, lines: [line] } },
  ]);
  expect(failed).toMatchObject({ status: 'FAILED', error: { pointer: expect.stringContaining(pointer) } });
});

test('the report of random documents is the sum of their lines and the entries of the ledger', async () => {
  const { id: clientId } = await newClient();
  const tax = fc.constantFrom(
    gst,
    qst,
    { name: 'VAT', ratePercent: '19' },
    { name: 'VAT', ratePercent: '0', category: 'Z' as const },
  );
  const line = fc.record({
    unitAmount: fc.integer({ min: 1, max: 99_999 }).map((amount) => (amount / 100).toFixed(2)),
    quantity: fc.constantFrom('1', '0.3333', '7.5'),
    taxes: fc.uniqueArray(tax, { maxLength: 4, selector: ({ name, ratePercent }) => name + ratePercent }),
    isDiscount: fc.constantFrom(false, false, false, true),
  });
  const document = fc.record({
    lines: fc.array(line, { minLength: 1, maxLength: 30 }),
    pricesIncludeTax: fc.boolean(),
    taxRounding: fc.constantFrom('LINE', 'DOCUMENT'),
    isCreditNote: fc.boolean(),
  });
  const bills: Invoice[] = [];
  for (const { lines, pricesIncludeTax, taxRounding, isCreditNote } of fc.sample(document, {
    numRuns: 8,
    seed: 20_261_128,
  })) {
    await roundBy(taxRounding);
    const credited = { lineType: 'DISCOUNT' as const, unitAmount: '-900000.00', taxes: [gst] };
    const whole = isCreditNote ? credited : { unitAmount: '100000.00', taxes: [gst] };
    const sent = lines.map(({ isDiscount, unitAmount, ...rest }) =>
      isDiscount ? { ...rest, lineType: 'DISCOUNT' as const, unitAmount: `-${unitAmount}` } : { ...rest, unitAmount },
    );
    bills.push(await invoice(await post(await draftOf([whole, ...sent], { clientId, pricesIncludeTax }))));
  }
  await roundBy('LINE');
  expect(new Set(bills.map(({ documentType }) => documentType)).size).toBe(2);
  const lines = bills.flatMap((bill) => bill.lines);
  const expected = new Map<string, string>();
  const taxed = lines.flatMap(({ amount, taxes }) => taxes.map((one) => ({ base: amount, ...one })));
  for (const [key, of] of Map.groupBy(taxed, ({ name, ratePercent }) => `${name} ${ratePercent}`))
    expected.set(
      key,
      [of.map(({ base }) => base), of.map(({ amount }) => amount)].map((all) => money(total(all.map(cents)))).join(' '),
    );
  const aggregate = async (list: string, body: object) =>
    (await service.call<Groups>('POST', `/gql/v1/${list}/aggregate`, body)).body.data;
  const where = { clientId: { _eq: clientId } };
  const groups = await aggregate('invoice_lines', {
    where: { ...where, taxable: { _eq: true } },
    groupBy: [{ column: 'taxName' }, { column: 'taxRatePercent' }],
    measures: { base: { function: 'SUM', column: 'taxableAmount' }, tax: { function: 'SUM', column: 'taxAmount' } },
  });
  expect(
    new Map(groups.map(({ key, values }) => [`${key.taxName} ${key.taxRatePercent}`, `${values.base} ${values.tax}`])),
  ).toEqual(expected);
  const [sums] = await aggregate('invoice_lines', {
    where,
    measures: { amount: { function: 'SUM', column: 'amount' }, tax: { function: 'SUM', column: 'taxAmount' } },
  });
  // What is credited is held for the client.
  const [credit, receivable] = await aggregate('ledger_entries', {
    where: { ...where, account: { _in: ['CREDIT', 'RECEIVABLE'] } },
    groupBy: [{ column: 'account' }],
    measures: { total: { function: 'SUM', column: 'amount' } },
  });
  const whole = money(total(bills.map((bill) => cents(bill.total))));
  expect(money(cents(sums?.values.amount ?? '') + cents(sums?.values.tax ?? ''))).toBe(whole);
  expect(money(cents(receivable?.values.total ?? '') - cents(credit?.values.total ?? ''))).toBe(whole);
  await agrees();
});

describe('TaxCode', () => {
  const made = async (systemRef: string, taxes: object[]) =>
    (await records.make('TaxCode', { name: systemRef, code: systemRef, taxes }, systemRef)).id;

  test('gives its taxes to lines and clients that name it, and later changes leave them', async () => {
    const taxCodeId = await made('QC', [gst, qst]);
    const { id: clientId } = await records.make('Client', { name: 'Ruelle', taxCodeId });
    const draft = await draftOf(
      [{ taxCodeId }, { taxable: true }, { taxable: true, taxRatePercent: '7' }, { taxes: [gst] }, {}],
      { clientId },
    );
    const both = { taxRatePercent: '14.975', taxCodeId, taxes: [gst, qst] };
    expect(draft.attributes?.lines).toMatchObject([
      both,
      both,
      { taxRatePercent: '7', taxCodeId: null },
      { taxRatePercent: '5' },
      { taxable: false, taxes: [] },
    ]);
    await records.update([{ type: 'TaxCode', systemRef: 'QC', attributes: { taxes: [gst] } }]);
    const again = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '100.00' };
    const [changed] = await records.update([
      {
        type: 'DraftInvoice',
        systemRef: draft.systemRef,
        attributes: {
          lines: [
            { ...again, taxCodeId },
            { ...again, taxable: true },
          ],
        },
      },
    ]);
    expect(changed?.attributes?.lines).toMatchObject([both, { taxes: [gst, qst] }]);
    expect(await invoice(await post(await draftOf([{ taxCodeId }])))).toMatchObject({
      lines: [{ taxes: [gst] }],
    });
    await agrees();
  });

  test('rejects rates of more than 100 percent', async () => {
    const all = { name: 'All', ratePercent: '60' };
    const [failed] = await records.upsert([
      { type: 'TaxCode', attributes: { name: 'All', code: 'ALL', taxes: [all, all] } },
    ]);
    expect(failed).toMatchObject({ status: 'FAILED', error: { pointer: '/records/0/attributes/taxes' } });
    const four = Array.from({ length: 4 }, (_, index) => ({ name: `Tax ${index}`, ratePercent: '100' }));
    const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '10.00', taxes: four };
    const dates = { billThroughDate: '2026-12-31', proposedInvoiceDate: '2026-01-31', dueDate: '2026-03-02' };
    for (const pricesIncludeTax of [false, true]) {
      const attributes = { clientId: client.id, ...dates, pricesIncludeTax, lines: [line] };
      expect(only(await records.upsert([{ type: 'DraftInvoice', attributes }]))).toMatchObject({
        status: 'FAILED',
        error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/lines/0/taxes' },
      });
    }
  });
});

test('taxExemptReason of a client or its region exempts new documents, which keep it', async () => {
  const { id: taxRegionId } = await records.make('TaxRegion', {
    ...{ name: 'Export', code: 'AQ', country: 'AQ', state: null, ratePercent: '19' },
    ...{ appliesToServices: true, taxExemptReason: 'Outside of all states' },
  });
  const { id: ofRegion } = await records.make('Client', { name: 'Station', taxRegionId });
  const { id: ofClient } = await records.make(
    'Client',
    { name: 'Embassy', taxExemptReason: 'Diplomatic mission' },
    'embassy',
  );
  const lines = [{ taxable: true }, { taxable: true, taxRatePercent: '19' }];
  const draft = await draftOf(lines, { clientId: ofClient });
  await records.update([{ type: 'Client', systemRef: 'embassy', attributes: { taxExemptReason: null } }]);
  expect(await invoice(await post(draft))).toMatchObject({
    taxExemptReason: 'Diplomatic mission',
    lines: [
      { taxes: [{ name: 'Tax', ratePercent: '0', category: 'E', amount: '0.00' }] },
      { taxes: [{ ratePercent: '19', category: null }] },
    ],
  });
  expect((await draftOf(lines, { clientId: ofClient })).attributes).toMatchObject({ taxExemptReason: null });
  expect((await draftOf(lines, { clientId: ofRegion })).attributes).toMatchObject({
    taxExemptReason: 'Outside of all states',
    lines: [{ taxes: [{ name: 'Export', category: 'E' }] }, {}],
  });
  await agrees();
});

test('a category that contradicts the rate is rejected where it is written', async () => {
  const pairs = [
    ['S', '0', 'The category S requires a rate above 0.'],
    ['Z', '19', 'The category Z requires the rate 0.'],
  ] as const;
  for (const [category, ratePercent, detail] of pairs) {
    const taxes = [gst, { name: 'VAT', category, ratePercent }];
    const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '10.00', taxes };
    const draft = {
      clientId: client.id,
      billThroughDate: '2026-01-20',
      proposedInvoiceDate: '2026-01-20',
      dueDate: '2026-03-02',
      lines: [line],
    };
    const results = await records.upsert([
      { type: 'DraftInvoice', attributes: draft },
      { type: 'TaxCode', attributes: { name: 'Wrong', code: 'WRONG', taxes } },
    ]);
    expect(results.map(({ error }) => error)).toMatchObject([
      { detail, pointer: '/records/0/attributes/lines/0/taxes/1/category' },
      { detail, pointer: '/records/1/attributes/taxes/1/category' },
    ]);
  }
});

describe('the tax of an import', () => {
  let imports = 0;
  const dates = { invoiceDate: '2026-01-20', dueDate: '2026-03-02' };
  const line = (unitAmount: string, more: object = {}) => ({
    ...{ lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount },
    ...{ taxable: true, taxRatePercent: '19', ...more },
  });
  const importOf = (attributes: object, systemRef = `stated-${++imports}`) => [
    { type: 'Invoice', systemRef, attributes: { pmsRef: systemRef, clientId: client.id, ...dates, ...attributes } },
  ];
  const write = async (attributes: object, systemRef?: string) =>
    only(await records.upsert(importOf(attributes, systemRef)));

  test('is taken within 0.01 per line, or as stated, and the import can be repeated', async () => {
    const near = { lines: [line('10.03', { taxAmount: '1.90' }), line('10.03')] };
    expect(await write(near, 'near')).toMatchObject({
      status: 'CREATED',
      attributes: {
        taxAsStated: true,
        taxTotal: '3.81',
        total: '23.87',
        lines: [{ taxAmount: '1.90' }, { taxAmount: '1.91' }],
      },
    });
    expect(await write(near, 'near')).toMatchObject({ status: 'UNCHANGED' });
    const far = { lines: [line('10.03', { taxAmount: '2.50' })] };
    expect(await write(far)).toMatchObject({
      error: {
        pointer: '/records/0/attributes/lines/0/taxAmount',
        detail: 'The tax of 2.50 is not 1.91, as calculated. Send taxAsStated: true to import it.',
      },
    });
    for (const status of ['CREATED', 'UNCHANGED'])
      expect(await write({ ...far, taxAsStated: true }, 'far')).toMatchObject({
        status,
        attributes: { taxTotal: '2.50' },
      });
    const exact = { lines: [line('10.03', { taxAmount: '1.91' })], taxAsStated: true };
    for (const status of ['CREATED', 'UNCHANGED'])
      expect(await write(exact, 'exact')).toMatchObject({ status, attributes: { taxAsStated: false } });
    await agrees();
  });

  test('of a document is spread over its lines and their taxes, and leaves prices that include it', async () => {
    const two = { taxable: undefined, taxRatePercent: undefined, taxes: [gst, qst] };
    const lines = [line('33.33', two), line('66.67'), line('5.00', { taxable: false, taxRatePercent: '0' })];
    const written = await write({ lines, taxTotal: '17.65', pricesIncludeTax: true, taxAsStated: true });
    expect(written.attributes).toMatchObject({ taxTotal: '17.65', total: '105.00', taxAsStated: true });
    const found = written.attributes?.lines as Invoice['lines'];
    for (const [index, one] of found.entries()) {
      expect(money(cents(one.amount) + cents(one.taxAmount))).toBe(lines[index]?.unitAmount);
      expect(money(total(one.taxes.map(({ amount }) => cents(amount))))).toBe(one.taxAmount);
    }
    expect(await write({ lines, taxTotal: '17.65', pricesIncludeTax: true })).toMatchObject({
      error: { pointer: '/records/0/attributes/taxTotal' },
    });
    expect(await write({ lines: lines.slice(2), taxTotal: '1.00', taxAsStated: true })).toMatchObject({
      error: { pointer: '/records/0/attributes/taxTotal', detail: 'A tax requires a line with taxes.' },
    });
    await agrees();
  });

  test('cannot be stated on a draft', async () => {
    const [failed] = await records.upsert([
      {
        type: 'DraftInvoice',
        attributes: {
          ...{
            clientId: client.id,
            billThroughDate: '2026-12-31',
            proposedInvoiceDate: '2026-01-31',
            dueDate: '2026-03-02',
          },
          lines: [line('10.00', { taxAmount: '1.90' })],
        },
      },
    ]);
    expect(failed).toMatchObject({
      error: { errors: [{ code: 'UNKNOWN_PROPERTY', pointer: '/records/0/attributes/lines/0/taxAmount' }] },
    });
  });
});
