import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { cents, divideHalfUp, money, total } from '../../../../test/books/cents.ts';
import { firm } from '../../../../test/modules/billing.ts';
import { only } from '../../../../test/modules/records.ts';
import { sharedService } from '../../../../test/service.ts';
import { findBreaches } from '../ledger/invariants.ts';

type Invoice = components['schemas']['Invoice'];

const service = await sharedService();
const { client, draftOf, invoice, jobId, pay, payment, post, preparer, records, balances } = await firm(service);
const earlyPayment = { percent: '2.00', withinDays: 14 };
const taxed = (unitAmount: string, ratePercent: string) => ({ unitAmount, taxes: [{ name: 'VAT', ratePercent }] });
const offering = async (lines: Parameters<typeof draftOf>[0], more: object = {}) =>
  invoice(await post(await draftOf(lines, { earlyPayment, ...more })));
const change = async ({ systemRef }: { readonly systemRef: string | null }, attributes: object, type = 'Invoice') =>
  only(await records.update([{ type, systemRef, attributes }]));
const take = (bill: Invoice, more: object = {}) => change(bill, { settleEarlyPayment: true, ...more });
const paid = ({ id: invoiceId }: Invoice, amount: string, more: object = {}) =>
  pay(amount, [{ invoiceId, amount }], more);
const agrees = async () => {
  const { id } = service.tenant;
  expect([...(await service.store.read(id, (session) => findBreaches(session, id)))]).toEqual([]);
};

test('settleEarlyPayment settles what is due by a credit note, with the tax of each rate in proportion', async () => {
  const before = await balances();
  const bill = await offering([
    { ...taxed('1000.00', '19'), jobId },
    taxed('500.00', '7'),
    { ...taxed('200.00', '19'), jobId },
  ]);
  expect(bill).toMatchObject({ earlyPayment, earlyPaymentNoteId: null, total: '1963.00' });
  await paid(bill, '1923.74', { paymentDate: '2026-02-14' });
  const taken = await take(bill, { changeDate: '2026-02-20' });
  expect(taken.attributes).toMatchObject({
    status: 'PAID',
    paidDate: '2026-02-20',
    amountPaid: '1923.74',
    amountCredited: '39.26',
    amountWrittenOff: '0.00',
    amountDue: '0.00',
  });
  const note = await invoice(String(taken.attributes?.earlyPaymentNoteId));
  expect(note).toMatchObject({
    documentType: 'CREDIT_NOTE',
    status: 'POSTED',
    creditedInvoiceId: bill.id,
    draftInvoiceId: null,
    invoiceDate: '2026-02-20',
    lines: [
      { lineType: 'DISCOUNT', jobId, description: 'Discount for early payment', amount: '-24.00', taxAmount: '-4.56' },
      { lineType: 'DISCOUNT', jobId: null, amount: '-10.00', taxAmount: '-0.70' },
    ],
    total: '-39.26',
  });
  expect(await take(bill)).toMatchObject({ status: 'UNCHANGED' });
  expect(await balances()).toEqual(before);
  await agrees();
});

test('settleEarlyPayment is rejected unless all but the discount is paid in time, and nothing is pending', async () => {
  const bill = await offering([{ unitAmount: '100.00' }]);
  expect(await take(bill)).toMatchObject({
    error: {
      code: 'INVALID_STATE',
      pointer: '/records/0/attributes/settleEarlyPayment',
      detail: '100.00 is due, and the discount is 2.00. Record the payment first.',
    },
  });
  await paid(bill, '97.99');
  expect((await take(bill)).error?.detail).toContain('2.01 is due, and the discount is 2.00.');
  await paid(bill, '0.01', { paymentDate: '2026-02-15' });
  expect((await take(bill)).error?.detail).toBe('A payment is dated 2026-02-15, and the discount ended on 2026-02-14.');
  const pending = await offering([{ unitAmount: '100.00' }]);
  await paid(pending, '98.00', { method: 'ACH' });
  expect((await take(pending)).error?.detail).toContain('is pending');
  const without = await invoice(await post(await draftOf([{ unitAmount: '100.00' }])));
  await paid(without, '98.00');
  expect((await take(without)).error?.detail).toContain('Only an open invoice with earlyPayment');
  const whole = await offering([{ unitAmount: '100.00' }]);
  await paid(whole, '100.00');
  expect((await take(whole)).error?.detail).toContain('Only an open invoice with earlyPayment');
  const both = await offering([{ unitAmount: '100.00' }]);
  await paid(both, '98.00');
  for (const more of [
    { writeOffAmount: '1.00', writeOffReason: 'Both' },
    { status: 'WRITTEN_OFF', writeOffReason: 'Both' },
  ])
    expect((await take(both, more)).error?.detail).toContain('without another status or write-off');
  expect(await invoice(both.id)).toMatchObject({ status: 'PARTIALLY_PAID', amountDue: '2.00' });
  const imported = {
    clientId: client.id,
    pmsRef: 'early',
    invoiceDate: '2026-01-20',
    dueDate: '2026-03-02',
    lines: [],
  };
  const [failed] = await records.upsert([
    { type: 'Invoice', attributes: { ...imported, earlyPayment, settleEarlyPayment: true } },
  ]);
  expect(failed).toMatchObject({ error: { pointer: '/records/0/attributes/settleEarlyPayment' } });
  await agrees();
});

test('a credit note of the invoice reduces the discount, and does not count as a payment', async () => {
  const bill = await offering([{ unitAmount: '100.00' }]);
  const lines = [{ lineType: 'DISCOUNT' as const, unitAmount: '-50.00' }];
  const more = { creditedInvoiceId: bill.id, proposedInvoiceDate: '2026-02-25' };
  const note = await invoice(await post(await draftOf(lines, more)));
  const { body } = await preparer.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/payments/search', {
    where: { creditNoteId: { _eq: note.id } },
  });
  const allocations = [{ invoiceId: bill.id, amount: '50.00' }];
  await change({ systemRef: body.data[0]?.systemRef ?? '' }, { allocations }, 'Payment');
  await paid(bill, '48.99');
  expect((await take(bill)).error?.detail).toContain('1.01 is due, and the discount is 1.00.');
  await paid(bill, '0.01');
  expect((await take(bill)).attributes).toMatchObject({ status: 'PAID', amountCredited: '51.00', amountPaid: '49.00' });
  await agrees();
});

test('after its credit is unapplied, the credit note of an early payment can be voided, and the discount taken again', async () => {
  const bill = await offering([taxed('100.00', '19')]);
  const received = await paid(bill, '116.62');
  const first = String((await take(bill)).attributes?.earlyPaymentNoteId);
  expect(await change(await invoice(first), { status: 'VOIDED', voidReason: 'Late' })).toMatchObject({
    error: { code: 'INVALID_STATE' },
  });
  const { body } = await preparer.call<{ data: { systemRef: string; id: string }[] }>(
    'POST',
    '/gql/v1/payments/search',
    {
      where: { creditNoteId: { _eq: first } },
    },
  );
  const [credit] = body.data;
  await change({ systemRef: credit?.systemRef ?? '' }, { allocations: [] }, 'Payment');
  expect(await invoice(bill.id)).toMatchObject({ status: 'PARTIALLY_PAID', amountDue: '2.38' });
  expect(await take(bill)).toMatchObject({ status: 'UNCHANGED' });
  expect((await change(await invoice(first), { status: 'VOIDED', voidReason: 'Late' })).status).toBe('UPDATED');
  expect((await payment(credit?.id ?? '')).status).toBe('VOIDED');
  const again = (await take(bill)).attributes;
  expect(again).toMatchObject({ status: 'PAID', amountDue: '0.00' });
  expect(again?.earlyPaymentNoteId).not.toBe(first);
  await change(received, { status: 'RETURNED', changeReason: 'Bounced' }, 'Payment');
  expect(await invoice(bill.id)).toMatchObject({ status: 'POSTED', amountCredited: '0.00', amountDue: '119.00' });
  await agrees();
});

test.each([
  ['returned', '0.00', { status: 'RETURNED', changeReason: 'Bounced' }],
  ['voided', '0.00', { status: 'VOIDED', changeReason: 'Entered twice' }],
  ['refunded in part', '106.62', { refundedAmount: '10.00' }],
  ['unapplied', '0.00', { allocations: [] }],
])('a discount for early payment is withdrawn when its payment is %s', async (_how, left, attributes) => {
  const bill = await offering([{ ...taxed('100.00', '19'), jobId }]);
  const received = await paid(bill, '116.62', { paymentDate: '2026-02-14' });
  const noteId = String((await take(bill, { changeDate: '2026-02-20' })).attributes?.earlyPaymentNoteId);
  const search = <Found>(what: string, where: object) =>
    preparer.call<{ data: Found[] }>('POST', `/gql/v1/${what}/search`, { where });
  const credits = await search<{ id: string }>('payments', { creditNoteId: { _eq: noteId } });
  const creditId = credits.body.data[0]?.id ?? '';
  const events = () =>
    service.store.read(service.tenant.id, (session) =>
      session.all<{ count: number }>(sql`
        select count(*)::integer from recorded_event where entity_id = any(${[bill.id, noteId, creditId]})
        group by entity_id order by entity_id`),
    );
  const before = await events();
  expect((await change(received, { ...attributes, changeDate: '2026-03-01' }, 'Payment')).status).toBe('UPDATED');
  const amountDue = money(cents('119.00') - cents(left));
  expect(await invoice(bill.id)).toMatchObject({ amountPaid: left, amountCredited: '0.00', amountDue });
  expect(await invoice(noteId)).toMatchObject({
    status: 'VOIDED',
    voidReason: expect.stringContaining('is withdrawn'),
  });
  expect(await payment(creditId)).toMatchObject({ status: 'VOIDED', unappliedAmount: '0.00', allocations: [] });
  expect(await events()).toEqual(before.map(({ count }) => ({ count: count + 1 })));
  const day = { businessDate: { _eq: '2026-03-01' }, paymentId: { _eq: creditId } };
  const entries = await search<{ kind: string; amount: string }>('ledger_entries', day);
  expect(entries.body.data.map(({ kind, amount }) => `${kind} ${amount}`).toSorted()).toEqual([
    'DEALLOCATION 2.38',
    'DEALLOCATION 2.38',
    'NOTE_VOID -2.38',
  ]);
  await agrees();
});

test('a payment can be returned on a day before the discount was taken, which is then withdrawn today', async () => {
  const bill = await offering([taxed('100.00', '19')]);
  const received = await paid(bill, '116.62', { paymentDate: '2026-02-14' });
  const noteId = String((await take(bill, { changeDate: '2026-02-20' })).attributes?.earlyPaymentNoteId);
  const returned = { status: 'RETURNED', changeReason: 'Bounced', changeDate: '2026-02-16' };
  expect((await change(received, returned, 'Payment')).status).toBe('UPDATED');
  expect(await invoice(noteId)).toMatchObject({ status: 'VOIDED' });
  await agrees();
});

test('settleEarlyPayment of invoices of several lines and taxes credits exactly what is due', async () => {
  const bills = await Promise.all(
    [
      { percent: '3', lines: [taxed('33.33', '19'), taxed('66.67', '7'), { unitAmount: '0.01' }] },
      { percent: '0.01', lines: [taxed('10.00', '19')] },
      { percent: '2.5', pricesIncludeTax: true, lines: [taxed('340.00', '19'), taxed('79.20', '7')] },
      { percent: '100', lines: [taxed('12.34', '8.25'), { lineType: 'DISCOUNT' as const, ...taxed('-2.34', '8.25') }] },
      {
        percent: '10',
        lines: [
          { unitAmount: '50.00', taxes: [5, 9.975].map((rate) => ({ name: `T${rate}`, ratePercent: String(rate) })) },
        ],
      },
    ].map(({ percent, lines, ...more }) => offering(lines, { ...more, earlyPayment: { percent, withinDays: 14 } })),
  );
  for (const bill of bills) {
    const whole = cents(bill.total);
    const discount = divideHalfUp(whole * cents(bill.earlyPayment?.percent ?? '0'), 10_000n);
    if (discount < whole) await paid(bill, money(whole - discount));
    if (discount === 0n) continue;
    const { attributes } = await take(bill);
    const note = await invoice(String(attributes?.earlyPaymentNoteId));
    expect([attributes?.status, cents(note.total)]).toEqual(['PAID', -discount]);
    expect(total(note.lines.map(({ amount, taxAmount }) => cents(amount) + cents(taxAmount)))).toBe(-discount);
    // Each line is rounded once.
    const difference = divideHalfUp(cents(bill.taxTotal) * discount, whole) + cents(note.taxTotal);
    expect(difference * difference <= BigInt(note.lines.length) ** 2n).toBe(true);
  }
  await agrees();
});

test('the history of a draft has the changes of earlyPayment', async () => {
  const draft = await draftOf([{ unitAmount: '10.00' }]);
  await records.update([{ type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { earlyPayment } }]);
  expect(
    await service.call('POST', '/gql/v1/draft_invoice_histories/search', {
      where: { draftInvoiceId: { _eq: draft.id } },
    }),
  ).toMatchObject({
    status: 200,
    body: {
      data: expect.arrayContaining([
        expect.objectContaining({ changes: { earlyPayment: { old: null, new: earlyPayment } } }),
      ]),
    },
  });
});
