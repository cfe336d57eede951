import { Random } from '@financial-automation/demo-data/profiles/random';
import { describe, expect, test } from 'vitest';
import { exampleOf } from '../../test/bad-requests.ts';
import { BaseRequests } from '../../test/isolation/base-requests.ts';
import { digestOf, TenantValues } from '../../test/isolation/tenant-values.ts';
import { sampleOf } from '../../test/nightly.ts';
import { testService } from '../../test/service.ts';
import { wire } from '../../test/wire.ts';
import { allOperations, isRead, type Operation, takes } from '../contract/contract.ts';
import { conditionHeaders } from '../wire/content.ts';

const { store, tenant, address, signIn } = await testService({ filled: 'examples' });
const { call, token } = await signIn({ roles: ['API_ADMIN', 'PYMT_EVNT_ALL'] });
const batch = { records: [{ type: 'ClientGroup', attributes: { name: 'Later' } }] };
await call('POST', '/api/v1/records/batch', batch);
const requests = new BaseRequests(new Random(1), await TenantValues.read(store, tenant.id));

/** Values of the headers that change what a request does, wherever an operation or content takes them. */
const values: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'a-key',
  'Dry-Run': 'true',
  'If-Match': '*',
  'If-None-Match': '*',
  'If-Modified-Since': 'Sat, 26 Sep 2026 10:00:00 GMT',
  'If-Unmodified-Since': 'Sat, 26 Sep 2026 10:00:00 GMT',
  'If-Range': '"0000000000000000-1"',
  Range: 'bytes=0-0',
};
const everywhere = ['Tenant', 'traceparent', 'X-Client-Id'];
const reads = allOperations.filter(({ method }) => method === 'GET');
const tagged = reads.filter((operation) => takes(operation, 'If-None-Match'));

/** Queries of the operations that require one. */
const requiredQueries: Readonly<Record<string, string>> = {
  listUnpaidInvoices: '?clientRef=C-01042',
  getRecord: '?ref=OPP-501',
  getClientStatement: '?from=2026-01-01&to=2026-09-30',
};

/** A path of the operation, with the ID of a row of the tenant. */
function pathOf(operation: Operation): string {
  const { path } = requests.of(operation);
  const place = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name] ?? ''));
  return `${place}${requiredQueries[operation.id] ?? ''}`;
}

async function tagOf(path: string): Promise<string> {
  const { status, headers } = await call('GET', path);
  expect({ path, status }).toEqual({ path, status: 200 });
  return headers.get('etag') ?? '';
}

test('these are all headers that some operations or content take', () => {
  const declared = allOperations.flatMap(({ headers }) => Object.keys(headers));
  const some = [...new Set([...declared, ...conditionHeaders])].filter((name) => !everywhere.includes(name));
  expect(some.toSorted()).toEqual(Object.keys(values).toSorted());
});

test.each(Object.entries(values))('%s › every operation that does not take it rejects it', async (name, value) => {
  const others = allOperations.filter((operation) => !takes(operation, name));
  expect(others.length).toBeGreaterThan(50);
  for (const operation of sampleOf(others, 12)) {
    const body = operation.bodyLimit === null ? undefined : {};
    const { status, body: problem } = await call(operation.method, pathOf(operation), body, { [name]: value });
    expect({ status, problem }, operation.id).toMatchObject({
      status: 400,
      problem: { errors: [{ in: 'header', pointer: `/${name}`, code: 'NOT_SUPPORTED' }] },
    });
  }
});

test('If-None-Match › every read that takes it returns 304 for its tag', async () => {
  for (const operation of tagged) {
    const path = pathOf(operation);
    const headers = { 'If-None-Match': await tagOf(path) };
    expect((await call('GET', path, undefined, headers)).status, operation.id).toBe(304);
  }
});

test('HEAD › every read returns the headers of GET without the body', async () => {
  for (const operation of sampleOf(reads, 6)) {
    const path = pathOf(operation);
    const headers = { Authorization: `Bearer ${token}`, Tenant: tenant.name };
    const responses = [];
    for (const method of ['GET', 'HEAD']) responses.push(await wire(address, { method, path, headers }));
    const [get, head] = responses.map(({ status, headers: all }) => {
      const { date, 'x-request-id': id, ratelimit, ...same } = all;
      return { status, same };
    });
    expect(head, operation.id).toEqual(get);
    expect(responses[1]?.text, operation.id).toBe('');
    if (operation.id !== 'getSandboxClock') expect(head?.status, operation.id).toBe(200);
  }
});

test('Idempotency-Key › every write that takes it replays its response', async () => {
  const writes = allOperations.filter((operation) => takes(operation, 'Idempotency-Key'));
  // A key protects all that changes rows. Its responses are kept, which a secret must not be; a test event has no row.
  expect(allOperations.filter((one) => !isRead(one) && !writes.includes(one)).map(({ id }) => id)).toEqual([
    'createToken',
    'rotateWebhookSecret',
    'sendTestEvent',
    'advanceSandboxClock',
  ]);
  const succeeded: string[] = [];
  const compared = new Set(sampleOf(writes, 16));
  for (const operation of writes) {
    const path = pathOf(operation);
    const { body } = requests.of(operation);
    const send = () => call(operation.method, path, body, { 'Idempotency-Key': `replay-${operation.id}` });
    const first = await send();
    if (first.status >= 300) continue;
    // A digest reads every table.
    const before = compared.has(operation) ? await digestOf(store, tenant.id) : undefined;
    const second = await send();
    const said = second.headers.get('idempotency-replayed');
    expect({ said, body: second.body }, operation.id).toEqual({ said: 'true', body: first.body });
    if (before !== undefined) expect(await digestOf(store, tenant.id), operation.id).toEqual(before);
    succeeded.push(operation.id);
  }
  expect(succeeded).toEqual(
    expect.arrayContaining([
      'upsertRecords',
      'updateRecords',
      'deleteRecords',
      'upsertContacts',
      'upsertCodes',
      'upsertEntries',
    ]),
  );
  expect(succeeded.length).toBeGreaterThan(writes.length / 2);
});

let keys = 0;

/** A body with keys that no other row has. */
function withNewKeys(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  keys++;
  const unique = {
    email: `${keys}@example.com`,
    staffRef: `S-new-${keys}`,
    pmsRef: `new-${keys}`,
    systemRef: `new-${keys}`,
  };
  return { ...body, ...Object.fromEntries(Object.entries(unique).filter(([name]) => name in body)) };
}

test('Location › every response of 201 and 202 leads to what GET returns, with the same tag', async () => {
  const creations = allOperations.filter(({ statuses }) => statuses.some((status) => status === 201 || status === 202));
  const followed: string[] = [];
  for (const operation of creations)
    for (let attempt = 0; attempt < 40 && !followed.includes(operation.id); attempt++) {
      const created = await call(operation.method, pathOf(operation), withNewKeys(requests.of(operation).body));
      if (created.status >= 300) continue;
      const found = await call('GET', created.headers.get('location') ?? '');
      expect(found.status, operation.id).toBe(200);
      const tag = created.headers.get('etag');
      if (tag !== null) expect(found.headers.get('etag'), operation.id).toBe(tag);
      followed.push(operation.id);
    }
  expect(followed).toEqual(creations.map(({ id }) => id));
});

describe('If-Match', () => {
  /** Tags that are of no row, of another row, or not strong. */
  const wrongTags = (own: string, other: string) => [
    other,
    `W/${own}`,
    own.replace(/-\d+"$/, '-9"'),
    `"${own.slice(3)}`,
    '"x"',
  ];

  test('every operation that changes one row takes the tag of the row alone', async () => {
    const changes = allOperations.filter((one) => takes(one, 'If-Match') && one.path.includes('{'));
    expect(changes.length).toBeGreaterThan(5);
    for (const operation of changes) {
      const getter = tagged.find(({ id }) => id === operation.id.replace(/^(update|deactivate|reactivate)/, 'get'));
      if (getter === undefined) throw new Error(`${operation.id} has no read by ID.`);
      const path = pathOf(operation);
      const body = operation.bodyLimit === null ? undefined : exampleOf(operation);
      const id = path.replace('/reactivate', '').split('/').at(-1) ?? '';
      const own = await tagOf(getter.path.replace(/\{\w+\}/, id));
      // Events get their positions when the next one asks for them, whatever becomes of its request.
      await call('GET', '/api/v1/events?after=latest');
      const before = await digestOf(store, tenant.id);
      for (const tag of wrongTags(own, await otherTag(own))) {
        const { status, body: problem } = await call(operation.method, path, body, { 'If-Match': tag });
        expect({ status, problem }, `${operation.id} ${tag}`).toMatchObject({
          status: 412,
          problem: { code: 'PRECONDITION_FAILED' },
        });
      }
      expect(await digestOf(store, tenant.id)).toEqual(before);
      for (const tag of [`${await otherTag(own)}, ${own}`, '*'])
        expect((await call(operation.method, path, body, { 'If-Match': tag })).status, operation.id).not.toBe(412);
    }
  });

  /** The tag of some other row. */
  async function otherTag(own: string): Promise<string> {
    const { body } = await call<{ data: { id: string }[] }>('POST', '/gql/v1/clients', {});
    for (const { id } of body.data) {
      const tag = await tagOf(`/gql/v1/client/${id}`);
      if (tag !== own) return tag;
    }
    throw new Error('There is only one client.');
  }
});
