import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { sharedService } from '../../../test/service.ts';
import type { Plan } from '../../entity/plan.ts';
import { asOperator } from '../../operator/tenants.ts';
import { client } from '../clients/client.ts';
import { clientGroup } from '../clients/client-group.ts';

const { call, service, store, tenant } = await sharedService();

type Row = Readonly<Record<string, unknown>> & { readonly id: string; readonly version: number };
interface Upserted {
  readonly succeeded: readonly { readonly id: string; readonly pmsRef: string }[];
  readonly failed: readonly { readonly code: string }[];
}

const onboard = (body: object) =>
  call<{ clientId: string; clientRef: string; code?: string }>('POST', '/api/v1/clients/v1/onboard', {
    name: 'X',
    address: {},
    ...body,
  });
const upsert = async (...contacts: object[]) =>
  (await call<Upserted>('POST', '/api/v1/contacts/upsert', { contacts })).body;
const contact = async (id: string) => (await call<Row>('GET', `/gql/v1/contact/${id}`)).body;
const many = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));
const rows = <T>(query: ReturnType<typeof sql>) =>
  store.read(tenant.id, (session) => session.all(query)) as Promise<T[]>;

test('of concurrent onboardings with one clientRef, one succeeds and the others are rejected', async () => {
  const responses = await many(6, () => onboard({ clientRef: 'RACE' }));
  expect(responses.map((response) => response.status).toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
  for (const { status, body } of responses) if (status === 409) expect(body.code).toBe('DUPLICATE_REF');
  expect(await rows(sql`select 1 from client where client_ref = 'RACE'`)).toHaveLength(1);
});

test('references that are generated concurrently are all different', async () => {
  const created = await many(12, () => onboard({ preferredContact: { lastName: 'Same' } }));
  expect(new Set(created.map((response) => response.body.clientRef)).size).toBe(12);
  expect(created.every((response) => response.status === 201)).toBe(true);
});

test('concurrent changes of one contact are all stored, and each increments its version', async () => {
  const { succeeded } = await upsert({ lastName: 'Contended' });
  const { id = '', pmsRef } = succeeded[0] ?? {};
  const fields = ['firstName', 'middleName', 'salutation', 'title'];
  await many(12, (index) => upsert({ pmsRef, [fields[index % 4] ?? '']: `value ${index}` }));
  const now = await contact(id);
  expect(now.version).toBe(13);
  for (const [index, field] of fields.entries())
    expect(now[field]).toMatch(new RegExp(`^value (${index}|${index + 4}|${index + 8})$`));
  const sequences = await rows<{ sequence: string }>(
    sql`select sequence from recorded_event where entity_id = ${id} order by sequence`,
  );
  expect(sequences.map((event) => Number(event.sequence))).toEqual(Array.from({ length: 13 }, (_, index) => index + 1));
  // Each one was based on the result of the previous one.
  const audit = await rows<{ before: Row | null; after: Row }>(
    sql`select before, after from audit_log where entity_id = ${id} order by (after ->> 'version')::integer`,
  );
  for (const [index, { before }] of audit.entries()) if (index > 0) expect(before).toEqual(audit[index - 1]?.after);
});

test('clients that are linked concurrently are all sent as events, each with the state before it', async () => {
  const clients = await many(6, () => onboard({}));
  const { succeeded } = await upsert({ lastName: 'Networker' });
  const { id = '', pmsRef } = succeeded[0] ?? {};
  await many(6, (index) => upsert({ pmsRef, clients: [{ clientRef: clients[index]?.body.clientRef }] }));
  const audit = await rows<{ before: Row | null; after: Row }>(
    sql`select before, after from audit_log where entity_id = ${id} order by (after ->> 'version')::integer`,
  );
  expect(audit.map(({ after }) => (after.clients as unknown[]).length)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  for (const [index, { before }] of audit.entries()) if (index > 0) expect(before).toEqual(audit[index - 1]?.after);
  expect((await contact(id)).clients).toEqual(audit.at(-1)?.after.clients);
});

test('a role of a client goes to one contact, however many requests compete for it', async () => {
  const { body } = await onboard({});
  for (const role of ['PREFERRED', 'BILLING', 'SECONDARY']) {
    const responses = await many(5, (index) =>
      upsert({ lastName: `Claimant ${index}`, clients: [{ clientRef: body.clientRef, roles: [role] }] }),
    );
    expect(responses.flatMap((response) => response.succeeded)).toHaveLength(1);
    expect(responses.flatMap((response) => response.failed).map((failure) => failure.code)).toEqual(
      Array.from({ length: 4 }, () => 'DUPLICATE_REF'),
    );
  }
});

test('different roles of one client can be assigned concurrently', async () => {
  const { body } = await onboard({});
  const roles = ['PREFERRED', 'BILLING', 'SECONDARY', 'SIGNER', 'OTHER'];
  const responses = await many(5, (index) =>
    upsert({ lastName: `Role ${index}`, clients: [{ clientRef: body.clientRef, roles: [roles[index]] }] }),
  );
  expect(responses.flatMap((response) => response.failed)).toEqual([]);
  const now = (await call<Row>('GET', `/gql/v1/client/${body.clientId}`)).body;
  const ids = responses.map((response) => response.succeeded[0]?.id);
  expect([now.preferredContactId, now.billingContactId, now.secondaryContactId]).toEqual(ids.slice(0, 3));
});

test('requests that change the same contacts in opposite order both succeed', async () => {
  const { succeeded } = await upsert({ lastName: 'East' }, { lastName: 'West' });
  const [east, west] = succeeded.map((contact) => contact.pmsRef);
  const responses = await many(8, (index) => {
    const title = `title ${index}`;
    const both = [
      { pmsRef: east, title },
      { pmsRef: west, title },
    ];
    return upsert(...(index % 2 === 0 ? both : both.toReversed()));
  });
  expect(responses.flatMap((response) => response.failed)).toEqual([]);
  expect(responses.flatMap((response) => response.succeeded)).toHaveLength(16);
});

test('a group gets a new version and an event for every client that joins, leaves, is deactivated or reactivated, also concurrently', async () => {
  const change = <T>(work: (plan: Plan) => T) =>
    asOperator(service, tenant, 'test', (unit) => unit.plan((plan) => work(plan)));
  const group = (await change((plan) => plan.create(clientGroup, { name: 'Family' }))).row.id;
  const read = async () =>
    (await rows<{ version: number }>(sql`select version from client_group where id = ${group}`))[0]?.version;
  const shown = async () => {
    const { body } = await call<{ data: Row[] }>('POST', '/gql/v1/client_groups', {});
    return body.data.find((row) => row.id === group)?.memberCount;
  };
  const joined = await many(5, () => onboard({ clientGroupId: group }));
  expect([await shown(), await read()]).toEqual([5, 6]);
  const [first, second] = joined.map((response) => response.body.clientId);
  const on = (id: string | undefined, work: 'leave' | 'go' | 'rename' | 'return') =>
    change((plan) => {
      if (id === undefined) throw new Error('Client not found.');
      if (work === 'go') plan.remove(client, id);
      else if (work === 'leave') plan.update(client, id, { clientGroupId: null });
      else if (work === 'rename') plan.update(client, id, { name: 'Renamed' });
      else plan.set(client, id, { active: true });
    });
  await on(first, 'leave');
  expect([await shown(), await read()]).toEqual([4, 7]);
  await on(second, 'go');
  expect([await shown(), await read()]).toEqual([3, 8]);
  await on(second, 'return');
  expect([await shown(), await read()]).toEqual([4, 9]);
  await on(second, 'rename');
  expect([await shown(), await read()]).toEqual([4, 9]);
  const events = await rows<{ sequence: string; count: number; fields: string[] | null }>(sql`
    select sequence, (data ->> 'memberCount')::integer as count, changed_fields as fields from recorded_event where entity_id = ${group} order by sequence`);
  expect(events.map((event) => Number(event.sequence))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(events.map((event) => event.count)).toEqual([0, 1, 2, 3, 4, 5, 4, 3, 4]);
  expect(events.slice(1).every((event) => event.fields?.join() === 'memberCount')).toBe(true);
});

test('a tax ID is cleared by null, and kept if it is omitted', async () => {
  const { body } = await onboard({ taxId: '98-7654321' });
  const write = (attributes: object) =>
    asOperator(service, tenant, 'test', (unit) => unit.plan((plan) => plan.update(client, body.clientId, attributes)));
  const state = async () =>
    rows<{ last4: string | null; sealed: boolean }>(sql`
    select tax_id_last4 as last4, tax_id_encrypted is not null as sealed from client where id = ${body.clientId}`);
  await write({ name: 'Renamed' });
  expect(await state()).toEqual([{ last4: '4321', sealed: true }]);
  await write({ taxId: null });
  expect(await state()).toEqual([{ last4: null, sealed: false }]);
});
