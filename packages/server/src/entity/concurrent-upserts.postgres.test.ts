import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { onlyRequired } from '../../test/bounds/bodies.ts';
import { type Door, rowDoors } from '../../test/bounds/doors.ts';
import { World } from '../../test/bounds/world.ts';
import { recordsOf } from '../../test/modules/records.ts';
import { isNightly } from '../../test/nightly.ts';
import { type HttpResponse, testService } from '../../test/service.ts';
import { typesWith } from '../modules/bulk/index.ts';

/** How many callers upsert each type at once, and how often. */
const callers = isNightly ? 20 : 4;
const rounds = isNightly ? 3 : 1;

// Enough connections for 20 requests of one API user at a time; they open when they are used.
const service = await testService({ config: { poolSize: 54 } });
const { call, store, tenant } = service;
const world = await World.create(service);
/** All types that can be created as records, codes and entries. */
const doors = rowDoors(world, service);
const { make, define } = recordsOf(service);

interface Upserted {
  readonly records: readonly { readonly status: string; readonly error: object | null }[];
}

function pathOf({ name }: Door): string {
  if (typesWith('x-code-type').has(name)) return '/api/v1/codes';
  return typesWith('x-entry-type').has(name) ? '/api/v1/entries' : '/api/v1/records';
}

const byMany = <Body>(work: (caller: number) => Promise<HttpResponse<Body>>) =>
  Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)));

/** Upserts the items by all callers, each in another order. @returns the number of created rows, and the errors. */
async function upsertByMany(path: string, items: readonly unknown[]) {
  // An org has one active series for each type of document, and one account for each purpose.
  await store.write(tenant.id, async (session) => {
    await session.all(sql`update document_series set active = false`);
    await session.all(sql`update gl_mapping set active = false`);
  });
  const responses = await byMany((caller) => {
    const first = caller % items.length;
    return call<Upserted>('POST', path, { records: [...items.slice(first), ...items.slice(0, first)] });
  });
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
  const results = responses.flatMap(({ body }) => body.records);
  return {
    created: results.filter(({ status }) => status === 'CREATED').length,
    errors: results.flatMap(({ error }) => (error === null ? [] : [error])),
  };
}

test.each(doors)('upsert › of many calls with the same new $name, one creates it', async (door) => {
  for (let round = 0; round < rounds; round += 1)
    expect(await upsertByMany(pathOf(door), [door.body(onlyRequired)])).toEqual({ created: 1, errors: [] });
});

test.each(['/api/v1/records', '/api/v1/codes', '/api/v1/entries'])(
  '%s › of many calls with the same new rows of all types in different orders, one creates each',
  async (path) => {
    const items = doors.filter((door) => pathOf(door) === path);
    const written = await upsertByMany(
      path,
      items.map((door) => door.body(onlyRequired)),
    );
    expect(written).toEqual({ created: items.length, errors: [] });
  },
);

describe('upsertRecords › custom types', () => {
  test('of many calls with the same new record and its unique values, one creates it', async () => {
    await define('Keyed', [{ name: 'number', type: 'STRING', unique: true }]);
    for (let round = 0; round < rounds; round += 1) {
      const items = [1, 2, 3].map((index) => ({
        type: 'Keyed',
        systemRef: `keyed-${round}-${index}`,
        attributes: { number: `${round}-${index}` },
      }));
      expect(await upsertByMany('/api/v1/records', items)).toEqual({ created: 3, errors: [] });
    }
  });

  test('of many records with one unique value, one is created, and the others are duplicates of its field', async () => {
    await define('Single', [{ name: 'number', type: 'STRING', unique: true }]);
    const responses = await byMany((caller) =>
      call<Upserted>('POST', '/api/v1/records', {
        records: [{ type: 'Single', systemRef: `single-${caller}`, attributes: { number: 'one' } }],
      }),
    );
    const errors = responses
      .flatMap(({ body }) => body.records)
      .flatMap(({ error }) => (error === null ? [] : [error]));
    const duplicate = { code: 'DUPLICATE_REF', pointer: '/records/0/attributes/number' };
    expect(errors).toEqual(Array.from({ length: callers - 1 }, () => expect.objectContaining(duplicate)));
  });
});

test('upsertContacts › of many calls that link the same contact and client, one creates the link', async () => {
  const { id: contactId, attributes } = await make('Contact', { lastName: 'Linked' });
  const { id: clientId, attributes: client } = await make('Client', { name: 'Linked', orgId: world.idOf('Org') });
  const contacts = [{ pmsRef: attributes?.pmsRef, clients: [{ clientRef: client?.clientRef, roles: ['PREFERRED'] }] }];
  const responses = await byMany(() =>
    call<{ failed: readonly object[] }>('POST', '/api/v1/contacts/upsert', { contacts }),
  );
  expect(responses.flatMap(({ body }) => body.failed)).toEqual([]);
  expect(await countOf(sql`contact_client where contact_id = ${contactId} and client_id = ${clientId}`)).toBe(1);
});

test('upsertRecords › of many links with their own keys between the same contact and client, one is created', async () => {
  const { id: contactId } = await make('Contact', { lastName: 'Paired' });
  const attributes = { contactId, clientId: world.idOf('Client') };
  const responses = await byMany((caller) =>
    call<Upserted>('POST', '/api/v1/records', {
      records: [{ type: 'ContactClient', systemRef: `pair-${caller}`, attributes }],
    }),
  );
  const errors = responses.flatMap(({ body }) => body.records).flatMap(({ error }) => (error === null ? [] : [error]));
  expect(errors).toEqual(Array.from({ length: callers - 1 }, () => expect.objectContaining({ code: 'DUPLICATE_REF' })));
  expect(await countOf(sql`contact_client where contact_id = ${contactId}`)).toBe(1);
});

test('onboardClient › of many calls with the same new email addresses, one creates each contact', async () => {
  const emails = ['ada@parallel.example', 'Ines@Parallel.example'];
  const responses = await byMany((caller) => {
    const [preferred, billing] = caller % 2 === 0 ? emails : emails.toReversed();
    return call<{ contacts: readonly { contactId: string; created: boolean }[] }>(
      'POST',
      '/api/v1/clients/v1/onboard',
      {
        name: 'Parallel',
        orgId: world.idOf('Org'),
        address: {},
        preferredContact: { lastName: 'Preferred', email: preferred },
        billingContact: { lastName: 'Billing', email: billing },
      },
    );
  });
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 201));
  const contacts = responses.flatMap(({ body }) => body.contacts);
  expect(contacts.filter(({ created }) => created)).toHaveLength(2);
  expect(new Set(contacts.map(({ contactId }) => contactId)).size).toBe(2);
});

test('assignStaff › of many calls with the same new assignments, one creates each', async () => {
  const [jobId, taskId, staffId] = [world.idOf('Job'), world.idOf('Task'), world.idOf('Staff')];
  const body = {
    staffJobAssignments: [{ jobId, staffId, role: 'REVIEWER' }],
    staffTaskAssignments: [{ taskId, staffId }],
  };
  const responses = await byMany(() => call('POST', '/api/v1/projects/assign_staff', body));
  expect(responses.map(({ status, body: problem }) => (status === 200 ? 200 : problem))).toEqual(
    responses.map(() => 200),
  );
  expect(await countOf(sql`staff_job_assignment where job_id = ${jobId} and role = 'REVIEWER'`)).toBe(1);
  expect(await countOf(sql`staff_task_assignment where task_id = ${taskId}`)).toBe(1);
});

/** Counts rows of the tenant. */
async function countOf(rows: ReturnType<typeof sql>): Promise<number | undefined> {
  const found = await store.read(tenant.id, (session) =>
    session.first<{ count: number }>(sql`select count(*)::integer as count from ${rows}`),
  );
  return found?.count;
}
