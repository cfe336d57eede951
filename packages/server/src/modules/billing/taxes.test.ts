/** Documents whose prices include tax, and whose tax is rounded as a whole. `rules/document.unit.test.ts` has the figures. */
import { expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { testService } from '../../../test/service.ts';
import { findBreaches } from './ledger/invariants.ts';

const service = await testService();
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
