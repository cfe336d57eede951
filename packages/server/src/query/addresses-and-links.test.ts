import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';

const { tenant, signIn } = await testService({ filled: 'examples' });
const { call } = await signIn({ roles: ['API_ADMIN'], tenant });

type Rows = { data: Record<string, unknown>[] };
const search = async (path: string, where: object, orderBy: object[] = []) =>
  (await call<Rows>('POST', path, { where, orderBy })).body.data;

test('searchContactInfos and getContactInfo › return the addresses of a client', async () => {
  const [client] = await search('/gql/v1/clients/search', { clientRef: { _eq: 'C-01042' } });
  const ownerId = { _eq: client?.id };
  const found = await search('/gql/v1/contact_infos/search', { ownerId, active: { _eq: true } }, [{ kind: 'asc' }]);
  expect(found.map(({ kind }) => kind)).toEqual(['BILLING', 'PRIMARY']);
  const primary = await search('/gql/v1/contact_infos/search', { ownerId, kind: { _eq: 'PRIMARY' } });
  expect(await call('GET', `/gql/v1/contact_info/${primary[0]?.id}`)).toMatchObject({ status: 200, body: primary[0] });
  const others = await signIn({ roles: ['CNTCT_R'], tenant });
  expect(await others.call('POST', '/gql/v1/contact_infos/search', {})).toMatchObject({ status: 403 });
});

test('searchQuickPaymentLinks › returns the links of a client by status', async () => {
  const [client] = await search('/gql/v1/clients/search', { clientRef: { _eq: 'C-01042' } });
  const made = await call<{ id: string }>('POST', '/api/v1/clients/v1/link/payment', {
    clientRef: 'C-01042',
    amount: '10.00',
  });
  const links = (status: string) =>
    search('/gql/v1/quick_payment_links/search', { clientId: { _eq: client?.id }, status: { _eq: status } });
  expect((await links('ACTIVE')).map(({ id }) => id)).toContain(made.body.id);
  expect((await links('USED')).map(({ id }) => id)).not.toContain(made.body.id);
});

test.each([
  ['/gql/v1/clients/search', 'parentClientId'],
  ['/gql/v1/clients/search', 'phone'],
  ['/gql/v1/staff/search', 'phone'],
  ['/gql/v1/payments/search', 'checkNumber'],
  ['/gql/v1/payments/search', 'batchRef'],
])('%s › filters by %s', async (path, column) => {
  const all = await search(path, {});
  const [sample] = all.flatMap((row) => (row[column] === null ? [] : [row[column]]));
  const condition = sample === undefined ? { _is_null: true } : { _eq: sample };
  const expected = all.filter((row) => row[column] === (sample ?? null));
  expect(expected.length).toBeGreaterThan(0);
  expect(new Set((await search(path, { [column]: condition })).map(({ id }) => id))).toEqual(
    new Set(expected.map(({ id }) => id)),
  );
});

test('the demo firm has a client with invoices in every format, one of them reminded of and one paid early', async () => {
  const [client] = await search('/gql/v1/clients/search', { clientRef: { _eq: 'C-01044' } });
  const documents = await search('/gql/v1/invoices/search', { clientId: { _eq: client?.id } }, [
    { invoiceNumber: 'asc' },
  ]);
  expect(documents.map(({ documentType, status, total }) => [documentType, status, total])).toEqual([
    ['CREDIT_NOTE', 'POSTED', '-48.28'],
    ['INVOICE', 'PAID', '2414.00'],
    ['INVOICE', 'POSTED', '1530.00'],
  ]);
  for (const { id } of documents) {
    const { body } = await call<{ formats: { missing: object[] }[] }>('GET', `/api/v1/invoices/${id}/documents/json`);
    expect(body.formats.map(({ missing }) => missing)).toEqual([[], [], [], []]);
  }
  const mails = await search('/gql/v1/mails/search', { clientId: { _eq: client?.id } });
  expect(mails.map(({ kind, status, language }) => [kind, status, language])).toEqual([
    ['INVOICE', 'SENT', 'de'],
    ['REMINDER', 'SENT', 'de'],
  ]);
});
