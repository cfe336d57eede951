import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { testService } from '../../../test/service.ts';
import { asOperator } from '../../operator/tenants.ts';
import { clientType } from '../reference/reference-data.ts';

const { call, handle, service, store, tenant } = await testService();
const path = '/api/v1/clients/v1/onboard';

interface Onboarded {
  readonly clientId: string;
  readonly clientRef: string;
  readonly clientContactInfoId: string;
  readonly billingAddressId: string | null;
  readonly contacts: readonly { readonly role: string; readonly contactId: string; readonly created: boolean }[];
}
type Row = Readonly<Record<string, unknown>>;

const onboard = (body: object) => call<Onboarded>('POST', path, { name: 'Harbor', address: {}, ...body });
const read = async (kind: 'client' | 'contact', id: string) => (await call<Row>('GET', `/gql/v1/${kind}/${id}`)).body;
const rows = <T = Row>(query: ReturnType<typeof sql>) =>
  store.read(tenant.id, (session) => session.all(query)) as Promise<T[]>;
const list = async (name: string) =>
  (await call<{ data: Row[] }>('POST', `/gql/v1/${name}`, { pageSize: 1000 })).body.data;

/** Counts the rows of all tables that an onboarding writes. */
async function counts(): Promise<Row> {
  const tables = ['client', 'contact', 'contact_client', 'contact_info', 'audit_log', 'recorded_event'];
  const [counted] = await rows(
    sql.raw(`select ${tables.map((table) => `(select count(*) from ${table}) as ${table}`).join(', ')}`) as ReturnType<
      typeof sql
    >,
  );
  return counted ?? {};
}

describe('onboardClient', () => {
  test('creates a client with its addresses, contacts and links', async () => {
    const { status, body, headers } = await onboard({
      name: 'Whole',
      address: { line1: '1 Pier', country: 'US', state: 'California' },
      billingAddress: { line1: '2 Pier' },
      preferredContact: { firstName: 'Ada', lastName: 'Whole', email: 'Ada@Whole.example' },
      billingContact: { displayName: 'Accounts' },
    });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/gql/v1/client/${body.clientId}`);
    const [preferred, billing] = body.contacts;
    expect(body.contacts).toMatchObject([
      { role: 'PREFERRED', created: true },
      { role: 'BILLING', created: true },
    ]);
    expect(await read('client', body.clientId)).toMatchObject({
      name: 'Whole',
      clientRef: body.clientRef,
      pmsRef: body.clientRef,
      status: 'PROSPECT',
      currency: 'USD',
      paymentTermsDays: 30,
      version: 1,
      clientContactInfoId: body.clientContactInfoId,
      billingAddressId: body.billingAddressId,
      preferredContactId: preferred?.contactId,
      billingContactId: billing?.contactId,
      secondaryContactId: null,
      onboardedAt: expect.any(String),
      systemRef: body.clientId,
    });
    expect(await read('contact', preferred?.contactId ?? '')).toMatchObject({
      displayName: 'Ada Whole',
      email: 'ada@whole.example',
      version: 1,
      clients: [
        { clientId: body.clientId, clientRef: body.clientRef, active: true, roles: ['PREFERRED'], isPrimary: true },
      ],
    });
    const infos = (await list('contact_infos')).filter((info) => info.ownerId === body.clientId);
    expect(infos).toMatchObject([
      {
        id: body.clientContactInfoId,
        kind: 'PRIMARY',
        address: { line1: '1 Pier', state: 'CA', country: 'US', city: null },
      },
      { id: body.billingAddressId, kind: 'BILLING', address: { line1: '2 Pier' } },
    ]);
  });

  test('writes nothing if the last step fails, neither audit rows nor events', async () => {
    await onboard({ name: 'Taken', clientRef: 'TAKEN' });
    const before = await counts();
    const people = { preferredContact: { lastName: 'A' }, billingContact: { lastName: 'B' } };
    const late = [
      { ...people, secondaryContact: { pmsRef: 'NOBODY' } },
      { ...people, secondaryContact: { firstName: 'nameless' } },
      { ...people, clientRef: 'TAKEN' },
      { ...people, clientTypeId: '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101' },
      { ...people, fiscalYearEndMonth: 2, fiscalYearEndDay: 30 },
    ];
    for (const body of late) expect((await onboard(body)).status).toBeGreaterThanOrEqual(400);
    // Neither if the database itself fails at the end.
    await store.system(async (transaction) => {
      await transaction.all(
        sql`create function doom() returns trigger language plpgsql as 'begin raise exception ''doomed''; end'`,
      );
      await transaction.all(sql`create trigger doom before insert on recorded_event execute function doom()`);
    });
    expect(await onboard(people)).toMatchObject({ status: 500 });
    await store.system((transaction) => transaction.all(sql`drop trigger doom on recorded_event`));
    expect(await counts()).toEqual(before);
  });

  test.each([
    [{ secondaryContact: { pmsRef: 'NOBODY' } }, 400, 'REFERENCE_NOT_FOUND', '/secondaryContact/pmsRef'],
    [{ billingContact: { firstName: 'nameless' } }, 400, 'VALIDATION_ERROR', '/billingContact/lastName'],
    [{ clientTypeId: '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101' }, 400, 'REFERENCE_NOT_FOUND', '/clientTypeId'],
    [{ clientRef: 'A', pmsRef: 'B' }, 400, 'VALIDATION_ERROR', '/pmsRef'],
    [{ clientRef: 'TAKEN' }, 409, 'DUPLICATE_REF', '/clientRef'],
    [{ pmsRef: 'TAKEN' }, 409, 'DUPLICATE_REF', undefined],
    [{ fiscalYearEndMonth: 2, fiscalYearEndDay: 30 }, 400, 'VALIDATION_ERROR', '/fiscalYearEndDay'],
    [{ outstandingBalance: '1.00' }, 400, 'VALIDATION_ERROR', '/outstandingBalance'],
    [{ taxIdLast4: '1234' }, 400, 'VALIDATION_ERROR', '/taxIdLast4'],
    [{ address: { state: 'CA', zip: '1' } }, 400, 'VALIDATION_ERROR', '/address/zip'],
    [{ address: { state: 'Nowhere', country: 'US' } }, 400, 'VALIDATION_ERROR', '/address/state'],
    [{ billingAddress: { state: 'CA', country: 'CA' } }, 400, 'VALIDATION_ERROR', '/billingAddress/state'],
    [{ name: ' \t' }, 400, 'VALIDATION_ERROR', '/name'],
  ] as const)('reports an error with its pointer: %j', async (body, status, code, pointer) => {
    const response = await onboard(body);
    expect(response).toMatchObject({ status, body: { code } });
    const { errors = [] } = response.body as unknown as { errors?: { pointer: string }[] };
    if (pointer !== undefined) expect(errors.map((error) => error.pointer)).toContain(pointer);
  });

  test('says that a fiscal year does not end on 30 February', async () => {
    const { body } = await onboard({ fiscalYearEndMonth: 2, fiscalYearEndDay: 30 });
    expect(body).toMatchObject({ detail: 'fiscalYearEndDay must be a day of fiscalYearEndMonth.' });
  });
});

describe('onboardClient › the contacts of a new client', () => {
  test('can be one person in three roles, on one link', async () => {
    const person = { lastName: 'Thrice', email: 'thrice@x.example' };
    const { body } = await onboard({ preferredContact: person, billingContact: person, secondaryContact: person });
    expect(new Set(body.contacts.map((contact) => contact.contactId)).size).toBe(1);
    expect(body.contacts.map((contact) => contact.created)).toEqual([true, false, false]);
    const links = (await list('contact_clients')).filter((link) => link.clientId === body.clientId);
    expect(links).toMatchObject([
      { roles: ['PREFERRED', 'BILLING', 'SECONDARY'], receivesInvoices: true, canSign: false },
    ]);
    const id = body.contacts[0]?.contactId;
    expect(await read('client', body.clientId)).toMatchObject({
      preferredContactId: id,
      billingContactId: id,
      secondaryContactId: id,
    });
  });

  test('are found by pmsRef, then by email address in any case, and otherwise created', async () => {
    const first = (await onboard({ preferredContact: { lastName: 'Known', email: 'known@x.example' } })).body
      .contacts[0];
    const other = (await onboard({ preferredContact: { lastName: 'Other', email: 'other@x.example' } })).body
      .contacts[0];
    const { pmsRef } = await read('contact', first?.contactId ?? '');
    const found = async (contact: object) => (await onboard({ preferredContact: contact })).body.contacts[0];
    expect(await found({ pmsRef })).toMatchObject({ contactId: first?.contactId, created: false });
    expect(await found({ pmsRef, email: 'other@x.example' })).toMatchObject({
      contactId: first?.contactId,
      created: false,
    });
    expect(await found({ email: 'OTHER@X.Example' })).toMatchObject({ contactId: other?.contactId, created: false });
    expect(await found({ lastName: 'Known', email: 'other2@x.example' })).toMatchObject({ created: true });
    // An existing contact is linked, not changed.
    expect(await read('contact', other?.contactId ?? '')).toMatchObject({
      lastName: 'Other',
      email: 'other@x.example',
    });
  });
});

describe('onboardClient › a clientRef', () => {
  test('is one value under two names, and is generated if it is omitted', async () => {
    const provided = await Promise.all([
      onboard({ clientRef: 'R-1' }),
      onboard({ pmsRef: 'R-2' }),
      onboard({ clientRef: 'R-3', pmsRef: 'R-3' }),
    ]);
    for (const { body } of provided)
      expect(await read('client', body.clientId)).toMatchObject({ clientRef: body.clientRef, pmsRef: body.clientRef });
    expect(provided.map(({ body }) => body.clientRef)).toEqual(['R-1', 'R-2', 'R-3']);
    expect((await onboard({})).body.clientRef).toMatch(/^C-\d{5}$/);
  });

  test('that is generated skips existing ones', async () => {
    const last = Number((await onboard({})).body.clientRef.slice(2));
    const taken = [1, 2, 4].map((step) => `C-${String(last + step).padStart(5, '0')}`);
    for (const clientRef of taken) expect(await onboard({ clientRef })).toMatchObject({ status: 201 });
    const generated = [(await onboard({})).body.clientRef, (await onboard({})).body.clientRef];
    expect(generated).toEqual([3, 5].map((step) => `C-${String(last + step).padStart(5, '0')}`));
  });
});

describe('onboardClient › a tax ID', () => {
  test('is stored encrypted, and responses only include its end', async () => {
    const { body } = await onboard({ taxId: '98-7654321' });
    const client = await read('client', body.clientId);
    expect(client.taxIdLast4).toBe('4321');
    expect(client).not.toHaveProperty('taxId');
    const [stored] = await rows<{ sealed: Buffer }>(
      sql`select tax_id_encrypted as sealed from client where id = ${body.clientId}`,
    );
    expect(stored?.sealed.toString('latin1')).not.toContain('7654321');
    expect(service.vault.decrypt('tax-id', stored?.sealed ?? Buffer.alloc(0))).toBe('98-7654321');
    const trace = await rows(sql`select after::text, null as data from audit_log where entity_id = ${body.clientId}
      union all select null, data::text from recorded_event where entity_id = ${body.clientId}`);
    expect(JSON.stringify(trace)).not.toContain('7654321');
  });

  test('is encrypted with a new nonce each time, so that equal tax IDs have different ciphertexts', async () => {
    await onboard({ name: 'Sealed', taxId: '11-1111111' });
    await onboard({ name: 'Sealed', taxId: '11-1111111' });
    const sealed = await rows<{ sealed: string }>(
      sql`select encode(tax_id_encrypted, 'hex') as sealed from client where name = 'Sealed'`,
    );
    expect(new Set(sealed.map((row) => row.sealed)).size).toBe(2);
  });

  test('is absent if it is null', async () => {
    const { body } = await onboard({ taxId: null });
    expect(await read('client', body.clientId)).toMatchObject({ taxIdLast4: null });
  });
});

test('onboardClient › omitted fields get the defaults of the client type and the org', async () => {
  const { row: type } = await asOperator(service, tenant, 'test', (unit) =>
    unit.plan((plan) => plan.create(clientType, { name: 'Quick', code: 'Q', defaultPaymentTermsDays: 7 })),
  );
  const { body } = await handle('onboardClient', { body: { name: 'Typed', address: {}, clientTypeId: type.id } });
  expect(await read('client', body.clientId)).toMatchObject({
    paymentTermsDays: 7,
    currency: 'USD',
    clientTypeId: type.id,
  });
  const own = await onboard({ clientTypeId: type.id, paymentTermsDays: 0, currency: 'EUR' });
  expect(await read('client', own.body.clientId)).toMatchObject({ paymentTermsDays: 0, currency: 'EUR' });
});
