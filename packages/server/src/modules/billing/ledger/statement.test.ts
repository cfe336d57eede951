/** The statement of account of a client. `books.property.test.ts` compares it with the ledger after any sequence of requests. */
import type { components } from '@financial-automation/spec';
import { extractText, getDocumentProxy } from 'unpdf';
import { expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { sharedService } from '../../../../test/service.ts';

type Statement = components['schemas']['ClientStatementPage'];

const service = await sharedService();
const { draftOf, invoice, newClient, pay, post, records } = await firm(service);

const statement = (clientId: string, query: Readonly<Record<string, string>> = {}) =>
  service.call<Statement>(
    'GET',
    `/api/v1/clients/${clientId}/statement?${new URLSearchParams({ from: '2026-02-01', ...query })}`,
  );
const shown = ({ data }: Statement) =>
  data.map(({ kind, documentNumber, amount, balance }) => `${kind} ${documentNumber} ${amount} ${balance}`);

/** A client with an invoice of January, and another one of February that is paid in part. */
async function busyClient(more: object = {}) {
  const { id: clientId } = await newClient(more);
  const bill = async (unitAmount: string, proposedInvoiceDate: string, dueDate: string) =>
    invoice(await post(await draftOf([{ unitAmount }], { clientId, proposedInvoiceDate, dueDate })));
  const [old, recent] = [
    await bill('100.00', '2026-01-10', '2026-01-31'),
    await bill('40.00', '2026-02-10', '2026-03-31'),
  ];
  const { id } = await pay('50.00', [{ invoiceId: recent.id, amount: '30.00' }], {
    clientId,
    paymentDate: '2026-02-12',
  });
  const { body: payment } = await service.call<components['schemas']['Payment']>('GET', `/gql/v1/payment/${id}`);
  return { clientId, old, recent, payment };
}

test('getClientStatement returns balances, movements with document numbers, and ageing', async () => {
  const { clientId, old, recent, payment } = await busyClient();
  const { body } = await statement(clientId, { to: '2026-03-10' });
  expect(body).toMatchObject({
    currency: 'USD',
    openingBalance: '100.00',
    closingBalance: '90.00',
    ageing: { notDue: '10.00', days1To30: '0.00', days31To60: '100.00', unappliedCredit: '20.00' },
    hasMore: false,
  });
  expect(shown(body)).toEqual([
    `INVOICE ${recent.invoiceNumber} 40.00 140.00`,
    `PAYMENT ${payment.paymentNumber} -50.00 90.00`,
  ]);
  await records.update([
    {
      type: 'Invoice',
      systemRef: old.systemRef,
      attributes: { status: 'WRITTEN_OFF', writeOffReason: '=HYPERLINK("x")', changeDate: '2026-03-01' },
    },
  ]);
  const csv = await fetch(
    `${service.address}/api/v1/clients/${clientId}/statement?from=2026-02-01&to=2026-03-10&format=csv`,
    {
      headers: { Authorization: `Bearer ${service.token}`, Tenant: service.tenant.name, Accept: 'text/csv' },
    },
  );
  expect(csv.headers.get('Content-Type')).toBe('text/csv; charset=utf-8; header=present');
  expect(csv.headers.get('Content-Disposition')).toMatch(
    /^attachment; filename="Statement of account .+ 2026-02-01 2026-03-10\.csv"$/,
  );
  expect(await csv.text()).toBe(
    [
      'Date,Kind,Document,Due,Reason,Amount,Balance,Currency',
      '2026-02-01,OPENING,,,,,100.00,USD',
      `2026-02-10,INVOICE,${recent.invoiceNumber},2026-03-31,,40.00,140.00,USD`,
      `2026-02-12,PAYMENT,${payment.paymentNumber},,,-50.00,90.00,USD`,
      `2026-03-01,WRITE_OFF,${old.invoiceNumber},2026-01-31,"'=HYPERLINK(""x"")",-100.00,-10.00,USD`,
      '2026-03-10,CLOSING,,,,,-10.00,USD',
      '',
    ].join('\r\n'),
  );
});

test('getClientStatement shows a payment of another client of the group on both statements', async () => {
  const { id: clientGroupId } = await records.make('ClientGroup', { name: 'Calder' });
  const payer = await busyClient({ clientGroupId });
  const other = await busyClient({ clientGroupId });
  await records.update([
    {
      type: 'Payment',
      systemRef: payer.payment.systemRef,
      attributes: {
        allocations: [
          { invoiceId: payer.recent.id, amount: '30.00' },
          { invoiceId: other.old.id, amount: '15.00' },
        ],
      },
    },
  ]);
  const [{ body: ofPayer }, { body: ofOther }] = [await statement(payer.clientId), await statement(other.clientId)];
  expect([ofPayer.closingBalance, ofOther.closingBalance]).toEqual(['105.00', '75.00']);
  expect(shown(ofPayer)).toContain(`ALLOCATION ${other.old.invoiceNumber} 15.00 105.00`);
  expect(shown(ofOther)).toContain(`ALLOCATION ${other.old.invoiceNumber} -15.00 75.00`);
});

test('getClientStatement is empty in a currency that the client never had', async () => {
  const { clientId } = await busyClient();
  const { body } = await statement(clientId, { currency: 'EUR' });
  expect(body).toMatchObject({ openingBalance: '0.00', closingBalance: '0.00', data: [], nextCursor: null });
  expect(await statement(clientId, { currency: 'ZZZ' })).toMatchObject({ status: 400 });
});

test('getClientStatement rejects a period that ends before it starts, another cursor, an unknown client and a missing role', async () => {
  const { clientId } = await busyClient();
  expect(await statement(clientId, { to: '2026-01-31' })).toMatchObject({
    status: 400,
    body: { errors: [{ in: 'query', pointer: '/to', code: 'OUT_OF_RANGE' }] },
  });
  const { body } = await statement(clientId, { pageSize: '1' });
  const cursor = body.nextCursor ?? '';
  expect(await statement(clientId, { pageSize: '1', cursor })).toMatchObject({
    status: 200,
    body: { data: [{ kind: 'PAYMENT' }] },
  });
  expect(await statement(clientId, { currency: 'EUR', cursor })).toMatchObject({
    status: 400,
    body: { code: 'INVALID_CURSOR' },
  });
  expect(await statement('0199a1c2-0c01-7c01-8a4f-5d2e9b60f1ff')).toMatchObject({ status: 404 });
  const clerk = await service.signIn({ roles: ['INVC_R'] });
  expect(await clerk.call('GET', `/api/v1/clients/${clientId}/statement?from=2026-02-01`)).toMatchObject({
    status: 403,
  });
});

test('the name of the client is shown to who reads clients', async () => {
  const { id: clientId } = await newClient();
  const nameFor = async (...more: string[]) => {
    const reader = await service.signIn({ roles: ['INVC_R', 'PYMT_R', ...more] });
    const path = `/api/v1/clients/${clientId}/statement?from=2026-02-01`;
    return (await reader.call<{ clientName: string | null }>('GET', path)).body.clientName;
  };
  expect([await nameFor(), await nameFor('CLNT_R')]).toEqual([null, expect.any(String)]);
});

test('getClientStatement as PDF shows the movements, the balances and the ageing of the JSON, in the language of the client', async () => {
  const { clientId, recent, payment } = await busyClient();
  const path = `/api/v1/clients/${clientId}/statement?from=2026-02-01&to=2026-03-10&format=pdf`;
  const headers = { Authorization: `Bearer ${service.token}`, Tenant: service.tenant.name, Accept: 'application/pdf' };
  const shownText = async () => {
    const response = await fetch(`${service.address}${path}`, { headers });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/pdf']);
    const { text } = await extractText(await getDocumentProxy(new Uint8Array(await response.arrayBuffer())));
    return text.join('\n').replaceAll(/\s+/g, ' ');
  };
  const english = await shownText();
  for (const words of [
    'Harbor & Pine LLC (C-',
    '1 Pier Portland, OR',
    'Statement of account February 1 – March 10, 2026, all amounts in USD',
    'Opening balance 100.00',
    `Feb 10, 2026 Invoice ${recent.invoiceNumber} 40.00 140.00`,
    `Feb 12, 2026 Payment ${payment.paymentNumber} -50.00 90.00`,
    'Closing balance 90.00',
    '31 to 60 days overdue USD 100.00',
  ])
    expect(english).toContain(words);
  const { body: client } = await service.call<{ systemRef: string }>('GET', `/gql/v1/client/${clientId}`);
  const attributes = { documentLanguage: 'de' };
  await records.update([{ type: 'Client', systemRef: client.systemRef, attributes }]);
  const german = await shownText();
  for (const words of ['Kontoauszug', `Rechnung ${recent.invoiceNumber} 40,00 140,00`, '31 bis 60 Tage überfällig'])
    expect(german).toContain(words);
});
