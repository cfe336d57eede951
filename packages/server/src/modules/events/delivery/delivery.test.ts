import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { deliveringService } from '../../../../test/delivery.ts';
import { recordsOf } from '../../../../test/modules/records.ts';
import { startReceiver } from '../../../../test/receiver.ts';
import { rotateSecret } from '../signatures/webhook-secret.ts';

const service = await deliveringService();
const { subscribe, groups, call, secret, deliveries, subscription, change, passTime, store, tenant, start } = service;
const { service: parts, signIn } = service;
await start();

/** The sequences that arrived for a row, in the order of their arrival. */
const sequences = (receiver: Awaited<ReturnType<typeof startReceiver>>, id: string | undefined) =>
  receiver.arrivals.filter(({ event }) => event.entityId === id).map(({ event }) => event.sequence);
const rename = async (systemRef: string, name: string) =>
  recordsOf({ call } as Parameters<typeof recordsOf>[0]).update([
    { type: 'ClientGroup', systemRef, attributes: { name } },
  ]);
const remove = async (systemRef: string) =>
  recordsOf({ call } as Parameters<typeof recordsOf>[0]).remove([{ type: 'ClientGroup', systemRef }]);

describe('an event', () => {
  test('arrives as the read by ID returns the row, signed before anybody has read the secret, and is listed', async () => {
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver);
    const [group] = await groups('Harbor');
    await expect.poll(() => receiver.arrivals.length).toBe(1);
    const [arrival] = receiver.arrivals;
    expect(arrival?.event).toMatchObject({
      entityType: 'ClientGroup',
      operation: 'CREATE',
      entityId: group,
      sequence: 1,
      tenant: tenant.name,
      changedFields: [],
    });
    const list = await call<{ data: object[] }>('POST', '/gql/v1/client_groups', {});
    expect(list.body.data).toContainEqual(arrival?.event.data);
    expect(arrival?.headers['content-type']).toBe('application/json');
    expect(arrival?.headers['webhook-id']).toBe(arrival?.event.id);
    const headers = arrival?.headers as Record<string, string>;
    expect(new Webhook(await secret()).verify(arrival?.body ?? '', headers)).toEqual(arrival?.event);
    await expect.poll(() => deliveries(id)).toMatchObject([{ outcome: 'SUCCESS', attempt: 1, httpStatusCode: 200 }]);
    expect(await deliveries(id)).toMatchObject([{ responseSnippet: 'ok', errorMessage: null, nextRetryAt: null }]);
    expect(await subscription(id)).toMatchObject({ consecutiveFailures: 0, lastDeliveryAt: expect.any(String) });
    expect(receiver.faults).toEqual([]);
  });

  test('is sent for the subscribed type and operations alone, and nothing for what is rolled back', async () => {
    const receiver = await startReceiver();
    await subscribe(receiver, { operations: ['UPDATE', 'DELETE'] });
    const others = await startReceiver();
    await subscribe(others, { entityType: 'ContactInfo' });
    const [group] = await groups('Matching');
    await parts.store
      .write(tenant.id, async (transaction) => {
        await transaction.all(sql`
          insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
          values (${tenant.id}, uuidv7(), 'ClientGroup', ${group}, 'UPDATE', 77, '{}')`);
        throw new Error('Rolled back.');
      })
      .catch(() => undefined);
    await rename('Matching', 'Matched');
    await remove('Matching');
    await expect.poll(() => receiver.arrivals.length).toBe(2);
    expect(receiver.arrivals.map(({ event }) => [event.operation, event.entityId])).toEqual([
      ['UPDATE', group],
      ['DELETE', group],
    ]);
    expect(receiver.arrivals[0]?.event).toMatchObject({ changedFields: ['name'], data: { name: 'Matched' } });
    expect(others.arrivals).toEqual([]);
    expect(receiver.faults).toEqual([]);
  });

  test('of a change that is in progress when the subscription is created, or active again, arrives', async () => {
    const [group] = await groups('In progress');
    const receiver = await startReceiver();
    const changeDuring = async (begin: () => Promise<unknown>, sequence: number) => {
      const [begun, subscribed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const changing = parts.store.write(tenant.id, async (transaction) => {
        await transaction.all(sql`
          insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
          values (${tenant.id}, uuidv7(), 'ClientGroup', ${group}, 'UPDATE', ${sequence}, '{}')`);
        begun.resolve();
        await subscribed.promise;
      });
      await begun.promise;
      await begin();
      subscribed.resolve();
      await changing;
      await expect.poll(() => sequences(receiver, group).at(-1)).toBe(sequence);
    };
    let id = '';
    await changeDuring(async () => ({ id } = await subscribe(receiver)), 101);
    await call('DELETE', `/api/v1/event-subscriptions/${id}`);
    await change(sql`
      insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
      values (${tenant.id}, uuidv7(), 'ClientGroup', ${group}, 'UPDATE', 102, '{}')`);
    await changeDuring(() => call('POST', `/api/v1/event-subscriptions/${id}/reactivate`), 103);
    expect(sequences(receiver, group)).toEqual([101, 103]);
  });

  test('of a custom record type arrives, and of the definition too', async () => {
    const receiver = await startReceiver();
    const { define, make } = recordsOf({ call } as Parameters<typeof recordsOf>[0]);
    await subscribe(receiver, { entityType: 'CustomRecordType', operations: ['CREATE'] });
    await define('Opportunity', [{ name: 'stage', type: 'STRING' }]);
    await subscribe(receiver, { entityType: 'Opportunity', operations: ['CREATE'] });
    const { id } = await make('Opportunity', { stage: 'WON' }, 'opportunity-1');
    await expect.poll(() => receiver.arrivals.length).toBe(2);
    expect(receiver.arrivals[1]?.event).toMatchObject({ entityType: 'Opportunity', entityId: id, operation: 'CREATE' });
    expect(receiver.faults).toEqual([]);
  });

  test('bears two signatures while the secret is rotated', async () => {
    const receiver = await startReceiver();
    await subscribe(receiver);
    const before = await secret();
    const { secret: after } = await store.write(tenant.id, (transaction) =>
      rotateSecret(transaction, parts.vault, tenant.id, 24),
    );
    for (const accepted of [before, after]) {
      receiver.secrets = [accepted];
      await groups(`Rotated ${accepted}`.slice(0, 40));
    }
    await expect.poll(() => receiver.arrivals.length).toBe(2);
    expect(String(receiver.arrivals[0]?.headers['webhook-signature']).split(' ').length).toBe(2);
    expect(receiver.faults).toEqual([]);
  });

  test('contains nothing that some readers must not see', async () => {
    const receiver = await startReceiver();
    await subscribe(receiver, { entityType: 'StaffType' });
    const attributes = { name: 'Partner', code: 'P', rank: 1, isBillable: true, defaultBillingRate: '400.00' };
    await recordsOf({ call } as Parameters<typeof recordsOf>[0]).make('StaffType', attributes);
    await expect.poll(() => receiver.arrivals.length).toBe(1);
    expect(JSON.stringify(receiver.arrivals[0]?.event.data)).not.toContain('400.00');
    expect(receiver.faults).toEqual([]);
  });
});

describe('a payment subscription', () => {
  test('receives the payments that its filter names, and a filter of old receives all', async () => {
    const minter = await signIn({ roles: ['API_ADMIN', 'PYMT_EVNT_ALL', 'PYMT_R'] });
    const body = { name: 'Payer', address: { country: 'US' } };
    const { clientId, clientRef } = (
      await call<{ clientId: string; clientRef: string }>('POST', '/api/v1/clients/v1/onboard', body)
    ).body;
    const link = async (caller: Pick<typeof service, 'call'>) =>
      (await caller.call<{ id: string }>('POST', '/api/v1/clients/v1/link/payment', { clientRef, amount: '10.00' }))
        .body.id;
    const [own, others] = [await link(minter), await link(service)];
    const events = { entityType: 'Payment', operations: ['CREATE'] };
    const received = async (filterExpression: string) => {
      const receiver = await startReceiver();
      const { id } = await subscribe(receiver, { ...events, filterExpression }, minter);
      return { receiver, id };
    };
    const mine = await received('ownPaymentLinksOnly');
    const links = await received('paymentLinkOnly');
    const all = await received('allPayments');
    const old = await received('allPayments');
    await change(sql`update event_subscription set filter_expression = null where id = ${old.id}`);
    const attributes = {
      clientId,
      paymentDate: '2026-01-05',
      amount: '10.00',
      method: 'CHECK',
      currency: 'USD',
      source: 'MANUAL',
    };
    await recordsOf(minter).make('Payment', attributes);
    // The same payment, as if it had come through links.
    for (const linkId of [own, others]) {
      await change(sql`
        insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data, request_id)
        select tenant_id, uuidv7(), entity_type, uuidv7(), operation, sequence,
          data || jsonb_build_object('source', 'QUICK_PAYMENT_LINK', 'quickPaymentLinkId', ${linkId}::text), request_id
        from recorded_event where entity_type = 'Payment' and data->>'source' <> 'QUICK_PAYMENT_LINK' limit 1`);
    }
    store.notify('events_recorded', String(tenant.id));
    const linksOf = ({ receiver }: typeof all) => receiver.arrivals.map(({ event }) => event.data.quickPaymentLinkId);
    await expect.poll(() => linksOf(all)).toEqual([null, own, others]);
    await expect.poll(() => linksOf(old)).toEqual([null, own, others]);
    await expect.poll(() => linksOf(links)).toEqual([own, others]);
    await expect.poll(() => linksOf(mine)).toEqual([own]);
    for (const { receiver } of [mine, links, all, old]) expect(receiver.faults).toEqual([]);

    // Without the role for wide filters, the old one and the narrow one go on.
    await change(
      sql`update api_user set roles = array['API_ADMIN'] where name like 'user-api_admin-pymt_evnt_all-pymt_r'`,
    );
    await change(sql`
      insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
      select tenant_id, uuidv7(), entity_type, uuidv7(), operation, sequence, data
      from recorded_event where data->>'quickPaymentLinkId' = ${own} limit 1`);
    store.notify('events_recorded', String(tenant.id));
    await expect.poll(() => linksOf(old)).toEqual([null, own, others, own]);
    await expect.poll(() => linksOf(mine)).toEqual([own, own]);
    expect(linksOf(all).length).toBe(3);
    expect(linksOf(links).length).toBe(2);
  });
});

describe('a subscription', () => {
  test('receives what happens after it was created, and nothing while it is inactive', async () => {
    const receiver = await startReceiver();
    await groups('Before');
    const { id } = await subscribe(receiver);
    await groups('During');
    await expect.poll(() => receiver.arrivals.length).toBe(1);
    await call('DELETE', `/api/v1/event-subscriptions/${id}`);
    await groups('Meanwhile');
    await call('POST', `/api/v1/event-subscriptions/${id}/reactivate`);
    await groups('Afterwards');
    await expect.poll(() => receiver.arrivals.length).toBe(2);
    expect(receiver.arrivals.map(({ event }) => event.data.name)).toEqual(['During', 'Afterwards']);
  });

  test('receives nothing when its API user has lost the role that reads the rows, or is inactive', async () => {
    const receiver = await startReceiver();
    const control = await startReceiver();
    const reader = await signIn({ roles: ['EVNT_SUB_W', 'CLNT_R'] });
    const { id } = await subscribe(receiver, {}, reader);
    await subscribe(control);
    await groups('Readable');
    await expect.poll(() => receiver.arrivals.length).toBe(1);
    const user = sql`id = (select created_by_api_user_id from event_subscription where id = ${id})`;
    await change(sql`update api_user set roles = array['EVNT_SUB_W'] where ${user}`);
    await groups('Unreadable');
    await change(sql`update api_user set roles = array['EVNT_SUB_W', 'CLNT_R'], active = false where ${user}`);
    await groups('Inactive');
    await expect.poll(() => control.arrivals.length).toBe(3);
    // Its subscription has gone past them, too.
    const [feed] = await change(sql`select position from event_feed`);
    await expect
      .poll(() => change(sql`select position from delivery_partition where subscription_id = ${id}`))
      .toEqual([feed]);
    await change(sql`update api_user set active = true where ${user}`);
    await groups('Readable again');
    await expect.poll(() => receiver.arrivals.length).toBe(2);
    expect(receiver.arrivals.map(({ event }) => event.data.name)).toEqual(['Readable', 'Readable again']);
  });

  test('of another tenant receives nothing', async () => {
    const elsewhere = await signIn({ roles: ['API_ADMIN'], tenant: await service.addTenant('elsewhere') });
    const [receiver, control] = [await startReceiver(), await startReceiver()];
    await subscribe(receiver, {}, elsewhere);
    await subscribe(control);
    await groups('Private');
    await expect.poll(() => control.arrivals.length).toBe(1);
    expect(receiver.arrivals).toEqual([]);
  });
});

describe('an attempt that fails', () => {
  test('is repeated until it succeeds, with the same id, and later events of the row wait for it', async () => {
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver);
    let failures = 2;
    receiver.respond = ({ event }, response) => {
      if (event.data.systemRef === 'Stubborn' && failures-- > 0) response.writeHead(503).end('not now');
    };
    const [stubborn] = await groups('Stubborn');
    await rename('Stubborn', 'Stubborn 2');
    await rename('Stubborn', 'Stubborn 3');
    const [easy] = await groups('Easy');
    await expect.poll(() => sequences(receiver, easy)).toEqual([1]);
    await expect.poll(async () => (await deliveries(id)).length).toBe(2);
    const failed = (await deliveries(id)).find(({ entityId }) => entityId === stubborn);
    expect(failed).toMatchObject({ outcome: 'FAILED', httpStatusCode: 503, responseSnippet: 'not now', attempt: 1 });
    const delay = Date.parse(failed?.nextRetryAt ?? '') - Date.parse(failed?.attemptedAt ?? '');
    expect(delay).toBeGreaterThanOrEqual(4_990);
    for (let attempts = 2; attempts <= 3; attempts++) {
      await passTime();
      await expect.poll(() => sequences(receiver, stubborn).length).toBeGreaterThanOrEqual(attempts);
      await expect.poll(async () => (await deliveries(id)).length).toBeGreaterThanOrEqual(attempts + 1);
    }
    await expect.poll(() => sequences(receiver, stubborn)).toEqual([1, 1, 1, 2, 3]);
    const ids = receiver.arrivals.filter(({ event }) => event.sequence === 1 && event.entityId === stubborn);
    expect(new Set(ids.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    await expect.poll(() => subscription(id)).toMatchObject({ consecutiveFailures: 0, active: true });
    const attempts = (await deliveries(id)).filter(
      ({ entityId, eventId }) => entityId === stubborn && eventId === failed?.eventId,
    );
    expect(attempts.map(({ attempt }) => attempt)).toEqual([3, 2, 1]);
    expect(attempts[0]).toMatchObject({ outcome: 'SUCCESS', nextRetryAt: null });
  });

  test('for the tenth time is the last one, and then the next event of the row is sent', async () => {
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver);
    receiver.respond = ({ event }, response) => {
      if (event.data.name === 'Hopeless') response.writeHead(400).end();
    };
    const [hopeless] = await groups('Hopeless');
    await rename('Hopeless', 'Hopeful');
    for (let attempts = 1; attempts <= 10; attempts++) {
      await expect.poll(async () => (await deliveries(id)).length).toBeGreaterThanOrEqual(attempts);
      await passTime();
    }
    await expect.poll(() => sequences(receiver, hopeless)).toEqual([...Array(10).fill(1), 2]);
    await expect.poll(async () => (await deliveries(id)).length).toBe(11);
    const [success, last] = await deliveries(id);
    expect(last).toMatchObject({ attempt: 10, outcome: 'FAILED', nextRetryAt: null });
    expect(success).toMatchObject({ attempt: 1, outcome: 'SUCCESS' });
    const left = await change(sql`select 1 from delivery_retry where subscription_id = ${id}`);
    expect(left).toEqual([]);
  });

  test('because the receiver redirects is not followed', async () => {
    const [receiver, target] = [await startReceiver(), await startReceiver()];
    const { id } = await subscribe(receiver);
    receiver.respond = (_, response) => response.writeHead(307, { Location: target.url }).end();
    await groups('Redirected');
    await expect.poll(() => deliveries(id)).toMatchObject([{ outcome: 'FAILED', httpStatusCode: 307 }]);
    expect(target.arrivals).toEqual([]);
  });

  test('because nobody listens is described without a status', async () => {
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver);
    await receiver.close();
    await groups('Unheard');
    await expect
      .poll(() => deliveries(id))
      .toMatchObject([
        { outcome: 'FAILED', httpStatusCode: null, errorMessage: expect.stringContaining('ECONNREFUSED') },
      ]);
  });

  test('with Retry-After is repeated when the receiver asks for it, and nothing else is sent before', async () => {
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver);
    receiver.respond = (_, response) => response.writeHead(429, { 'Retry-After': '120' }).end();
    await groups('Too many');
    await expect.poll(async () => (await deliveries(id)).length).toBe(1);
    const [failed] = await deliveries(id);
    const delay = Date.parse(failed?.nextRetryAt ?? '') - Date.parse(failed?.attemptedAt ?? '');
    expect(delay).toBeGreaterThanOrEqual(119_990);
    const control = await startReceiver();
    await subscribe(control);
    await groups('Meanwhile quiet');
    await expect.poll(() => control.arrivals.length).toBe(1);
    expect(receiver.arrivals.length).toBe(1);
    receiver.respond = () => undefined;
    await passTime();
    await expect
      .poll(() => receiver.arrivals.map(({ event }) => event.data.name).sort())
      .toEqual(['Meanwhile quiet', 'Too many', 'Too many']);
  });

  test('with 410 deactivates the subscription, with an audit row', async () => {
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver);
    receiver.respond = (_, response) => response.writeHead(410).end();
    await groups('Gone');
    await expect.poll(() => subscription(id)).toMatchObject({ active: false, deactivatedAt: expect.any(String) });
    const audit = await change(sql`
      select actor, operation from audit_log where entity_id = ${id} and operation like 'deliver events%'`);
    expect(audit).toEqual([{ actor: 'system', operation: 'deliver events: gone' }]);
    expect(await deliveries(id)).toMatchObject([{ httpStatusCode: 410, nextRetryAt: null }]);
    await groups('After gone');
    expect(receiver.arrivals.length).toBe(1);
  });

  test('after five days of nothing but failures deactivates the subscription', async () => {
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver);
    receiver.respond = (_, response) => response.writeHead(500).end();
    await groups('Failing for days');
    await expect.poll(() => subscription(id)).toMatchObject({ consecutiveFailures: 1, active: true });
    const since = (text: string) =>
      change(
        sql`update delivery_partition set failing_since = now() - ${text}::interval where subscription_id = ${id}`,
      );
    await since('4 days 23 hours');
    await passTime();
    await expect.poll(() => subscription(id)).toMatchObject({ consecutiveFailures: 2, active: true });
    await since('5 days');
    await passTime();
    await expect.poll(() => subscription(id)).toMatchObject({ active: false });
    const audit = await change(sql`
      select operation from audit_log where entity_id = ${id} and operation like 'deliver events%'`);
    expect(audit).toEqual([{ operation: 'deliver events: failing' }]);
  });
});

describe('a receiver that fails', () => {
  test('is left alone after a few attempts, then probed with one, and gets everything when it works again', async () => {
    const receiver = await startReceiver();
    const { id } = await subscribe(receiver);
    receiver.respond = (_, response) => response.writeHead(500).end();
    const names = Array.from({ length: 40 }, (_, index) => `Outage ${index}`);
    await groups(...names);
    await expect.poll(() => subscription(id)).toMatchObject({ consecutiveFailures: expect.any(Number) });
    await expect.poll(async () => (await subscription(id)).consecutiveFailures).toBeGreaterThanOrEqual(5);
    // What was under way when the receiver was found to fail.
    const first = receiver.arrivals.length;
    expect(first).toBeLessThanOrEqual(12);
    await change(sql`update delivery_partition set due_at = now(), paused_until = null where subscription_id = ${id}`);
    await expect.poll(() => receiver.arrivals.length).toBe(first + 1);
    // Nothing is sent again before the pause is over.
    const isAfterPause = async () => {
      const [last] = await deliveries(id);
      const [partition] = await change(
        sql`select paused_until as "until" from delivery_partition where subscription_id = ${id}`,
      );
      return Date.parse(last?.nextRetryAt ?? '') >= Date.parse(Reflect.get(Object(partition), 'until'));
    };
    await expect.poll(isAfterPause).toBe(true);
    receiver.respond = () => undefined;
    const succeeded = () => new Set(receiver.arrivals.slice(first + 1).map(({ event }) => event.data.name)).size;
    while (succeeded() < names.length) {
      await passTime();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await expect.poll(() => subscription(id)).toMatchObject({ consecutiveFailures: 0 });
  });
});
