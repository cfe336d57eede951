import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { recordsOf } from '../../../../test/modules/records.ts';
import { sharedService, type TestCaller } from '../../../../test/service.ts';
import { contract } from '../../../contract/contract.ts';
import { newId } from '../../../platform/store/new-id.ts';

const path = '/api/v1/event-subscriptions';
const service = await sharedService({ roles: ['API_ADMIN', 'PYMT_EVNT_ALL'] });
const { store, tenant } = service;
const admin = await service.signIn({ roles: ['API_ADMIN'] });
const stranger = await service.signIn({
  roles: ['API_ADMIN', 'PYMT_EVNT_ALL'],
  tenant: await service.addTenant('elsewhere'),
});
/** May subscribe, and nothing else. */
const subscriber = await service.signIn({ roles: ['EVNT_SUB_W', 'EVNT_SUB_R'] });

interface Subscription {
  readonly id: string;
  readonly active: boolean;
  readonly version: number;
  readonly [field: string]: unknown;
}

const toClients = {
  deliveryUrl: 'https://hooks.example.com/in',
  entityType: 'Client',
  operations: ['CREATE', 'UPDATE'],
};
const toPayments = { deliveryUrl: 'https://hooks.example.com/in', entityType: 'Payment', operations: ['CREATE'] };

async function subscribe(body: object, caller: TestCaller = service): Promise<Subscription> {
  const created = await caller.call<Subscription>('POST', path, body);
  expect(created).toMatchObject({ status: 201 });
  return created.body;
}
const read = async (id: string) => (await service.call<Subscription>('GET', `${path}/${id}`)).body;
const rejected = (pointer: string, code: string) => ({
  status: 400,
  body: { code: 'VALIDATION_ERROR', errors: [{ in: 'body', pointer, code }] },
});
const notAllowed = {
  status: 400,
  body: {
    code: 'FILTER_NOT_ALLOWED',
    errors: [{ in: 'body', pointer: '/filterExpression', code: 'FILTER_NOT_ALLOWED' }],
  },
};
const change = (statement: ReturnType<typeof sql>) =>
  store.write(tenant.id, (transaction) => transaction.all(statement));

/** A row as it could have been stored before there were rules for filters. */
async function legacy(filterExpression: string | null): Promise<Subscription> {
  const { id } = await subscribe({ ...toPayments, filterExpression: 'allPayments' });
  await change(sql`update event_subscription set filter_expression = ${filterExpression} where id = ${id}`);
  return read(id);
}

describe('createEventSubscription', () => {
  test('creates a subscription, which is then read and listed', async () => {
    const { status, headers, body } = await service.call<Subscription>('POST', path, {
      ...toClients,
      description: 'CRM',
    });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`${path}/${body.id}`);
    expect(body).toMatchObject({
      ...toClients,
      description: 'CRM',
      filterExpression: null,
      active: true,
      version: 1,
      deactivatedAt: null,
      lastDeliveryAt: null,
      consecutiveFailures: 0,
    });
    const one = await service.call('GET', `${path}/${body.id}`);
    expect(one).toMatchObject({ status: 200, body });
    expect(one.headers.get('etag')).toBe(headers.get('etag'));
    const list = await service.call<{ data: Subscription[]; total: number }>(
      'GET',
      `${path}?includeTotal=true&pageSize=100`,
    );
    expect(list.body.data.map(({ id }) => id)).toContain(body.id);
    expect(list.body.total).toBe(list.body.data.length);
  });

  test('leaves an audit row of who did it', async () => {
    const { id } = await subscribe(toClients);
    const rows = await store.read(tenant.id, (session) =>
      session.all(sql`select operation, before, after ->> 'deliveryUrl' as url from audit_log where entity_id = ${id}`),
    );
    expect(rows).toEqual([{ operation: 'createEventSubscription', before: null, url: toClients.deliveryUrl }]);
  });

  test('in a dry run gives no recorded event a position', async () => {
    const record = { type: 'Client', systemRef: 'dry', attributes: { name: 'Harbor', status: 'PROSPECT' } };
    await service.call('POST', '/api/v1/records', { records: [record] });
    const waiting = () =>
      store.read(tenant.id, (session) => session.all(sql`select event_id from event_waiting order by 1`));
    const before = await waiting();
    expect(before).not.toEqual([]);
    const dry = await service.call('POST', path, toClients, { 'Dry-Run': 'true' });
    expect(dry).toMatchObject({ status: 201 });
    expect(await waiting()).toEqual(before);
  });

  test('with an Idempotency-Key creates one subscription however often it is sent', async () => {
    const headers = { 'Idempotency-Key': newId() };
    const first = await service.call<Subscription>('POST', path, toClients, headers);
    const second = await service.call<Subscription>('POST', path, toClients, headers);
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    const other = await service.call('POST', path, { ...toClients, operations: ['DELETE'] }, headers);
    expect(other).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
  });

  test.each([
    ['a type that does not exist', { entityType: 'Nonsense' }, '/entityType'],
    ['a type that is never enabled', { entityType: 'Industry' }, '/entityType'],
    [
      'an operation that the type does not have',
      { entityType: 'Invoice', operations: ['CREATE', 'DELETE'] },
      '/operations/1',
    ],
  ])('rejects %s', async (_name, scope, pointer) => {
    const answer = await service.call('POST', path, { ...toClients, ...scope });
    expect(answer).toMatchObject(rejected(pointer, 'EVENT_NOT_ENABLED'));
  });

  test.each([
    ['NOT_HTTPS', 'http://hooks.example.com/in'],
    ['ADDRESS_NOT_PUBLIC', 'https://10.0.0.1/in'],
    ['ADDRESS_NOT_PUBLIC', 'https://localhost/in'],
    ['CREDENTIALS', 'https://user:secret@hooks.example.com/in'],
    ['PORT_NOT_ALLOWED', 'https://hooks.example.com:8443/in'],
  ])('rejects with %s the deliveryUrl %s', async (code, deliveryUrl) => {
    const answer = await service.call('POST', path, { ...toClients, deliveryUrl });
    expect(answer).toMatchObject(rejected('/deliveryUrl', code));
  });

  test.each([
    ['no operations', { operations: [] }],
    ['an operation twice', { operations: ['CREATE', 'CREATE'] }],
    ['an unknown operation', { operations: ['READ'] }],
    ['a property that the service sets', { createdByApiUserId: newId() }],
    ['an empty filter', { filterExpression: '' }],
    ['a deliveryUrl that is none', { deliveryUrl: 'hooks.example.com' }],
  ])('rejects %s', async (_name, wrong) => {
    expect(await service.call('POST', path, { ...toClients, ...wrong })).toMatchObject({ status: 400 });
  });

  test('stores a filter of another type than payments, whatever it says', async () => {
    const created = await subscribe({ ...toClients, filterExpression: 'status = ACTIVE' }, admin);
    expect(created.filterExpression).toBe('status = ACTIVE');
  });

  test('requires the role that reads the rows', async () => {
    for (const [entityType, role] of [
      ['Client', 'CLNT_R'],
      ['TimeEntry', 'TIME_R'],
      ['WorkCode', 'CODE_R'],
      ['EngagementDocument', 'ENGMT_R'],
      ['StaffJobAssignment', 'JOB_R'],
    ]) {
      const body = { ...toClients, entityType, operations: ['CREATE'] };
      expect(await subscriber.call('POST', path, body)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
      const reader = await service.signIn({ roles: ['EVNT_SUB_W', role ?? ''] });
      expect(await reader.call('POST', path, body)).toMatchObject({ status: 201 });
    }
  });

  test('accepts a type that the tenant defined while it is active, from callers who read records', async () => {
    const records = recordsOf(service);
    await records.define('Opportunity', [{ name: 'stage', type: 'STRING' }]);
    const body = { ...toClients, entityType: 'Opportunity', operations: ['CREATE', 'UPDATE', 'DELETE'] };
    expect(await subscriber.call('POST', path, body)).toMatchObject({ status: 403 });
    const reader = await service.signIn({ roles: ['EVNT_SUB_W', 'RECORD_R'] });
    await subscribe(body, reader);
    await service.call('DELETE', '/api/v1/records/custom/Opportunity');
    expect(await service.call('POST', path, body)).toMatchObject(rejected('/entityType', 'EVENT_NOT_ENABLED'));
    expect(await stranger.call('POST', path, body)).toMatchObject(rejected('/entityType', 'EVENT_NOT_ENABLED'));
  });
});

describe('the filter of a subscription to payments', () => {
  test('is required, and one of three', async () => {
    for (const filterExpression of [undefined, null, 'everything', 'ALLPAYMENTS', 'allPayments '])
      expect(await service.call('POST', path, { ...toPayments, filterExpression })).toMatchObject(notAllowed);
  });

  test('can be ownPaymentLinksOnly with no role but those to subscribe', async () => {
    const { filterExpression } = await subscribe(
      { ...toPayments, filterExpression: 'ownPaymentLinksOnly' },
      subscriber,
    );
    expect(filterExpression).toBe('ownPaymentLinksOnly');
  });

  test.each(['paymentLinkOnly', 'allPayments'])(
    'can be %s with PYMT_EVNT_ALL, which API_ADMIN does not imply',
    async (filter) => {
      const body = { ...toPayments, filterExpression: filter };
      expect(await subscriber.call('POST', path, body)).toMatchObject(notAllowed);
      expect(await admin.call('POST', path, body)).toMatchObject(notAllowed);
      const all = await service.signIn({ roles: ['EVNT_SUB_W', 'PYMT_EVNT_ALL'] });
      expect(await all.call('POST', path, body)).toMatchObject({ status: 403 });
      const reader = await service.signIn({ roles: ['EVNT_SUB_W', 'PYMT_EVNT_ALL', 'PYMT_R'] });
      expect(await reader.call('POST', path, body)).toMatchObject({ status: 201 });
    },
  );
});

describe('updateEventSubscription', () => {
  test('changes what is sent and keeps the rest; a new address keeps the type and the operations', async () => {
    const { id } = await subscribe({ ...toClients, description: 'CRM' });
    const { status, headers, body } = await service.call<Subscription>('PATCH', `${path}/${id}`, {
      deliveryUrl: 'https://other.example.com/in',
    });
    expect({ status, etag: headers.get('etag') }).toEqual({ status: 200, etag: expect.stringMatching(/-2"$/) });
    expect(body).toMatchObject({
      ...toClients,
      deliveryUrl: 'https://other.example.com/in',
      description: 'CRM',
      version: 2,
    });
    const cleared = await service.call<Subscription>('PATCH', `${path}/${id}`, { description: null });
    expect(cleared.body).toMatchObject({ description: null, version: 3 });
    const same = await service.call<Subscription>('PATCH', `${path}/${id}`, { description: null });
    expect(same.body).toMatchObject({ version: 3 });
  });

  test('rejects an empty body, what cannot be changed, and an address that is not public', async () => {
    const { id } = await subscribe(toClients);
    for (const body of [{}, { entityType: 'Job' }, { operations: ['DELETE'] }, { active: false }])
      expect(await service.call('PATCH', `${path}/${id}`, body)).toMatchObject({ status: 400 });
    const answer = await service.call('PATCH', `${path}/${id}`, { deliveryUrl: 'https://[::1]/in' });
    expect(answer).toMatchObject(rejected('/deliveryUrl', 'ADDRESS_NOT_PUBLIC'));
  });

  test('checks the filter that then holds, where the address or the filter changes', async () => {
    const { id } = await subscribe({ ...toPayments, filterExpression: 'allPayments' });
    const patch = (caller: TestCaller, body: object) => caller.call('PATCH', `${path}/${id}`, body);
    expect(await patch(admin, { deliveryUrl: 'https://other.example.com/in' })).toMatchObject(notAllowed);
    expect(await patch(admin, { filterExpression: 'paymentLinkOnly' })).toMatchObject(notAllowed);
    expect(await patch(service, { filterExpression: null })).toMatchObject(notAllowed);
    expect(await patch(service, { filterExpression: 'other' })).toMatchObject(notAllowed);
    expect(await read(id)).toMatchObject({ version: 1, filterExpression: 'allPayments' });
    expect(await patch(admin, { description: 'A description alone is not checked' })).toMatchObject({ status: 200 });
    expect(await patch(service, { deliveryUrl: 'https://other.example.com/in' })).toMatchObject({ status: 200 });
    const own = { deliveryUrl: 'https://third.example.com/in', filterExpression: 'ownPaymentLinksOnly' };
    // Those of whoever subscribed are payments of somebody else for all others.
    expect(await patch(admin, own)).toMatchObject(notAllowed);
    expect(await patch(service, own)).toMatchObject({ status: 200 });
  });

  test('lets nobody redirect events of rows that they may not read', async () => {
    const { id } = await subscribe(toClients);
    const patch = (body: object) => subscriber.call('PATCH', `${path}/${id}`, body);
    expect(await patch({ deliveryUrl: 'https://mine.example.com/in' })).toMatchObject({ status: 403 });
    expect(await patch({ description: 'x' })).toMatchObject({ status: 200 });
  });
});

describe('deactivateEventSubscription', () => {
  test('makes it inactive and keeps it readable; a second time changes nothing', async () => {
    const { id } = await subscribe(toClients);
    const first = await service.call<Subscription>('DELETE', `${path}/${id}`);
    expect(first).toMatchObject({ status: 200, body: { active: false, version: 2 } });
    expect(first.body.deactivatedAt).not.toBeNull();
    expect(await service.call('DELETE', `${path}/${id}`)).toMatchObject({ status: 200, body: first.body });
    expect(await read(id)).toEqual(first.body);
  });
});

describe('reactivateEventSubscription', () => {
  const reactivate = (id: string, caller: TestCaller = service) =>
    caller.call<Subscription>('POST', `${path}/${id}/reactivate`);

  test('makes it active again; a second time changes nothing', async () => {
    const { id } = await subscribe(toClients);
    await service.call('DELETE', `${path}/${id}`);
    const first = await reactivate(id);
    expect(first).toMatchObject({ status: 200, body: { active: true, deactivatedAt: null, version: 3 } });
    expect(await reactivate(id)).toMatchObject({ status: 200, body: { version: 3 } });
  });

  test('rejects a stored filter that is not allowed for the caller, with 400 and never 500', async () => {
    const { id } = await subscribe({ ...toPayments, filterExpression: 'allPayments' });
    await service.call('DELETE', `${path}/${id}`);
    const { status, body } = await reactivate(id, admin);
    expect({ status, body }).toMatchObject(notAllowed);
    expect(JSON.stringify(body)).not.toContain('Failed to reactivate event subscription');
    expect(await read(id)).toMatchObject({ active: false });
    expect(await reactivate(id)).toMatchObject({ status: 200 });
  });

  test.each([null, 'amount > 100'])(
    'leaves an old active row with the filter %s alone, and rejects it once inactive',
    async (filter) => {
      const { id } = await legacy(filter);
      expect(await reactivate(id, admin)).toMatchObject({
        status: 200,
        body: { active: true, filterExpression: filter },
      });
      expect(await admin.call('PATCH', `${path}/${id}`, { description: 'old' })).toMatchObject({ status: 200 });
      expect(await admin.call('PATCH', `${path}/${id}`, { deliveryUrl: 'https://x.example.com/' })).toMatchObject(
        notAllowed,
      );
      await service.call('DELETE', `${path}/${id}`);
      expect(await reactivate(id)).toMatchObject(notAllowed);
    },
  );

  test('requires the role that reads the rows', async () => {
    const { id } = await subscribe(toClients);
    await service.call('DELETE', `${path}/${id}`);
    expect(await reactivate(id, subscriber)).toMatchObject({ status: 403 });
  });
});

test('a subscription of another tenant does not exist', async () => {
  const { id } = await subscribe(toClients);
  for (const one of [id, newId()]) {
    for (const [method, place, body] of [
      ['GET', one],
      ['PATCH', one, { description: 'x' }],
      ['DELETE', one],
      ['POST', `${one}/reactivate`],
      ['GET', `${one}/deliveries`],
    ] as const) {
      const answer = await stranger.call(method, `${path}/${place}`, body);
      expect(answer).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    }
  }
  const list = await stranger.call<{ data: Subscription[] }>('GET', `${path}?pageSize=100`);
  expect(list.body.data).toEqual([]);
  expect(await read(id)).toMatchObject({ version: 1, active: true });
});

describe('listDeliveries', () => {
  const instant = (second: number, days = 1) =>
    `${Temporal.Now.plainDateISO('UTC').subtract({ days })}T10:00:${String(second).padStart(2, '0')}.000Z`;

  /** Attempts straight into the table, one a second. */
  async function attempts(
    subscriptionId: string,
    statuses: readonly (number | null)[],
    days?: number,
    next?: string,
  ): Promise<void> {
    for (const [second, status] of statuses.entries()) {
      await change(sql`
        insert into delivery_attempt (tenant_id, id, subscription_id, event_id, entity_type, operation, entity_id, attempt,
          delivery_url, http_status_code, outcome, duration_ms, attempted_at, next_retry_at)
        values (${tenant.id}, ${newId()}, ${subscriptionId}, ${newId()}, 'Client', 'CREATE', ${newId()}, 1,
          'https://hooks.example.com/in', ${status}, ${status === 200 ? 'SUCCESS' : 'FAILED'}, 5, ${instant(second, days)}, ${next ?? null})`);
    }
  }
  interface Page {
    readonly data: { attemptedAt: string; httpStatusCode: number | null }[];
    readonly hasMore: boolean;
    readonly total?: number;
  }
  async function list(id: string, query: string): Promise<Page> {
    const { status, body } = await service.call<Page>('GET', `${path}/${id}/deliveries?${query}`);
    expect(status).toBe(200);
    return body;
  }
  const seconds = ({ data }: Page) => data.map(({ attemptedAt }) => Number(attemptedAt.slice(17, 19)));

  test('returns the attempts of one subscription, newest first, by page, status and time', async () => {
    const { id } = await subscribe(toClients);
    const other = await subscribe(toClients);
    await attempts(id, [200, 500, null, 200, 410]);
    await attempts(other.id, [200]);
    expect(seconds(await list(id, ''))).toEqual([4, 3, 2, 1, 0]);
    const second = await list(id, 'page=1&pageSize=2&includeTotal=true');
    expect(seconds(second)).toEqual([2, 1]);
    expect(second).toMatchObject({ hasMore: true, total: 5 });
    expect(seconds(await list(id, 'page=2&pageSize=2'))).toEqual([0]);
    expect(seconds(await list(id, 'httpStatusCode=200'))).toEqual([3, 0]);
    expect(seconds(await list(id, `from=${instant(1)}&to=${instant(3)}`))).toEqual([2, 1]);
    expect(seconds(await list(id, `from=${instant(3)}&httpStatusCode=200&includeTotal=true`))).toEqual([3]);
    expect(seconds(await list(id, 'page=9'))).toEqual([]);
  });

  test('names no next attempt of a subscription that was deactivated since', async () => {
    const { id } = await subscribe(toClients);
    await change(sql`update event_subscription set active_since = ${instant(0)} where id = ${id}`);
    await attempts(id, [500], 1, instant(30));
    const next = async () => (await list(id, '')).data.map((attempt) => Reflect.get(attempt, 'nextRetryAt'));
    expect(await next()).toEqual([instant(30)]);
    await service.call('DELETE', `${path}/${id}`);
    expect(await next()).toEqual([null]);
    await service.call('POST', `${path}/${id}/reactivate`);
    expect(await next()).toEqual([null]);
  });

  test('returns attempts of the last 30 days, also while older ones exist', async () => {
    const { id } = await subscribe(toClients);
    await attempts(id, [200, 500, 500], 32);
    await attempts(id, [500], 29);
    expect(await list(id, 'includeTotal=true')).toMatchObject({ data: [{ attemptedAt: instant(0, 29) }], total: 1 });
    expect(await list(id, `from=${instant(0, 40)}&to=${instant(0, 30)}`)).toMatchObject({ data: [] });
  });

  test.each(['httpStatusCode=99', 'httpStatusCode=x', 'from=yesterday', 'pageSize=101', 'page=-1', 'outcome=SUCCESS'])(
    'rejects %s',
    async (query) => {
      const { id } = await subscribe(toClients);
      expect(await service.call('GET', `${path}/${id}/deliveries?${query}`)).toMatchObject({ status: 400 });
    },
  );
});

test('a tenant has a limit of active subscriptions, each of which gets every event, also by reactivation', async () => {
  const max = contract['x-tenant-limits'].activeEventSubscriptions ?? 0;
  const crowd = await service.signIn({ roles: ['API_ADMIN'], tenant: await service.addTenant('crowd') });
  const first = await subscribe(toClients, crowd);
  await subscribe(toClients, crowd);
  expect(await crowd.call('DELETE', `${path}/${first.id}`)).toMatchObject({ status: 200 });
  await store.write(crowd.tenant.id, (transaction) =>
    transaction.all(sql`
      insert into event_subscription (tenant_id, id, system_ref, delivery_url, entity_type, operations, created_by_api_user_id)
      select tenant_id, gen_random_uuid(), 'copy ' || number, delivery_url, entity_type, operations, created_by_api_user_id
      from event_subscription, generate_series(2, ${max}::integer) as number where active`),
  );
  const limited = { status: 409, body: { code: 'LIMIT_REACHED' } };
  expect(await crowd.call('POST', path, toClients)).toMatchObject(limited);
  expect(await crowd.call('POST', `${path}/${first.id}/reactivate`)).toMatchObject(limited);
  expect((await crowd.call<Subscription>('GET', `${path}/${first.id}`)).body).toMatchObject({ active: false });
});
