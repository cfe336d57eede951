import { describe, expect, test } from 'vitest';
import { only, recordsOf } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';
import { allEntities } from '../../entity/registry.ts';

const service = await sharedService();
const records = recordsOf(service);
const withParent = (type: string, systemRef: string, field: string, parent: string) => ({
  type,
  systemRef,
  attributes: { [field]: { systemRef: parent } },
});

/** Creates rows of a type, each a child of the previous one. */
async function chain(type: string, field: string, names: readonly string[], more: (name: string) => object) {
  for (const [index, name] of names.entries()) {
    const parent = index === 0 ? {} : { [field]: { systemRef: names[index - 1] } };
    await records.make(type, { ...more(name), ...parent }, name);
  }
}

const { id: staffTypeId } = await records.make('StaffType', { name: 'Any', code: 'ANY', rank: 1, isBillable: true });
/** What a row requires, by its type and the reference to its parent. */
const newRows: Readonly<Record<string, (name: string) => object>> = {
  'Client parentClientId': (name) => ({ name }),
  'Department parentId': (name) => ({ name, code: name.toUpperCase() }),
  'Industry parentId': (name) => ({ name }),
  'Staff managerId': (name) => ({
    ...{ staffRef: name, firstName: name, lastName: name, email: `${name.replaceAll(' ', '.')}@example.com` },
    ...{ staffTypeId, isBillable: true },
  }),
};

test('all types that refer to rows of their own are tried here', () => {
  const fields = [...allEntities()].flatMap(({ type, keptFields }) =>
    keptFields.flatMap(({ name, references, readOnly }) =>
      references === type && !readOnly ? [`${type} ${name}`] : [],
    ),
  );
  expect(fields.toSorted()).toEqual(Object.keys(newRows));
});

describe.each(Object.entries(newRows))('%s', (key, more) => {
  const [type = '', field = ''] = key.split(' ');
  const invalid = { status: 'FAILED', error: { code: 'VALIDATION_ERROR', pointer: `/records/0/attributes/${field}` } };

  test('cannot be its own parent or grandparent', async () => {
    const [top, middle, bottom] = ['Top', 'Middle', 'Bottom'].map((name) => `${type} ${name}`) as [
      string,
      string,
      string,
    ];
    await chain(type, field, [top, middle, bottom], more);
    expect(only(await records.update([withParent(type, top, field, bottom)]))).toMatchObject(invalid);
    expect(only(await records.update([withParent(type, top, field, top)]))).toMatchObject(invalid);
    const [freed, moved] = await records.update([
      { type, systemRef: middle, attributes: { [field]: null } },
      withParent(type, top, field, bottom),
    ]);
    expect([freed?.status, moved?.status]).toEqual(['UPDATED', 'UPDATED']);
  });

  test('cannot become so by two concurrent calls', async () => {
    const [one, other] = [`${type} one`, `${type} other`];
    for (const name of [one, other]) await records.make(type, more(name), name);
    const results = await Promise.all([
      records.update([withParent(type, one, field, other)]),
      records.update([withParent(type, other, field, one)]),
    ]);
    expect(results.map((result) => only(result).status).sort()).toEqual(['FAILED', 'UPDATED']);
  });

  test('cannot be nested without limit', async () => {
    const names = Array.from({ length: 52 }, (_, index) => `${type} level ${index}`);
    const rows = names.map((name) => ({ type, systemRef: name, attributes: more(name) }));
    expect((await records.upsert(rows)).every(({ status }) => status === 'CREATED')).toBe(true);
    const [last, ...links] = names
      .map((name, index) => withParent(type, name, field, names[index - 1] ?? ''))
      .slice(1)
      .toReversed();
    const linked = await records.update(links.toReversed());
    expect(linked.map(({ status }) => status)).toEqual(links.map(() => 'UPDATED'));
    expect(only(await records.update(last === undefined ? [] : [last]))).toMatchObject(invalid);
  });
});

describe('codes that are not assigned', () => {
  test.each(['ZZ', 'UK', 'XK', 'EU'])('the country %s is rejected', async (country) => {
    const region = { name: 'Nowhere', code: 'ZZ', country, ratePercent: '0', appliesToServices: false };
    const item = only(await records.upsert([{ type: 'TaxRegion', attributes: region }]));
    expect(item.error).toMatchObject({ code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/country' });
    const onboarded = await service.call('POST', '/api/v1/clients/v1/onboard', { name: 'X', address: { country } });
    expect(onboarded).toMatchObject({ status: 400, body: { errors: [{ pointer: '/address/country' }] } });
  });

  test.each(['QQQ', 'DEM', 'ABC'])('the currency %s is rejected', async (currency) => {
    const item = only(await records.upsert([{ type: 'Client', attributes: { name: 'X', currency } }]));
    expect(item.error).toMatchObject({ code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/currency' });
  });

  test.each([
    ['GB', 'GBP'],
    ['AX', 'EUR'],
    ['ZW', 'ZWG'],
  ])('%s and %s are assigned', async (country, currency) => {
    const region = { name: country, code: country, country, ratePercent: '0', appliesToServices: false };
    expect((await records.make('TaxRegion', region)).attributes).toMatchObject({ country });
    expect((await records.make('Client', { name: country, currency })).attributes).toMatchObject({ currency });
  });
});

test('every API user can read reference lists, also as records', async () => {
  const withoutRoles = await service.signIn({ roles: [] });
  expect((await withoutRoles.call('POST', '/gql/v1/departments', {})).status).toBe(200);
  const reader = await service.signIn({ roles: ['RECORD_R'] });
  expect((await reader.call('POST', '/api/v1/records/batch/Department', {})).status).toBe(200);
  expect((await reader.call('POST', '/api/v1/records/batch/Client', {})).status).toBe(403);
});

test('upsertRecords rejects a state that its country does not have, wherever there is an address', async () => {
  const { id: clientId } = await records.make('Client', { name: 'Stateless' });
  const orgId = (await service.call<{ data: { id: string }[] }>('POST', '/gql/v1/orgs', {})).body.data[0]?.id;
  const nowhere = { country: 'US', state: 'Nowhere' };
  const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '5', taxable: false };
  const dated = { invoiceDate: '2026-01-31', dueDate: '2026-03-02', lines: [line] };
  const items: [type: string, attributes: object, pointer: string][] = [
    ['ContactInfo', { ownerType: 'CLIENT', ownerId: clientId, kind: 'HOME', address: nowhere }, 'address/state'],
    ['Office', { name: 'Lost', code: 'LOST', orgId, timeZone: 'UTC', address: nowhere }, 'address/state'],
    ['Invoice', { clientId, pmsRef: 'lost', ...dated, billingAddress: nowhere }, 'billingAddress/state'],
    ['TaxRegion', { name: 'Lost', code: 'US-LO', ...nowhere, ratePercent: '0', appliesToServices: false }, 'state'],
  ];
  const results = await records.upsert(items.map(([type, attributes]) => ({ type, attributes })));
  expect(results.map(({ error }) => [error?.code, error?.pointer])).toEqual(
    items.map(([, , pointer], index) => ['VALIDATION_ERROR', `/records/${index}/attributes/${pointer}`]),
  );
});

test('upsertRecords rejects a time zone that does not exist', async () => {
  const org = (await service.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {})).body.data[0];
  const orgId = { systemRef: org?.systemRef };
  const office = (timeZone: string) => ({ name: timeZone, code: timeZone.slice(0, 4), orgId, timeZone });
  const results = await records.upsert([
    { type: 'Org', systemRef: org?.systemRef, attributes: { timeZone: 'Mars/Olympus' } },
    { type: 'Office', attributes: office('Mars/Olympus') },
    { type: 'Office', attributes: office('Europe/Zurich') },
  ]);
  expect(results.map(({ status, error }) => error?.pointer ?? status)).toEqual([
    '/records/0/attributes/timeZone',
    '/records/1/attributes/timeZone',
    'CREATED',
  ]);
});

/** VAT IDs of companies that publish theirs, or with check digits that are calculated by hand. */
const vatIds = [
  ...[
    'ATU13585627',
    'AU83914571673',
    'BE0411905847',
    'BE1017000062',
    'BG175074752',
    'CHE107787577MWST',
    'CY10259033P',
    'CZ25123891',
    'DE136695976',
  ],
  ...[
    'DK13585628',
    'EE100594102',
    'EL094259216',
    'ESA13585625',
    'FI20774740',
    'FR40303265045',
    'GB980780684',
    'XI980780684',
    'HR33392005961',
  ],
  ...[
    'HU12892312',
    'IE6433435F',
    'IN27AAPFU0939F1ZV',
    'IT00743110157',
    'LT100001919017',
    'LU26375245',
    'LV40003521600',
    'MT11679112',
    'NL000099998B57',
  ],
  ...[
    'NO923609016MVA',
    'NZ49091850',
    'PL8567346215',
    'PT501964843',
    'RO18547290',
    'SE123456789701',
    'SI50223054',
    'SK2022749619',
    'ZA4103456788',
    'CA123456782RT0001',
    'US123456789',
  ],
];

test('vatId of a Client is checked by the rules of its country', async () => {
  const write = (all: readonly string[]) =>
    records.upsert(
      all.map((vatId, index) => ({ type: 'Client', systemRef: `vat-${index}`, attributes: { name: vatId, vatId } })),
    );
  for (const [index, written] of (await write(vatIds)).entries())
    expect(written).toMatchObject({ status: 'CREATED', attributes: { vatId: vatIds[index] } });
  // The last digit of each but the last three is another one.
  const wrong = vatIds
    .slice(0, -3)
    .map((vatId) => vatId.replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10)))
    .concat('ZA5103456788', 'CA123456783RT0001');
  for (const written of await write(wrong))
    expect([written.attributes?.name, written.error]).toEqual([
      undefined,
      expect.objectContaining({ code: 'VALIDATION_ERROR' }),
    ]);
  const [greek, unknown] = await write(['GR094259216', 'ZZ123456789']);
  expect([greek?.error?.detail, unknown?.error?.detail]).toEqual([
    'The VAT IDs of Greece begin with EL.',
    'A VAT ID begins with the code of its country, and ZZ is none.',
  ]);
});

test('vatId of an Org is checked by the rules of its country', async () => {
  const { body } = await service.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
  const write = (vatId: string) =>
    records.update([{ type: 'Org', systemRef: body.data[0]?.systemRef ?? null, attributes: { vatId } }]);
  expect(await write('DE136695976')).toMatchObject([{ status: 'UPDATED', attributes: { vatId: 'DE136695976' } }]);
  expect(await write('DE136695977')).toMatchObject([
    {
      error: {
        pointer: '/records/0/attributes/vatId',
        detail: 'DE136695977 is no VAT ID of DE: its check digits are wrong.',
      },
    },
  ]);
});

test('bankAccounts of an Org, to which clients pay, and the texts of mails with its invoices are written with the role BOOKS_CLOSE alone', async () => {
  const { body } = await service.call<{ data: { id: string; systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
  const bankAccounts = [{ iban: 'DE89370400440532013000', bic: null, accountHolder: null }];
  const write = async (roles: string[], attributes: object) => {
    const { update } = recordsOf(await service.signIn({ roles: ['REF_W', 'RECORD_W', ...roles] }));
    return only(await update([{ type: 'Org', systemRef: body.data[0]?.systemRef, attributes }]));
  };
  const attributes = {
    orgId: body.data[0]?.id,
    name: 'INVOICE',
    subject: 'Invoice',
    text: 'Please pay to our new account.',
  };
  for (const [role, status] of [
    ['REF_W', 'FAILED'],
    ['BOOKS_CLOSE', 'CREATED'],
  ] as const) {
    const { upsert } = recordsOf(await service.signIn({ roles: ['RECORD_W', role] }));
    expect(only(await upsert([{ type: 'MailTemplate', attributes }]))).toMatchObject({ status });
  }
  const forbidden = { error: { code: 'FORBIDDEN', pointer: '/records/0/attributes/bankAccounts' } };
  expect(await write([], { bankAccounts })).toMatchObject(forbidden);
  expect(await write(['BOOKS_CLOSE'], { bankAccounts })).toMatchObject({ status: 'UPDATED' });
  expect(await write([], { bankAccounts: [] })).toMatchObject(forbidden);
  expect(await write([], { legalName: 'Paid LLC' })).toMatchObject({ status: 'UPDATED', attributes: { bankAccounts } });
});

test('bankAccounts of an Org are checked by the rules of IBANs and BICs', async () => {
  const { body } = await service.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
  const write = async (...bankAccounts: object[]) => {
    const systemRef = body.data[0]?.systemRef ?? null;
    return (await records.update([{ type: 'Org', systemRef, attributes: { bankAccounts } }]))[0];
  };
  const valid = ['DE89370400440532013000', 'GB33BUKB20201555555555', 'FR1420041010050500013M02606', 'NO9386011117947'];
  expect(await write(...valid.map((iban) => ({ iban })))).toMatchObject({
    status: 'UPDATED',
    attributes: { bankAccounts: valid.map((iban) => ({ iban, bic: null, accountHolder: null })) },
  });
  const account = { iban: 'DE89370400440532013000', bic: 'COBADEFFXXX', accountHolder: 'Hartwell & Oakes GmbH' };
  expect(await write(account)).toMatchObject({ status: 'UPDATED', attributes: { bankAccounts: [account] } });
  const number = '01-0902-0068389-00';
  const national = { iban: null, accountNumber: number, bank: 'Pier Bank', bic: null, accountHolder: null };
  expect(await write({ iban: null, accountNumber: number, bank: 'Pier Bank' })).toMatchObject({
    attributes: { bankAccounts: [national] },
  });
  expect(await write(national, { iban: null })).toMatchObject({
    error: { pointer: '/records/0/attributes/bankAccounts/1/accountNumber' },
  });
  // Check digits, length, country, and a BIC without one.
  const wrong = ['DE89370400440532013001', 'DE8937040044053201300', 'ZZ89370400440532013000'];
  const pointer = '/records/0/attributes/bankAccounts/1';
  for (const iban of wrong)
    expect(await write(account, { iban })).toMatchObject({
      error: { code: 'VALIDATION_ERROR', pointer: `${pointer}/iban` },
    });
  expect(await write(account, { ...account, bic: 'COBAQQFF' })).toMatchObject({ error: { pointer: `${pointer}/bic` } });
});

test('electronicAddress of a Client has a scheme of the list', async () => {
  const write = async (electronicAddress: object | null) =>
    (
      await records.upsert([{ type: 'Client', systemRef: 'peppol', attributes: { name: 'Peppol', electronicAddress } }])
    )[0];
  const electronicAddress = { scheme: '9930', id: 'DE136695976' };
  expect(await write(electronicAddress)).toMatchObject({ status: 'CREATED', attributes: { electronicAddress } });
  expect(await write({ ...electronicAddress, scheme: '0001' })).toMatchObject({
    error: { pointer: '/records/0/attributes/electronicAddress/scheme' },
  });
  expect(await write({ scheme: '9930' })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  expect(await write(null)).toMatchObject({ status: 'UPDATED', attributes: { electronicAddress: null } });
});
