import { connect } from 'node:net';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { deliveringService } from '../../../../test/delivery.ts';
import { firm } from '../../../../test/modules/billing.ts';
import { tickOf } from '../../../../test/modules/pay.ts';
import { recordsOf } from '../../../../test/modules/records.ts';
import { startReceiver } from '../../../../test/receiver.ts';
import { contract } from '../../../contract/contract.ts';
import { databaseClock } from '../../../platform/database-clock.ts';
import { removeOldEvents } from '../delivery/retention.ts';

interface Event {
  readonly id: string;
  readonly entityType: string;
  readonly operation: string;
  readonly entityId: string;
  readonly sequence: number;
}
interface FeedPage {
  readonly data: Event[];
  readonly hasMore: boolean;
  readonly nextCursor: string;
}

const mebibyte = 1024 * 1024;
const service = await deliveringService();
const { call, groups, subscribe, deliveries, signIn, store, addTenant } = service;
// Nothing is delivered so far: whoever reads the feed gives positions to events.
const books = await firm(service);
const invoiceId = await books.post(await books.draftOf([{}]));
await books.pay('100.00', [{ invoiceId, amount: '100.00' }]);
const rename = (systemRef: string, name: string) =>
  recordsOf(service).update([{ type: 'ClientGroup', systemRef, attributes: { name } }]);

const feed = async (query: Record<string, string | number> = {}, caller: Pick<typeof service, 'call'> = service) => {
  const words = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  return caller.call<FeedPage>('GET', `/api/v1/events?${words}`);
};
/** The whole feed, or what follows after an event. */
async function all(query: Record<string, string | number> = {}, caller: Pick<typeof service, 'call'> = service) {
  const events: Event[] = [];
  let position = query.after;
  for (;;) {
    const { status, body } = await feed({ ...query, ...(position === undefined ? {} : { after: position }) }, caller);
    expect(status).toBe(200);
    events.push(...body.data);
    position = body.nextCursor;
    if (!body.hasMore) return { events, position };
  }
}
const typesOf = (events: readonly Event[]) => new Set(events.map(({ entityType }) => entityType));

describe('listEvents', () => {
  test('lists what was written at once, in the order of each row, and continues after its cursor', async () => {
    const { position } = await all();
    const [id] = await groups('First');
    await rename('First', 'Renamed');
    const page = await feed({ after: position, pageSize: 1 });
    expect(page.body).toMatchObject({ data: [{ entityId: id, operation: 'CREATE', sequence: 1 }], hasMore: true });
    const next = await feed({ after: page.body.nextCursor, pageSize: 1 });
    expect(next.body).toMatchObject({
      data: [{ entityId: id, operation: 'UPDATE', sequence: 2, changedFields: ['name'], data: { name: 'Renamed' } }],
      hasMore: false,
    });
    const end = await feed({ after: next.body.nextCursor });
    expect(end.body).toEqual({ data: [], hasMore: false, nextCursor: expect.any(String) });
    await groups('Second');
    expect((await feed({ after: end.body.nextCursor })).body.data).toMatchObject([{ data: { name: 'Second' } }]);
    // An event that was delivered is a position, too.
    expect((await feed({ after: page.body.data[0]?.id ?? '' })).body.data.map(({ sequence }) => sequence)).toEqual([
      2, 1,
    ]);
  });

  test('returns 410 if the events after the position are removed while the page is read', async () => {
    const other = await signIn({ roles: ['API_ADMIN'], tenant: await addTenant('forgetful') });
    const write = (...names: string[]) =>
      recordsOf(other).upsert(names.map((name) => ({ type: 'ClientGroup', systemRef: name, attributes: { name } })));
    const { nextCursor } = (await feed({ after: 'latest' }, other)).body;
    await write('Removed', 'Kept');
    expect((await feed({ after: nextCursor }, other)).body.data).toHaveLength(2);
    // The next page begins with giving a position to this event.
    await write('New');
    const original = store.write.bind(store);
    const assigns = vi.spyOn(store, 'write').mockImplementationOnce(async (tenantId, work) => {
      await original(tenantId, (transaction) =>
        transaction.all(sql`delete from event_position where tenant_id = ${tenantId} and position = 1`),
      );
      return original(tenantId, work);
    });
    expect(await feed({ after: nextCursor }, other)).toMatchObject({ status: 410, body: { code: 'EVENTS_EXPIRED' } });
    assigns.mockRestore();
    expect((await feed({}, other)).body.data).toMatchObject([{ data: { name: 'Kept' } }, { data: { name: 'New' } }]);
  });

  test('starts after the last event with after=latest', async () => {
    await groups('Before');
    const { position } = await all();
    const latest = (await feed({ after: 'latest' })).body;
    expect(latest).toMatchObject({ data: [], hasMore: false });
    const [id] = await groups('After');
    for (const after of [latest.nextCursor, position ?? ''])
      expect((await all({ after })).events.map(({ entityId }) => entityId)).toEqual([id]);
  });

  test('filters by entity type and operation, and pages through all of them', async () => {
    const { events } = await all({ pageSize: 3 });
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    for (const entityType of ['ClientGroup', 'Invoice'])
      for (const operation of [undefined, 'CREATE', 'UPDATE']) {
        const filter = { entityType, ...(operation === undefined ? {} : { operation }), pageSize: 2 };
        const expected = events.filter(
          (event) => event.entityType === entityType && (operation === undefined || event.operation === operation),
        );
        expect(expected.length).toBeGreaterThan(0);
        expect((await all(filter)).events).toEqual(expected);
      }
    expect((await feed({ entityType: 'Nothing' })).status).toBe(400);
    expect((await feed({ pageSize: 1001 })).status).toBe(400);
  });

  test('lists only the types that the roles of the caller can read', async () => {
    const reader = await signIn({ roles: ['EVNT_SUB_R', 'INVC_R'] });
    expect(typesOf((await all({}, reader)).events)).toEqual(new Set(['Invoice']));
    expect((await all({ entityType: 'ClientGroup' }, reader)).events).toEqual([]);
    const other = await signIn({ roles: ['API_ADMIN'], tenant: await addTenant('elsewhere') });
    expect((await all({ filterExpression: 'ownPaymentLinksOnly' }, other)).events.length).toBe(0);
    expect((await feed({}, await signIn({ roles: ['INVC_R'] }))).status).toBe(403);
  });

  test('lists payments by the filter rules of subscriptions', async () => {
    const admin = await signIn({ roles: ['API_ADMIN'] });
    expect(typesOf((await all()).events)).not.toContain('Payment');
    expect(typesOf((await all({ filterExpression: 'allPayments' })).events)).toContain('Payment');
    expect((await all({ entityType: 'Payment', filterExpression: 'allPayments' })).events).toHaveLength(1);
    expect((await all({ entityType: 'Payment', filterExpression: 'paymentLinkOnly' })).events).toEqual([]);
    expect((await all({ entityType: 'Payment', filterExpression: 'ownPaymentLinksOnly' }, admin)).events).toEqual([]);
    const notAllowed = {
      status: 400,
      body: { code: 'FILTER_NOT_ALLOWED', errors: [{ in: 'query', pointer: '/filterExpression' }] },
    };
    expect(await feed({ entityType: 'Payment' })).toMatchObject(notAllowed);
    expect(await feed({ filterExpression: 'allPayments' }, admin)).toMatchObject(notAllowed);
  });

  test('returns the payloads that are delivered, in the order of delivery', async () => {
    const { position } = await all();
    const receiver = await startReceiver();
    await subscribe(receiver);
    const delivery = await service.start();
    await groups('Delivered', 'Delivered too');
    await rename('Delivered', 'Delivered again');
    await expect.poll(() => receiver.arrivals.length).toBe(3);
    await delivery.stop(0);
    const { events } = await all({ after: position, entityType: 'ClientGroup' });
    const arrived = receiver.arrivals.map(({ event }) => event);
    for (const event of events) expect(arrived).toContainEqual(event);
    expect(events).toHaveLength(3);
  });

  test('returns 400 for a position that it never returned, and 410 for one whose events are no longer kept', async () => {
    const cursor = (await all()).position ?? '';
    const far = await signIn({ roles: ['API_ADMIN'], tenant: await addTenant('far') });
    const foreign = (await feed({}, far)).body;
    for (const after of ['x', '0199a1c2-1b04-7c01-8a4f-5d2e9b60f101', `${cursor}x`, 'WzFd.x', foreign.nextCursor])
      expect(await feed({ after })).toMatchObject({
        status: 400,
        body: { code: 'INVALID_CURSOR', errors: [{ in: 'query', pointer: '/after' }] },
      });
    const { events } = await all();
    const [first, second] = events;
    const early = (await feed({ pageSize: 1 })).body.nextCursor;
    await store.ownerStatements('alter table event_position no force row level security');
    await store.ownerStatements(
      `update event_position set recorded_at = now() - interval '31 days' where position <= (
        select position from event_position where event_id = $1)`,
      [second?.id],
    );
    await store.ownerStatements('alter table event_position force row level security');
    await removeOldEvents.run(tickOf(service));
    expect((await all()).events).toEqual(events.slice(2));
    expect((await all({ after: cursor })).events).toEqual([]);
    for (const after of [early, first?.id ?? ''])
      expect(await feed({ after })).toMatchObject({ status: 410, body: { code: 'EVENTS_EXPIRED' } });
  });
});

test('listEvents › the bytes that wait for a caller who does not read are limited, and others are served', async () => {
  const limits: { 'x-page-bytes': number } = contract;
  const declared = limits['x-page-bytes'];
  // Pages of 6 MB, because the system takes over 4 MB of a response.
  limits['x-page-bytes'] = 16 * mebibyte;
  onTestFinished(() => {
    limits['x-page-bytes'] = declared;
  });
  const tenant = await addTenant('unread');
  const reader = await signIn({ roles: ['API_ADMIN'], tenant });
  await recordsOf(reader).upsert([{ type: 'ClientGroup', systemRef: 'long', attributes: { name: 'Long' } }]);
  await store.write(tenant.id, (transaction) =>
    transaction.all(sql`
      insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
      select tenant_id, uuidv7(), entity_type, uuidv7(), operation, 1, data || jsonb_build_object('description', repeat('業', 2000))
      from recorded_event, generate_series(1, 1000) where tenant_id = ${tenant.id} and entity_type = 'ClientGroup'`),
  );
  const { hostname, port } = new URL(service.address);
  const request = `GET /api/v1/events?pageSize=1000&entityType=ClientGroup HTTP/1.1\r\nHost: x\r\nTenant: unread\r\nAuthorization: Bearer ${reader.token}\r\n\r\n`;
  const open = () => {
    const socket = connect(Number(port), hostname).pause();
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined).write(request);
    return socket;
  };
  const waiting = async () => {
    const text = await service.service.metrics.registry.metrics();
    const numberIn = (line: RegExp) => Number(line.exec(text)?.[1]);
    return {
      bytes: numberIn(/^response_bytes_unsent (\d+)$/m),
      closed: numberIn(/^responses_cut_off_total\{reason="room"\} (\d+)$/m),
    };
  };
  for (let count = 1; count <= 7; count++) {
    const before = await waiting();
    open();
    await expect.poll(waiting).not.toEqual(before);
    expect((await waiting()).bytes).toBeLessThanOrEqual(32 * mebibyte);
  }
  const { bytes, closed } = await waiting();
  expect(bytes).toBeGreaterThan(24 * mebibyte);
  expect(closed).toBe(2);
  expect((await call('POST', '/gql/v1/orgs', {})).status).toBe(200);
});

describe('retryDelivery and recoverEvents', () => {
  const again = (id: string, deliveryId: string) =>
    call('POST', `/api/v1/event-subscriptions/${id}/deliveries/${deliveryId}/retry`);
  const recover = (id: string, since: string) =>
    call<{ events: number }>('POST', `/api/v1/event-subscriptions/${id}/recover`, { since });

  test('send an event again, and all that failed or occurred while the subscription was inactive, in their order', async () => {
    const delivery = await service.start();
    const since = new Date(databaseClock.now() - 5).toISOString();
    await groups('Earlier');
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver);
    receiver.respond = (_, response) => void response.writeHead(400).end();
    await groups('Failing');
    await expect.poll(async () => (await deliveries(id)).length).toBe(1);
    await call('DELETE', `/api/v1/event-subscriptions/${id}`);
    await delivery.stop(0);
    await rename('Failing', 'Unheard');
    await all();
    const [attempt] = (await call<{ data: { id: string }[] }>('GET', `/api/v1/event-subscriptions/${id}/deliveries`))
      .body.data;
    for (const response of [await again(id, attempt?.id ?? ''), await recover(id, since)])
      expect(response).toMatchObject({ status: 409, body: { code: 'INVALID_STATE' } });
    await call('POST', `/api/v1/event-subscriptions/${id}/reactivate`);
    receiver.respond = () => undefined;
    receiver.arrivals.length = 0;
    setTimeout(() => service.start(), 500);
    expect(await recover(id, since)).toMatchObject({ status: 202, body: { events: 2 } });
    await expect.poll(() => receiver.arrivals.map(({ event }) => event.data.name)).toEqual(['Failing', 'Unheard']);
    await expect.poll(async () => (await deliveries(id)).length).toBe(3);
    expect((await recover(id, since)).body).toEqual({ events: 0 });

    expect(await again(id, attempt?.id ?? '')).toMatchObject({ status: 202, body: { events: 1 } });
    await expect
      .poll(() => receiver.arrivals.map(({ event }) => event.data.name))
      .toEqual(['Failing', 'Unheard', 'Failing']);
    await delivery.stop(0);
  });

  test('count the attempts anew, of an event that waits and of one that is being sent', async () => {
    const delivery = await service.start();
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver);
    receiver.respond = (_, response) => void response.writeHead(400).end();
    const since = new Date(databaseClock.now() - 5).toISOString();
    await groups('Hopeless');
    const attempts = async () => (await deliveries(id)).map(({ attempt }) => attempt);
    await expect.poll(attempts).toEqual([1]);
    await service.change(sql`update delivery_retry set attempts = 9 where subscription_id = ${id}`);
    expect((await recover(id, since)).body).toEqual({ events: 1 });
    await expect.poll(attempts).toEqual([1, 1]);
    const { promise: response, resolve: respond } = Promise.withResolvers<void>();
    receiver.respond = () => response;
    await service.passTime();
    await expect.poll(() => receiver.arrivals.length).toBe(3);
    expect((await recover(id, since)).body).toEqual({ events: 1 });
    respond();
    await expect.poll(attempts).toEqual([1, 2, 1, 1]);
    expect(await service.change(sql`select 1 from delivery_retry where subscription_id = ${id}`)).toEqual([]);
    await delivery.stop(0);
    await call('DELETE', `/api/v1/event-subscriptions/${id}`);
  });

  test('report what does not exist', async () => {
    const { id } = await subscribe(await startReceiver());
    const none = '0199a1c2-1b04-7c01-8a4f-5d2e9b60f101';
    expect((await again(id, none)).status).toBe(404);
    expect((await again(none, none)).status).toBe(404);
    // An attempt of an event that has no position, as demo data could have.
    await groups('Unplaced');
    await service.change(sql`
      insert into delivery_attempt (tenant_id, id, subscription_id, event_id, entity_type, operation, entity_id, attempt, delivery_url,
        outcome, duration_ms, attempted_at)
      select tenant_id, ${none}, ${id}, event_id, entity_type, operation, entity_id, 1, 'https://x.example.com', 'FAILED', 1, now()
      from event_waiting limit 1`);
    expect((await again(id, none)).status).toBe(404);
    expect((await recover(none, databaseClock.date().toISOString())).status).toBe(404);
    expect((await recover(id, 'yesterday')).status).toBe(400);
    const reader = await signIn({ roles: ['EVNT_SUB_R'] });
    expect(
      (
        await reader.call('POST', `/api/v1/event-subscriptions/${id}/recover`, {
          since: databaseClock.date().toISOString(),
        })
      ).status,
    ).toBe(403);
  });
});
