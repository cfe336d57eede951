import { expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { only } from '../../../../test/modules/records.ts';
import { sharedService } from '../../../../test/service.ts';
import { findBreaches } from '../ledger/invariants.ts';

const service = await sharedService();
const { client, draftOf, invoice, pay, post, records, balances } = await firm(service);
const { body: orgs } = await service.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
const posted = async (unitAmount = '100.00') => invoice(await post(await draftOf([{ unitAmount }])));
const change = async ({ systemRef }: { readonly systemRef: string }, attributes: object) =>
  only(await records.update([{ type: 'Invoice', systemRef, attributes }]));
const entriesOf = async (id: string) => {
  const { body } = await service.call<{ data: { kind: string; amount: string; reason: string | null }[] }>(
    'POST',
    '/gql/v1/ledger_entries/search',
    { where: { account: { _eq: 'RECEIVABLE' }, invoiceId: { _eq: id } }, orderBy: [{ id: 'asc' }] },
  );
  return body.data.map(({ kind, amount, reason }) => [kind, amount, reason]);
};
const agrees = async () => {
  const { id } = service.tenant;
  expect([...(await service.store.read(id, (session) => findBreaches(session, id)))]).toEqual([]);
};
const settling = (settleWithin: string) =>
  records.update([{ type: 'Org', systemRef: orgs.data[0]?.systemRef ?? null, attributes: { settleWithin } }]);

test('writeOffAmount writes off a part of an invoice, and a lower one is due again', async () => {
  const before = await balances();
  const bill = await posted();
  const part = { writeOffAmount: '20.00', writeOffReason: 'Agreed with the client' };
  expect((await change(bill, part)).attributes).toMatchObject({
    status: 'POSTED',
    amountWrittenOff: '20.00',
    amountDue: '80.00',
    writeOffReason: 'Agreed with the client',
  });
  expect(await change(bill, part)).toMatchObject({ status: 'UNCHANGED' });
  expect((await change(bill, { writeOffAmount: '5.00', changeReason: 'Too much' })).attributes).toMatchObject({
    amountWrittenOff: '5.00',
    amountDue: '95.00',
    writeOffReason: 'Agreed with the client',
  });
  await pay('50.00', [{ invoiceId: bill.id, amount: '50.00' }]);
  expect((await change(bill, { writeOffAmount: '0.00', changeReason: 'Paid after all' })).attributes).toMatchObject({
    status: 'PARTIALLY_PAID',
    amountWrittenOff: '0.00',
    amountDue: '50.00',
    writeOffReason: null,
  });
  expect(await entriesOf(bill.id)).toEqual([
    ['INVOICE', '100.00', null],
    ['WRITE_OFF', '-20.00', 'Agreed with the client'],
    ['RECOVERY', '15.00', 'Too much'],
    ['ALLOCATION', '-50.00', null],
    ['RECOVERY', '5.00', 'Paid after all'],
  ]);
  expect(Number((await balances()).outstandingBalance) - Number(before.outstandingBalance)).toBe(50);
  await agrees();
});

test.each<[object, string]>([
  [{ writeOffAmount: '100.00', writeOffReason: 'All' }, 'writeOffAmount'],
  [{ writeOffAmount: '120.00', writeOffReason: 'More' }, 'writeOffAmount'],
  [{ writeOffAmount: '10.00' }, 'writeOffReason'],
  [{ writeOffReason: 'Nothing' }, 'writeOffReason'],
  [{ writeOffAmount: '10.00', writeOffReason: 'Both', status: 'WRITTEN_OFF' }, 'writeOffAmount'],
  [{ settleRest: true, writeOffReason: 'No limit' }, 'settleRest'],
  [{ status: 'PAID', writeOffReason: 'Not settled' }, 'settleRest'],
])('Invoice › rejects the write-off %j', async (attributes, field) => {
  const bill = await posted();
  expect(await change(bill, attributes)).toMatchObject({ error: { pointer: `/records/0/attributes/${field}` } });
  expect(await invoice(bill.id)).toMatchObject({ status: 'POSTED', amountDue: '100.00', version: bill.version });
});

test('writeOffAmount of a paid invoice or an import is rejected', async () => {
  const bill = await posted();
  await pay('100.00', [{ invoiceId: bill.id, amount: '100.00' }]);
  const part = { writeOffAmount: '1.00', writeOffReason: 'Late' };
  expect(await change(bill, part)).toMatchObject({ error: { code: 'INVALID_STATE' } });
  const imported = { pmsRef: 'part', clientId: client.id, invoiceDate: '2026-01-20', dueDate: '2026-03-02', lines: [] };
  const [failed] = await records.upsert([{ type: 'Invoice', attributes: { ...imported, writeOffAmount: '1.00' } }]);
  expect(failed).toMatchObject({ error: { pointer: '/records/0/attributes/writeOffAmount' } });
});

test('settleRest settles a rest of at most settleWithin of the org, which a returned payment leaves written off', async () => {
  await settling('2.00');
  const bill = await posted();
  const settled = { settleRest: true, writeOffReason: 'Bank charges', changeDate: '2026-02-10' };
  expect(await change(bill, settled)).toMatchObject({
    error: { detail: '100.00 is due, and the org settles at most 2.00 (settleWithin).' },
  });
  const payment = await pay('98.00', [{ invoiceId: bill.id, amount: '98.00' }]);
  expect((await change(bill, settled)).attributes).toMatchObject({
    status: 'PAID',
    paidDate: '2026-02-10',
    amountPaid: '98.00',
    amountWrittenOff: '2.00',
    amountDue: '0.00',
    writeOffReason: 'Bank charges',
  });
  expect(await change(bill, settled)).toMatchObject({ status: 'UNCHANGED' });
  expect((await entriesOf(bill.id)).at(-1)).toEqual(['WRITE_OFF', '-2.00', 'Bank charges']);
  await agrees();
  await records.update([
    { type: 'Payment', systemRef: payment.systemRef, attributes: { status: 'RETURNED', changeReason: 'Bounced' } },
  ]);
  expect(await invoice(bill.id)).toMatchObject({
    status: 'POSTED',
    amountDue: '98.00',
    amountWrittenOff: '2.00',
    paidDate: null,
  });
  await pay('98.00', [{ invoiceId: bill.id, amount: '98.00' }], { paymentDate: '2026-02-20' });
  expect(await invoice(bill.id)).toMatchObject({ status: 'PAID', amountWrittenOff: '2.00' });
  await settling('0.00');
  await agrees();
});

test('an invoice of which an amount was written off is WRITTEN_OFF when the rest is paid', async () => {
  const bill = await posted();
  await change(bill, { writeOffAmount: '20.00', writeOffReason: 'Agreed with the client' });
  await pay('80.00', [{ invoiceId: bill.id, amount: '80.00' }]);
  expect(await invoice(bill.id)).toMatchObject({ status: 'WRITTEN_OFF', amountDue: '0.00', paidDate: null });
});

test('settleRest as of a day before the last payment leaves the invoice paid on the day of that payment', async () => {
  await settling('2.00');
  const bill = await posted();
  await pay('98.00', [{ invoiceId: bill.id, amount: '98.00' }], { paymentDate: '2026-02-20' });
  const settled = { settleRest: true, writeOffReason: 'Bank charges', changeDate: '2026-02-10' };
  expect((await change(bill, settled)).attributes).toMatchObject({ status: 'PAID', paidDate: '2026-02-20' });
  await settling('0.00');
});

test('the status POSTED or PARTIALLY_PAID makes a rest due again that was settled, and the invoice can be voided', async () => {
  await settling('2.00');
  const undo = { status: 'POSTED', changeReason: 'Settled by mistake' };
  const small = await posted('1.50');
  await change(small, { settleRest: true, writeOffReason: 'Too small' });
  expect(await change(small, { writeOffAmount: '0.00', changeReason: 'No' })).toMatchObject({
    error: { detail: expect.stringContaining('set the status POSTED or PARTIALLY_PAID') },
  });
  expect(await change(small, { status: 'VOIDED', voidReason: 'Twice' })).toMatchObject({
    error: { detail: expect.stringContaining('undo the settlement of a rest') },
  });
  const reopened = { status: 'POSTED', amountDue: '1.50', amountWrittenOff: '0.00', writeOffReason: null };
  expect((await change(small, undo)).attributes).toMatchObject({ ...reopened, paidAt: null, paidDate: null });
  expect(await entriesOf(small.id)).toEqual([
    ['INVOICE', '1.50', null],
    ['WRITE_OFF', '-1.50', 'Too small'],
    ['RECOVERY', '1.50', 'Settled by mistake'],
  ]);
  expect(await change(small, { status: 'VOIDED', voidReason: 'Twice' })).toMatchObject({ error: null });

  const bill = await posted();
  const payment = await pay('99.00', [{ invoiceId: bill.id, amount: '99.00' }]);
  await change(bill, { settleRest: true, writeOffReason: 'Bank charges' });
  expect(await change(bill, undo)).toMatchObject({ error: { detail: expect.stringContaining('PARTIALLY_PAID') } });
  expect(await change(bill, { status: 'PARTIALLY_PAID' })).toMatchObject({
    error: { pointer: '/records/0/attributes/changeReason' },
  });
  expect((await change(bill, { ...undo, status: 'PARTIALLY_PAID' })).attributes).toMatchObject({
    status: 'PARTIALLY_PAID',
    amountDue: '1.00',
    amountWrittenOff: '0.00',
    paidDate: null,
  });
  await records.update([
    {
      type: 'Payment',
      systemRef: payment.systemRef,
      attributes: { allocations: [{ invoiceId: bill.id, amount: '99.00' }] },
    },
  ]);
  await pay('1.00', [{ invoiceId: bill.id, amount: '1.00' }]);
  expect(await change(bill, { ...undo, status: 'PARTIALLY_PAID' })).toMatchObject({
    error: { code: 'INVALID_STATE', detail: expect.stringContaining('Unapply, refund or void its payments') },
  });
  await settling('0.00');
  await agrees();
});
