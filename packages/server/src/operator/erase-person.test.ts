import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { recordsOf } from '../../test/modules/records.ts';
import { testService } from '../../test/service.ts';
import { schemaOf } from '../contract/contract.ts';
import { replacements } from '../modules/contacts/index.ts';
import { tenantTables } from '../platform/store/tenant-tables.ts';
import { checkBooks } from './books.ts';
import { erasePerson } from './erase-person.ts';
import { checkRows } from './rows.ts';

const caller = await testService({ filled: 'examples' });
const { service, store, tenant } = caller;
const operator = { service };
const records = recordsOf(caller);

/** The tables in which a text appears, as the tenant sees them. */
async function tablesWith(text: string): Promise<string[]> {
  return store.write(tenant.id, async (transaction) => {
    const tables = await transaction.all<{ name: string }>(
      sql.join(
        (await tenantTables(transaction)).map(
          ({ name }) => sql`(select ${name}::text as name from ${sql.table(name)} t
            where tenant_id = ${tenant.id} and t::text like ${`%${text}%`} limit 1)`,
        ),
        sql` union all `,
      ),
    );
    return tables.map(({ name }) => name);
  });
}

interface Item {
  readonly source: string;
  readonly row: string;
  readonly field: string;
  readonly value: string;
}

/** All pages of `getPersonalData`. */
async function exported(id: string, pageSize: number): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `/api/v1/people/${id}/personal-data?pageSize=${pageSize}${cursor && `&cursor=${cursor}`}`;
    const { status, body }: { status: number; body: { data: Item[]; hasMore: boolean; nextCursor: string | null } } =
      await caller.call('GET', path);
    expect([status, body.data.length <= pageSize, body.hasMore]).toEqual([200, true, body.nextCursor !== null]);
    items.push(...body.data);
    cursor = body.nextCursor;
  }
  return items;
}

const tableOf = (source: string) => source.replace(/(?<=.)[A-Z]/g, '_$&').toLowerCase();

test('person erase › a contact is in no row, event, audit row or stored response any more, and the books are the same', async () => {
  const attributes = {
    firstName: 'Philomena',
    lastName: 'Quatermain',
    email: 'phil@before.example',
    phone: '+15035550999',
  };
  const { id } = await records.make('Contact', attributes, 'philomena');
  await records.make(
    'ContactInfo',
    {
      ownerType: 'CONTACT',
      ownerId: id,
      kind: 'HOME',
      email: 'Phil.Q@Both.example',
      address: { line1: '77 Hidden Lane', city: 'Salem', state: 'OR', postalCode: '97301', country: 'US' },
    },
    'home',
  );
  await records.update([
    {
      type: 'Contact',
      systemRef: 'philomena',
      attributes: { email: 'phil@after.example' },
      metadata: { nickname: 'Pippa Longstocking' },
    },
  ]);
  const invoices = await caller.call<{ data: { id: string; status: string }[] }>('POST', '/gql/v1/invoices', {});
  const posted = invoices.body.data.find(({ status }) => status === 'POSTED')?.id;
  const mailed = await caller.call<{ mailId: string }>('POST', `/api/v1/invoices/${posted}/send`, {
    to: ['phil@after.example', 'Phil.Q@Both.example'],
    message: 'For PHIL@AFTER.EXAMPLE',
  });
  expect(mailed.status).toBe(202);
  const texts = [
    'Quatermain',
    'phil@before.example',
    'phil@after.example',
    'PHIL@AFTER.EXAMPLE',
    'phil.q@both.example',
    '+15035550999',
    '77 Hidden Lane',
    'Pippa Longstocking',
  ];
  const before = await Promise.all(texts.map(tablesWith));
  expect(before.every((tables) => tables.includes('audit_log') && tables.includes('recorded_event'))).toBe(true);
  // An export has each of them, wherever it is, and nothing else of it can be erased.
  const items = await exported(id, 1000);
  for (const [index, text] of texts.entries()) {
    const sources = items.flatMap(({ source, value }) => (value.includes(text) ? [tableOf(source)] : []));
    expect([text, [...new Set(sources)].toSorted()]).toEqual([text, before[index]?.toSorted()]);
  }
  expect(await exported(id, 7)).toEqual(items);
  const mailPath = `/gql/v1/mail/${mailed.body.mailId}`;
  const { body: copy } = await caller.call<{ id: string; version: number }>('GET', mailPath);
  const erasure = await erasePerson(operator, { tenant: 'firm', type: 'Contact', ref: 'philomena' });
  expect(erasure).toMatchObject({ id, customRecords: 0, files: 0 });
  expect(erasure.rows).toMatchObject({ audit_log: expect.any(Number), recorded_event: expect.any(Number) });
  for (const text of texts) expect([text, await tablesWith(text)]).toEqual([text, []]);
  const { body } = await caller.call<Record<string, unknown>>('GET', `/gql/v1/contact/${id}`);
  expect(body).toMatchObject({ ...replacements.Contact, pmsRef: expect.any(String) });
  const erased = new Set(items.filter(({ source }) => !/[A-Z]/.test(source)).map(({ source }) => source));
  expect(Object.keys(erasure.rows)).toEqual(expect.arrayContaining([...erased]));
  expect(await exported(id, 1000)).toEqual([]);
  // Whoever has copied the mail gets it without the person.
  const { body: mail } = await caller.call<{ version: number }>('GET', mailPath);
  const [event] = await store.read(tenant.id, (session) =>
    session.all<{ data: object }>(sql`
      select data from recorded_event where entity_type = 'Mail' and entity_id = ${copy.id} order by sequence desc limit 1`),
  );
  expect(event?.data).toEqual(mail);
  expect(mail.version).toBeGreaterThan(copy.version);
  // It can be repeated, and is recorded without what was erased.
  expect(await erasePerson(operator, { tenant: 'firm', type: 'Contact', ref: id })).toMatchObject({ id });
  const acts = await store.system((transaction) =>
    transaction.all<{ details: object }>(sql`select details from operator_log where operation = 'person erase'`),
  );
  expect(acts).toMatchObject([{ details: { type: 'Contact', id } }, { details: { type: 'Contact', id } }]);
});

test('person erase › names and addresses that contain those of the person are kept', async () => {
  const person = { firstName: 'Ana', lastName: 'Torv', email: 'ana@near.example', phone: '+15035550111' };
  await records.make('Contact', person, 'ana');
  const others = ['Diana Torv', 'Ana Torvald', 'diana@near.example', 'ana@near.example.org', '+150355501112'];
  const invoices = await caller.call<{ data: { id: string; status: string }[] }>('POST', '/gql/v1/invoices', {});
  const posted = invoices.body.data.find(({ status }) => status === 'POSTED')?.id;
  const mail = { to: ['diana@near.example', 'ana@near.example.org', person.email], message: others.join(', ') };
  expect((await caller.call('POST', `/api/v1/invoices/${posted}/send`, mail)).status).toBe(202);
  const before = await Promise.all(others.map(tablesWith));
  await erasePerson(operator, { tenant: 'firm', type: 'Contact', ref: 'ana' });
  expect(await Promise.all(others.map(tablesWith))).toEqual(before);
  expect(before.flat()).toEqual(expect.arrayContaining(['audit_log', 'mail', 'recorded_event']));
  expect(await tablesWith(',ana@near.example}')).toEqual([]);
});

test('person erase › a staff member with work keeps hours and amounts, and other people keep their data', async () => {
  const { body } = await caller.call<{ data: { id: string; email: string; displayName: string }[] }>(
    'POST',
    '/gql/v1/staff/search',
    { pageSize: 2 },
  );
  const [person, other] = body.data;
  if (person === undefined || other === undefined) throw new Error('The demo data has no staff.');
  expect(await tablesWith(person.email)).toContain('recorded_event');
  const { rows } = await erasePerson(operator, { tenant: 'firm', type: 'Staff', ref: person.id });
  expect(Object.keys(rows)).toContain('recorded_event');
  for (const text of [person.email, person.displayName]) expect([text, await tablesWith(text)]).toEqual([text, []]);
  for (const text of [other.email, other.displayName]) expect(await tablesWith(text)).toContain('staff');
  expect(await checkBooks(operator, { tenant: 'firm', repair: false })).toEqual({ differences: [], breaches: [] });
  let after: Parameters<typeof checkRows>[1]['after'] = null;
  do {
    const report: Awaited<ReturnType<typeof checkRows>> = await checkRows(operator, { tenant: 'firm', after });
    expect(report.findings).toEqual([]);
    after = report.next;
  } while (after !== null);
  await expect(erasePerson(operator, { tenant: 'firm', type: 'Staff', ref: 'none' })).rejects.toThrow(
    /^The tenant firm has no Staff/,
  );
});

test('getPersonalData › has files that the person uploaded and custom records, and is for the administrator', async () => {
  const { id } = await records.make(
    'Contact',
    { firstName: 'Aurelio', lastName: 'Vantongeren', email: 'aurelio@uploads.example' },
    'aurelio',
  );
  expect(await records.define('Visit', [{ name: 'note', type: 'STRING', rank: 10 }])).toMatchObject({ status: 201 });
  await records.make('Visit', { note: 'Lunch with Aurelio Vantongeren' }, 'lunch');
  await store.write(tenant.id, (transaction) =>
    transaction.all(sql`update file set uploaded_by_type = 'CONTACT', uploaded_by_id = ${id}
      where tenant_id = ${tenant.id} and id = (select min(id::text)::uuid from file)`),
  );
  const items = await exported(id, 100);
  expect(items).toContainEqual(
    expect.objectContaining({
      source: 'custom_record',
      field: 'attributes/note',
      value: 'Lunch with Aurelio Vantongeren',
    }),
  );
  expect(items).toContainEqual(expect.objectContaining({ source: 'file', field: 'file_name' }));
  const other = await caller.signIn({ roles: ['CNTCT_R', 'STAFF_R', 'RECORD_R', 'FILE_R'] });
  const path = `/api/v1/people/${id}/personal-data`;
  expect(await other.call('GET', path)).toMatchObject({ status: 403 });
  const absent = path.replace(id, '0199a1c2-0c02-7c01-8a4f-5d2e9b60ffff');
  expect(await caller.call('GET', absent)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
});

test('person erase › no property of a person is forgotten', () => {
  // What identifies nobody, and the keys by which other systems and other rows refer to the person.
  const kept = {
    all: 'id systemRef sysRefs active createdAt updatedAt version',
    Contact: 'pmsRef preferredChannel portalEnabled emailOptOut primaryContactInfoId clients clientsCount',
    ContactInfo: 'ownerType ownerId kind',
    Staff: `staffRef pmsRef staffTypeId departmentId officeId orgId managerId hireDate terminationDate isBillable weeklyCapacityHours
      targetUtilizationPercent status rateCardAssignment displayName email`,
  };
  // The names of related rows are not stored.
  for (const type of ['Contact', 'ContactInfo', 'Staff'] as const)
    expect(
      Object.keys(schemaOf(type).properties ?? {})
        .filter((name) => name !== 'with')
        .toSorted(),
    ).toEqual([...Object.keys(replacements[type]), ...`${kept.all} ${kept[type]}`.split(/\s+/)].toSorted());
});
