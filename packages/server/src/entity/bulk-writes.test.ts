/** Bulk writes whose items depend on each other, are too large, or are rejected by the database. */
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { recordsOf } from '../../test/modules/records.ts';
import { sharedService } from '../../test/service.ts';
import { contact } from '../modules/contacts/contact.ts';
import { asOperator } from '../operator/tenants.ts';

const service = await sharedService();
const { call, store, tenant } = service;
const { upsert, make, define } = recordsOf(service);

interface Upserted {
  readonly succeeded: readonly { readonly index: number; readonly id: string; readonly pmsRef: string }[];
  readonly failed: readonly { readonly index: number; readonly code: string; readonly pointer: string | null }[];
}

const upsertContacts = async (contacts: readonly object[]) =>
  (await call<Upserted>('POST', '/api/v1/contacts/upsert', { contacts })).body;
const onboard = async (body: object = {}) =>
  (
    await call<{ clientId: string; clientRef: string }>('POST', '/api/v1/clients/v1/onboard', {
      name: 'X',
      address: {},
      ...body,
    })
  ).body;
const rows = <Row>(query: ReturnType<typeof sql>) =>
  store.read(tenant.id, (session) => session.all(query)) as Promise<Row[]>;
const eventsOf = (id: string) =>
  rows<{ operation: string; sequence: number; data: Record<string, unknown> }>(
    sql`select operation, sequence, data from recorded_event where entity_id = ${id} order by sequence`,
  );
const of = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, index) => make(index));

const clientType = (systemRef: string, attributes: object) => ({ type: 'ClientType', systemRef, attributes });
const industry = (systemRef: string, attributes: object) => ({ type: 'Industry', systemRef, attributes });

describe('an item that repeats another one of the request', () => {
  test('upsertRecords › a later item with the same systemRef updates the earlier one, as one change', async () => {
    const items = await upsert([
      industry('twice', { name: 'First' }),
      industry('twice', { name: 'Second' }),
      industry('twice', { name: 'Second' }),
    ]);
    expect(items.map(({ status }) => status)).toEqual(['CREATED', 'UPDATED', 'UNCHANGED']);
    expect(new Set(items.map(({ id }) => id)).size).toBe(1);
    expect(items.map(({ attributes }) => attributes?.name)).toEqual(['Second', 'Second', 'Second']);
    const audit = await rows(sql`select after ->> 'name' as name from audit_log where entity_id = ${items[0]?.id}`);
    expect(audit).toEqual([{ name: 'Second' }]);
  });

  test('upsertRecords › a unique value belongs to the first item that has it', async () => {
    const items = await upsert([
      clientType('a', { name: 'Same', code: 'A' }),
      clientType('b', { name: 'Same', code: 'B' }),
      clientType('c', { name: 'Other', code: 'A' }),
      clientType('d', { name: 'Different', code: 'D' }),
    ]);
    expect(items.map(({ error }) => error && [error.code, error.pointer])).toEqual([
      null,
      ['DUPLICATE_REF', '/records/1/attributes/name'],
      ['DUPLICATE_REF', '/records/2/attributes/code'],
      null,
    ]);
  });

  test('upsertRecords › a unique value that one item releases is available to the next', async () => {
    await upsert([
      clientType('old', { name: 'Contested', code: 'OLD' }),
      clientType('new', { name: 'Waiting', code: 'NEW' }),
    ]);
    const items = await upsert([
      clientType('old', { name: 'Retired' }),
      clientType('new', { name: 'Contested' }),
      clientType('newer', { name: 'Waiting', code: 'NEWER' }),
    ]);
    expect(items.map(({ status }) => status)).toEqual(['UPDATED', 'UPDATED', 'CREATED']);
  });

  test('upsertContacts › an entry for the same contact updates it further', async () => {
    const { succeeded } = await upsertContacts([{ lastName: 'Double' }]);
    const [{ id, pmsRef } = { id: '', pmsRef: '' }] = succeeded;
    const again = await upsertContacts([
      { pmsRef, title: 'One' },
      { pmsRef, salutation: 'Dr.' },
    ]);
    expect(again.succeeded.map((one) => one.id)).toEqual([id, id]);
    const events = await eventsOf(id);
    expect(events.map(({ operation, sequence }) => [operation, sequence])).toEqual([
      ['CREATE', 1],
      ['UPDATE', 2],
    ]);
    expect(events[1]?.data).toMatchObject({ title: 'One', salutation: 'Dr.', version: 2 });
  });
});

describe('an item that refers to another one of the request', () => {
  test('upsertRecords › each of 50 items refers to the one before it', async () => {
    const items = await upsert(
      of(50, (index) =>
        industry(`chain-${index}`, {
          name: `Link ${index}`,
          ...(index === 0 ? {} : { parentId: { systemRef: `chain-${index - 1}` } }),
        }),
      ),
    );
    expect(items.filter(({ status }) => status !== 'CREATED')).toEqual([]);
    expect(items.slice(1).map(({ attributes }) => attributes?.parentId)).toEqual(
      items.slice(0, -1).map(({ id }) => id),
    );
  });

  test('upsertRecords › an item cannot refer to one that comes after it', async () => {
    const [early, late] = await upsert([
      industry('early', { name: 'Early', parentId: { systemRef: 'late' } }),
      industry('late', { name: 'Late' }),
    ]);
    expect(early?.error).toMatchObject({ code: 'REFERENCE_NOT_FOUND', pointer: '/records/0/attributes/parentId' });
    expect(late?.status).toBe('CREATED');
  });

  test('upsertRecords › an item that refers to a rejected one is rejected as well', async () => {
    await upsert([industry('taken', { name: 'Taken' })]);
    const items = await upsert([
      industry('rejected', { name: 'Taken' }),
      industry('orphan', { name: 'Orphan', parentId: { systemRef: 'rejected' } }),
    ]);
    expect(items.map(({ error }) => error?.code)).toEqual(['DUPLICATE_REF', 'REFERENCE_NOT_FOUND']);
  });

  test('upsertRecords › a custom record refers to another one of its type in the same request', async () => {
    await define('Branch', [
      { name: 'label', type: 'STRING', unique: true },
      { name: 'trunk', type: 'REFERENCE', referencedEntityType: 'Branch' },
    ]);
    const branch = (systemRef: string, attributes: object) => ({ type: 'Branch', systemRef, attributes });
    const items = await upsert([
      branch('trunk', { label: 'Trunk' }),
      branch('twig', { label: 'Twig', trunk: { systemRef: 'trunk' } }),
      branch('leaf', { label: 'Leaf', trunk: { systemRef: 'twig' } }),
      branch('copy', { label: 'Twig' }),
    ]);
    expect(items.map(({ error }) => error)).toMatchObject([
      null,
      null,
      null,
      { code: 'DUPLICATE_REF', pointer: '/records/3/attributes/label' },
    ]);
    expect(items.slice(0, 3).map(({ attributes }) => attributes?.trunk)).toEqual([null, items[0]?.id, items[1]?.id]);
  });
});

test('upsertRecords › an item of one megabyte is stored, audited and sent as an event unchanged', async () => {
  await define('Archive', [{ name: 'content', type: 'JSON' }]);
  const content = of(1_000, (index) => ({ index, text: 'ä'.repeat(240), list: [index, { deep: ['"', '\\', null] }] }));
  const [item] = await upsert([{ type: 'Archive', systemRef: 'big', attributes: { content } }]);
  expect(JSON.stringify(content).length).toBeGreaterThan(250_000);
  expect(item).toMatchObject({ status: 'CREATED', attributes: { content } });
  expect(await eventsOf(item?.id ?? '')).toMatchObject([{ data: { attributes: { content } } }]);
  const [same] = await upsert([
    { type: 'Archive', systemRef: 'big', attributes: { content: content.map((one) => ({ ...one })) } },
  ]);
  expect(same?.status).toBe('UNCHANGED');
  const filler = await call('POST', '/api/v1/records', {
    records: [{ type: 'Archive', systemRef: 'big', attributes: { content: 'x'.repeat(1_040_000) } }],
  });
  expect(filler.status).toBe(200);
  const tooBig = await call('POST', '/api/v1/records', {
    records: [{ type: 'Archive', systemRef: 'bigger', attributes: { content: 'x'.repeat(1_060_000) } }],
  });
  expect(tooBig.status).toBe(413);
});

describe('items that only the database can reject', () => {
  const hasRole = (clientRef: string) => ({ lastName: 'Holder', clients: [{ clientRef, roles: ['BILLING'] }] });
  const is = (index: number) => ({ lastName: `Contact ${index}` });

  test.each([
    ['one', [37]],
    ['several', [0, 1, 50, 99]],
    ['all', of(100, (index) => index)],
  ])('upsertContacts › %s of 100 entries', async (_, rejected) => {
    const { clientRef } = await onboard({ billingContact: { lastName: 'First' } });
    const { succeeded, failed } = await upsertContacts(
      of(100, (index) => (rejected.includes(index) ? hasRole(clientRef) : is(index))),
    );
    expect(failed.map(({ index, code, pointer }) => [index, code, pointer])).toEqual(
      rejected.map((index) => [index, 'DUPLICATE_REF', `/contacts/${index}/clients/0/roles`]),
    );
    const kept = of(100, (index) => index).filter((index) => !rejected.includes(index));
    expect(succeeded.map(({ index }) => index)).toEqual(kept);
    const ids = succeeded.map(({ id }) => id);
    const [stored] = await rows<{ contacts: number; events: number; audits: number }>(sql`
      select (select count(*) from contact where id = any(${ids}::uuid[])) as contacts,
        (select count(*) from recorded_event where entity_id = any(${ids}::uuid[])) as events,
        (select count(*) from audit_log where entity_id = any(${ids}::uuid[])) as audits`);
    expect(stored).toEqual({ contacts: kept.length, events: kept.length, audits: kept.length });
    expect(await rows(sql`select 1 from contact where last_name = 'Holder'`)).toEqual([]);
  });

  test('upsertContacts › of entries that compete for a role, only the first one succeeds', async () => {
    const { clientRef, clientId } = await onboard();
    const { succeeded, failed } = await upsertContacts(of(20, () => hasRole(clientRef)));
    expect(succeeded.map(({ index }) => index)).toEqual([0]);
    expect(failed).toHaveLength(19);
    const client = await call<{ billingContactId: string; version: number }>('GET', `/gql/v1/client/${clientId}`);
    expect(client.body.billingContactId).toBe(succeeded[0]?.id);
    await rows(sql`select 1`);
  });

  test('upsertRecords › items that break a check of several columns are reported with their fields', async () => {
    const { id: clientId } = await make('Client', { name: 'Checked' });
    const job = (index: number, periodEndDate: string) => ({
      type: 'Job',
      systemRef: `job-${index}`,
      attributes: {
        name: `Job ${index}`,
        clientId,
        billingType: 'NON_BILLABLE',
        periodStartDate: '2026-01-01',
        periodEndDate,
      },
    });
    const items = await upsert(of(30, (index) => job(index, index % 7 === 3 ? '2025-12-31' : '2026-12-31')));
    expect(items.flatMap(({ error }, index) => (error === null ? [] : [[index, error.code, error.pointer]]))).toEqual(
      [3, 10, 17, 24].map((index) => [index, 'VALIDATION_ERROR', `/records/${index}/attributes/periodEndDate`]),
    );
    // References have gaps where items were rejected, and no duplicates.
    const references = items.flatMap(({ attributes }) => (attributes === null ? [] : [attributes.jobRef]));
    expect(new Set(references).size).toBe(26);
  });
});

describe('an item that is rejected after some of its changes', () => {
  test('upsertContacts › changes nothing', async () => {
    const { clientRef, clientId } = await onboard();
    const { succeeded } = await upsertContacts([{ lastName: 'Steady' }]);
    const [{ id, pmsRef } = { id: '', pmsRef: '' }] = succeeded;
    const { failed } = await upsertContacts([
      { pmsRef, title: 'Gone', clients: [{ clientRef, roles: ['PREFERRED'] }, { clientRef: 'nobody' }] },
      { pmsRef, title: 'Kept' },
    ]);
    expect(failed).toMatchObject([
      { index: 0, code: 'REFERENCE_NOT_FOUND', pointer: '/contacts/0/clients/1/clientRef' },
    ]);
    const now = await call<Record<string, unknown>>('GET', `/gql/v1/contact/${id}`);
    expect(now.body).toMatchObject({ title: 'Kept', version: 2, clients: [] });
    const client = await call<Record<string, unknown>>('GET', `/gql/v1/client/${clientId}`);
    expect(client.body).toMatchObject({ preferredContactId: null });
    expect(
      await rows(sql`select 1 from recorded_event where entity_id = ${clientId} and operation = 'UPDATE'`),
    ).toEqual([]);
  });
});

describe('rows that a request creates and removes', () => {
  test('upsertContacts › a link that one entry adds and the next one removes is created and inactive', async () => {
    const { clientRef } = await onboard();
    const { succeeded } = await upsertContacts([
      { systemRef: 'brief', lastName: 'Brief', clients: [{ clientRef }] },
      { systemRef: 'brief', clients: [{ clientRef, active: false }] },
    ]);
    const contactId = succeeded[0]?.id ?? '';
    const [link] = await rows<{ id: string; active: boolean; version: number }>(
      sql`select id, active, version from contact_client where contact_id = ${contactId}`,
    );
    expect(link).toMatchObject({ active: false, version: 1 });
    expect(await eventsOf(link?.id ?? '')).toMatchObject([{ operation: 'CREATE', data: { active: false } }]);
    const events = await eventsOf(contactId);
    expect(events).toMatchObject([
      { operation: 'CREATE', sequence: 1, data: { clients: [{ clientRef, active: false }] } },
    ]);
  });

  test('plan › a row that is created, changed and removed in several plans of one transaction is one change', async () => {
    const id = await asOperator(service.service, tenant, 'test', async (unit) => {
      const created = await unit.plan((plan) => plan.create(contact, { lastName: 'Passing' }).row.id);
      await unit.plan((plan) => plan.update(contact, created, { title: 'Dr.' }));
      await unit.plan((plan) => plan.remove(contact, created));
      return created;
    });
    expect(await eventsOf(id)).toMatchObject([
      { operation: 'CREATE', sequence: 1, data: { active: false, title: 'Dr.', version: 1 } },
    ]);
  });

  test('plan › removing an inactive row changes nothing', async () => {
    const change = <T>(work: Parameters<typeof asOperator<T>>[3]) => asOperator(service.service, tenant, 'test', work);
    const id = await change((unit) => unit.plan((plan) => plan.create(contact, { lastName: 'Leaver' }).row.id));
    const remove = () => change((unit) => unit.plan((plan) => plan.remove(contact, id).status));
    expect([await remove(), await remove()]).toEqual(['DELETED', 'UNCHANGED']);
    expect((await eventsOf(id)).map(({ operation }) => operation)).toEqual(['CREATE', 'DELETE']);
  });
});

describe('references for people', () => {
  test('upsertRecords › a reference that a caller has set is skipped, also within a request', async () => {
    const [first] = await upsert([{ type: 'Client', attributes: { name: 'Counted' } }]);
    const number = Number(String(first?.attributes?.clientRef).slice(2));
    const reference = (ahead: number) => `C-${String(number + ahead).padStart(5, '0')}`;
    const client = (clientRef?: string) => ({
      type: 'Client',
      attributes: { name: 'Client', ...(clientRef === undefined ? {} : { clientRef }) },
    });
    await upsert([client(reference(2))]);
    const items = await upsert([client(), client(reference(3)), client(), client()]);
    const references = items.map(({ attributes }) => String(attributes?.clientRef));
    expect(references[1]).toBe(reference(3));
    expect(new Set([...references, reference(2)]).size).toBe(5);
    expect(references).toEqual(references.map(() => expect.stringMatching(/^C-\d{5}$/)));
  });
});

describe('reports of all-or-none requests', () => {
  test('createStaffTypes › reports every item that a rule rejects', async () => {
    const type = (name: string, code: string) => ({ name, code, rank: 1, isBillable: true });
    const { status, body } = await call<{ code: string; errors: { pointer: string; code: string }[] }>(
      'POST',
      '/api/v1/staff/type/batch/create',
      { items: [type('One', 'ONE'), type('One', 'TWO'), type('Three', 'ONE'), type('Four', 'FOUR')] },
    );
    expect(status).toBe(409);
    expect(body.errors.map(({ pointer, code }) => [pointer, code])).toEqual([
      ['/items/1/name', 'DUPLICATE_REF'],
      ['/items/2/code', 'DUPLICATE_REF'],
    ]);
    expect(await rows(sql`select 1 from staff_type`)).toEqual([]);
  });

  test('assignStaff › reports every entry that the database rejects, and writes none', async () => {
    const { id: clientId } = await make('Client', { name: 'Assigned' });
    const { id: jobId } = await make('Job', { name: 'Job', clientId, billingType: 'NON_BILLABLE' });
    const { id: staffTypeId } = await make('StaffType', { name: 'Type', code: 'T', rank: 1, isBillable: true });
    const staff = await upsert(
      of(40, (index) => ({
        type: 'Staff',
        systemRef: `staff-${index}`,
        attributes: {
          staffRef: `S-${index}`,
          firstName: 'A',
          isBillable: true,
          lastName: 'B',
          email: `s${index}@example.com`,
          staffTypeId,
        },
      })),
    );
    const rejected = [2, 3, 31];
    const staffJobAssignments = staff.map(({ id }, index) => ({
      staffId: id,
      jobId,
      role: 'PREPARER',
      startDate: '2026-06-01',
      endDate: rejected.includes(index) ? '2026-05-31' : '2026-06-30',
    }));
    const { status, body } = await call<{ code: string; errors: { pointer: string; code: string }[] }>(
      'POST',
      '/api/v1/projects/assign_staff',
      { staffJobAssignments },
    );
    expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(body.errors.map(({ pointer, code }) => [pointer, code])).toEqual(
      rejected.map((index) => [`/staffJobAssignments/${index}/endDate`, 'VALIDATION_ERROR']),
    );
    expect(await rows(sql`select 1 from staff_job_assignment`)).toEqual([]);
    expect(await rows(sql`select 1 from audit_log where entity_type = 'StaffJobAssignment'`)).toEqual([]);
  });
});

test('items › a rejection of one item and an error in another: nothing is written', async () => {
  const work = asOperator(service.service, tenant, 'test', (unit) =>
    unit.items(['good', 'bad'], (plan, lastName) => {
      plan.create(contact, { lastName: `Failing ${lastName}` });
      if (lastName === 'bad') throw new Error('A defect.');
    }),
  );
  await expect(work).rejects.toThrow('A defect.');
  expect(await rows(sql`select 1 from contact where last_name like 'Failing %'`)).toEqual([]);
});

test('items › an error caused by data that is not loaded yet is ignored', async () => {
  const { clientId } = await onboard();
  const outcomes = await asOperator(service.service, tenant, 'test', (unit) =>
    unit.items([0, 1], (plan, index) => {
      if (index === 0)
        return plan.create(contact, { lastName: 'Reader', pmsRef: 'READER', email: `${clientId}@example.com` }).row.id;
      const [found] = plan.all(contact, 'email', `${clientId}@example.com`);
      if (found === undefined) throw new Error('The previous item was not visible.');
      return found.id;
    }),
  );
  expect(outcomes).toHaveLength(2);
  expect(new Set(outcomes.map((outcome) => 'result' in outcome && outcome.result)).size).toBe(1);
});

test('items › 1,000 rows are created, updated and left unchanged in one request', async () => {
  const inputs = of(1_000, (index) => `Row ${index}`);
  const change = <T>(work: Parameters<typeof asOperator<T>>[3]) => asOperator(service.service, tenant, 'test', work);
  const created = await change((unit) =>
    unit.items(inputs, (plan, lastName) => plan.create(contact, { lastName }).row),
  );
  const ids = created.flatMap((outcome) => ('result' in outcome ? [outcome.result.id] : []));
  expect(new Set(ids).size).toBe(1_000);
  const update = () =>
    change((unit) => unit.items(ids, (plan, id) => plan.update(contact, id, { title: 'Changed' }).status));
  expect(new Set((await update()).map((outcome) => 'result' in outcome && outcome.result))).toEqual(
    new Set(['UPDATED']),
  );
  expect(new Set((await update()).map((outcome) => 'result' in outcome && outcome.result))).toEqual(
    new Set(['UNCHANGED']),
  );
  const [count] = await rows(sql`
    select count(*) filter (where version = 2) as changed, count(distinct pms_ref) as references
    from contact where id = any(${ids}::uuid[])`);
  expect(count).toEqual({ changed: 1_000, references: 1_000 });
});
