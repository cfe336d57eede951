import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { engineName } from '../../test/database.ts';
import { type TestCaller, testService } from '../../test/service.ts';
import { allOperations, type Operation } from '../contract/contract.ts';
import { KeyedRequest, purgeExpiredKeys } from './idempotency.ts';

const service = await testService();
const { call, store, tenant, token, signIn } = service;
const { sub: apiUserId } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
const path = '/api/v1/clients/v1/onboard';

interface OnboardResponse {
  readonly status: number;
  readonly body: { readonly clientId: string; readonly code?: string };
  readonly headers: Headers;
}

let counter = 0;
const newKey = () => `key-${++counter}`;

function onboard(key: string, name: string, by: Pick<TestCaller, 'call'> = { call }): Promise<OnboardResponse> {
  return by.call('POST', path, { name, address: {} }, { 'Idempotency-Key': key });
}

async function clientsNamed(name: string): Promise<number> {
  const { body } = await call<{ data: unknown[] }>('POST', '/gql/v1/clients/search', {
    where: { name: { _eq: name } },
  });
  return body.data.length;
}

function change(statement: ReturnType<typeof sql>) {
  return store.write(tenant.id, (transaction) => transaction.all(statement));
}

async function keptKeys(key: string) {
  return change(
    sql`select status, expires_at - created_at = interval '24 hours' as "forADay" from idempotency_key where key = ${key}`,
  );
}

/** What `onboardClient` returns, with IDs of no rows. */
const storedResult = {
  clientId: '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101',
  clientRef: 'C-01042',
  clientContactInfoId: '0199a1c2-0c03-7c01-8a4f-5d2e9b60f101',
  billingAddressId: '0199a1c2-0c03-7c01-8a4f-5d2e9b60f102',
  contacts: [],
};

/** A request with the key whose transaction ends with `end`, or with its connection. */
async function running(key: string, name: string) {
  const operation = allOperations.find((one) => one.id === 'onboardClient') as Operation;
  const input = { path: {}, query: {}, body: { name, address: {} } };
  const caller = { tenant, caller: { apiUserId }, holds: () => true };
  const request = new KeyedRequest(service.service, caller, operation, key, input);
  const begun = Promise.withResolvers<number>();
  const { promise, resolve } = Promise.withResolvers<void>();
  const ended = store.write(tenant.id, (transaction) =>
    request.once(transaction, async () => {
      const connection = await transaction.first<{ id: number }>(sql`select pg_backend_pid() as id`);
      begun.resolve(connection?.id ?? 0);
      await promise;
      return { status: 201, headers: {}, body: storedResult };
    }),
  );
  return { connection: await begun.promise, end: resolve, ended };
}

describe('a repeated request with the same Idempotency-Key', () => {
  test('changes nothing, and returns the first response', async () => {
    const key = newKey();
    const first = await onboard(key, 'Again');
    const second = await onboard(key, 'Again');
    expect(first.status).toBe(201);
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(await clientsNamed('Again')).toBe(1);
    expect(await keptKeys(key)).toEqual([{ status: 'DONE', forADay: true }]);
  });

  test('is rejected if its body differs', async () => {
    const key = newKey();
    await onboard(key, 'One');
    expect(await onboard(key, 'Another')).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(await clientsNamed('Another')).toBe(0);
  });

  test('creates one client, however many run at once', async () => {
    const key = newKey();
    const responses = await Promise.all(Array.from({ length: 20 }, () => onboard(key, 'Parallel')));
    const made = responses.filter((response) => response.status === 201);
    expect(new Set(made.map((response) => response.body.clientId)).size).toBe(1);
    expect(made.filter((response) => response.headers.get('idempotency-replayed') === null)).toHaveLength(1);
    for (const { body } of responses.filter((response) => response.status !== 201))
      expect(body.code).toBe('REQUEST_IN_PROGRESS');
    expect(await clientsNamed('Parallel')).toBe(1);
    expect(await onboard(key, 'Parallel')).toMatchObject({ status: 201, body: { clientId: made[0]?.body.clientId } });
  });

  test('returns the first response or REQUEST_IN_PROGRESS, also if the first one takes what both need', async () => {
    const key = newKey();
    const type = { name: 'Rivals', fields: [{ name: 'size', type: 'STRING' }] };
    const responses = await Promise.all(
      Array.from({ length: 20 }, () =>
        call<{ code?: string }>('POST', '/api/v1/records/custom', type, { 'Idempotency-Key': key }),
      ),
    );
    const results = new Set(responses.map(({ status, body }) => body.code ?? status));
    expect([...results].filter((result) => result !== 201 && result !== 'REQUEST_IN_PROGRESS')).toEqual([]);
    expect(results).toContain(201);
  });

  // PGlite runs one transaction at a time.
  test.skipIf(engineName === 'pglite')('is rejected while the first one is running', async () => {
    const key = newKey();
    const first = await running(key, 'Running');
    const second = await onboard(key, 'Running');
    expect(second).toMatchObject({ status: 409, body: { code: 'REQUEST_IN_PROGRESS' } });
    expect(second.headers.get('Retry-After')).toBe('1');
    first.end();
    const { body } = await first.ended;
    expect(await onboard(key, 'Running')).toMatchObject({ status: 201, body });
  });

  test('returns the values that its caller may see by now', async () => {
    const rates = { defaultBillingRate: '180', defaultAverageRate: '120' };
    const item = { name: 'Principal', code: 'PRI', rank: 2, isBillable: true, ...rates };
    const code = {
      type: 'WorkCode',
      systemRef: 'seen',
      attributes: { code: 'SEEN', name: 'Seen', isBillable: true, defaultRate: '180' },
    };
    const headers = { 'Idempotency-Key': newKey() };
    const write = async ({ call }: TestCaller) => [
      (await call('POST', '/api/v1/staff/type/batch/create', { items: [item] }, headers)).body,
      (await call('POST', '/api/v1/codes', { records: [code] }, { 'Idempotency-Key': `${counter}-codes` })).body,
    ];
    const shown = await write(await signIn({ roles: ['STAFF_W', 'CODE_W', 'RATE_W'] }));
    expect(shown).toMatchObject([{ items: [rates] }, { records: [{ attributes: { defaultRate: '180' } }] }]);
    // The same API user signs in with other roles.
    await change(sql`update api_user set name = 'user-staff_w-code_w' where name = 'user-staff_w-code_w-rate_w'`);
    expect(await write(await signIn({ roles: ['STAFF_W', 'CODE_W'] }))).toMatchObject([
      { items: [{ name: 'Principal', defaultBillingRate: null, defaultAverageRate: null }] },
      { records: [{ attributes: { code: 'SEEN', defaultRate: null } }] },
    ]);
  });

  test('is processed as a new request after a day', async () => {
    const key = newKey();
    await onboard(key, 'Yesterday');
    await change(sql`update idempotency_key set expires_at = now() - interval '1 second' where key = ${key}`);
    expect(await onboard(key, 'Today')).toMatchObject({ status: 201 });
    expect(await clientsNamed('Today')).toBe(1);
  });
});

describe('an Idempotency-Key', () => {
  test('can be reused after a rejected request', async () => {
    const key = newKey();
    for (const wrong of [
      { name: 'Refused' },
      { name: 'Refused', address: {}, clientTypeId: '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101' },
    ]) {
      expect(await call('POST', path, wrong, { 'Idempotency-Key': key })).toMatchObject({ status: 400 });
      expect(await keptKeys(key)).toEqual([]);
    }
    expect(await onboard(key, 'Refused')).toMatchObject({ status: 201 });
  });

  test('belongs to one API user', async () => {
    const key = newKey();
    const other = await signIn({ roles: ['CLNT_C'] });
    const first = await onboard(key, 'Shared');
    const second = await onboard(key, 'Shared', other);
    expect(second.status).toBe(201);
    expect(second.body.clientId).not.toBe(first.body.clientId);
  });

  test('is specific to one operation of the API user', async () => {
    const key = newKey();
    expect(await onboard(key, 'Operation')).toMatchObject({ status: 201 });
    const type = { name: 'Operation', fields: [{ name: 'size', type: 'STRING' }] };
    const other = await call('POST', '/api/v1/records/custom', type, { 'Idempotency-Key': key });
    expect(other).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect((await onboard(key, 'Operation')).headers.get('idempotency-replayed')).toBe('true');
  });

  test.each(['', ' ', 'two words', 'é', 'x'.repeat(256)])('is rejected if it is not valid: %j', async (key) => {
    const response = await onboard(key, 'Impossible');
    expect(response).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } });
    expect(JSON.stringify(response.body)).toContain('"in":"header","pointer":"/Idempotency-Key"');
    expect(await clientsNamed('Impossible')).toBe(0);
  });

  test('can contain characters that are special in SQL', async () => {
    const key = `'";--$1\\%${'x'.repeat(200)}`;
    expect(await onboard(key, 'Quoted')).toMatchObject({ status: 201 });
    expect((await onboard(key, 'Quoted')).headers.get('idempotency-replayed')).toBe('true');
  });

  test.skipIf(engineName === 'pglite')('is free at once if the process of its request dies', async () => {
    const key = newKey();
    const first = await running(key, 'Crashed');
    const failed = expect(first.ended).rejects.toThrow();
    await store.system((transaction) => transaction.all(sql`select pg_terminate_backend(${first.connection}, 5000)`));
    first.end();
    await failed;
    const next = await onboard(key, 'Crashed');
    expect(next.status).toBe(201);
    expect(next.headers.get('idempotency-replayed')).toBeNull();
    expect(await clientsNamed('Crashed')).toBe(1);
  });

  test('that a process of the version before has as a row is free: its request finds no row, and writes nothing', async () => {
    const key = newKey();
    await change(sql`
      insert into idempotency_key (tenant_id, api_user_id, operation, key, request_hash, status, expires_at)
      values (${tenant.id}, ${apiUserId}, 'onboardClient', ${key}, 'x', 'RUNNING', now() + interval '24 hours')`);
    expect(await onboard(key, 'Before')).toMatchObject({ status: 201 });
    expect(await keptKeys(key)).toEqual([{ status: 'DONE', forADay: true }]);
  });
});

test('the response is stored in the transaction of the changes: if it fails at its end, neither is stored', async () => {
  const key = newKey();
  await store.system(async (transaction) => {
    await transaction.all(sql`create function doom() returns trigger language plpgsql as $$
      begin if new.data ->> 'name' = 'Doomed' then raise exception 'doomed'; end if; return new; end $$`);
    await transaction.all(
      sql`create trigger doom before insert on recorded_event for each row execute function doom()`,
    );
  });
  expect(await onboard(key, 'Doomed')).toMatchObject({ status: 500 });
  expect(await clientsNamed('Doomed')).toBe(0);
  expect(await keptKeys(key)).toEqual([]);
  await store.system((transaction) => transaction.all(sql`drop trigger doom on recorded_event`));
  expect(await onboard(key, 'Doomed')).toMatchObject({ status: 201 });
});

test('purgeExpiredKeys deletes only the expired keys, of every tenant', async () => {
  const elsewhere = await signIn({ roles: ['API_ADMIN'], tenant: await service.addTenant('elsewhere') });
  const [expired, fresh] = [newKey(), newKey()];
  for (const by of [{ call }, elsewhere]) {
    await onboard(expired, 'Expired', by);
    await onboard(fresh, 'Fresh', by);
  }
  const count = (tenantId: number) =>
    store.read(tenantId, (session) =>
      session.all<{ key: string }>(sql`select key from idempotency_key where key in (${expired}, ${fresh})`),
    );
  for (const { id } of [tenant, elsewhere.tenant]) {
    await store.write(id, (transaction) =>
      transaction.all(sql`update idempotency_key set expires_at = now() - interval '1 second' where key = ${expired}`),
    );
  }
  expect(await purgeExpiredKeys(store)).toBeGreaterThanOrEqual(2);
  expect(await purgeExpiredKeys(store)).toBe(0);
  for (const { id } of [tenant, elsewhere.tenant]) expect(await count(id)).toEqual([{ key: fresh }]);
});
