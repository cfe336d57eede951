import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { deliveringService } from '../../../../test/delivery.ts';
import { recordsOf } from '../../../../test/modules/records.ts';
import { startReceiver } from '../../../../test/receiver.ts';

const service = await deliveringService();
const { call, start, secret } = service;
await start();
const { make } = recordsOf({ call } as Parameters<typeof recordsOf>[0]);
const path = '/api/v1/event-subscriptions';

interface Subscription {
  readonly id: string;
  readonly entityType: string;
  readonly entityTypes: readonly string[];
}

async function subscribe(deliveryUrl: string, fields: object) {
  const operations = ['CREATE', 'UPDATE'];
  return call<Subscription>('POST', path, { deliveryUrl, operations, ...fields });
}

test('createEventSubscription › to several types receives the events of each, in their order, and of no other', async () => {
  const receiver = await startReceiver();
  const { status, body } = await subscribe(receiver.url, { entityTypes: ['StaffType', 'ClientGroup'] });
  expect([status, body.entityType, body.entityTypes]).toEqual([201, 'StaffType', ['StaffType', 'ClientGroup']]);
  await make('ClientGroup', { name: 'One' });
  await make('StaffType', { name: 'Two', code: 'TWO', rank: 1, isBillable: true });
  await make('Client', { name: 'Not mine' });
  await make('ClientGroup', { name: 'Three' });
  await expect.poll(() => receiver.arrivals.length).toBe(3);
  expect(receiver.arrivals.map(({ event }) => event.data.name)).toEqual(['One', 'Two', 'Three']);
  expect(receiver.faults).toEqual([]);
});

test('createEventSubscription › requires one type or several, each with one of the events, and payments alone', async () => {
  const url = 'https://hooks.example.com/in';
  const pointerOf = async (fields: object) => {
    const { status, body } = await subscribe(url, fields);
    return [status, Reflect.get(body, 'errors')?.[0]?.pointer];
  };
  expect(await pointerOf({})).toEqual([400, '/entityType']);
  expect(await pointerOf({ entityType: 'Client', entityTypes: ['Client'] })).toEqual([400, '/entityType']);
  expect(await pointerOf({ entityTypes: ['Client', 'Payment'] })).toEqual([400, '/entityTypes/1']);
  expect(await pointerOf({ entityTypes: ['Client', 'Nothing'] })).toEqual([400, '/entityTypes/1']);
  const reader = await service.signIn({ roles: ['EVNT_SUB_W', 'CLNT_R'] });
  const body = { deliveryUrl: url, operations: ['CREATE'], entityTypes: ['Client', 'Invoice'] };
  expect(await reader.call('POST', path, body)).toMatchObject({ status: 403 });
});

test('sendTestEvent › sends the signed example of the type, and returns the response of the receiver', async () => {
  const receiver = await startReceiver();
  const { body } = await subscribe(receiver.url, { entityTypes: ['StaffType', 'ClientGroup'] });
  const sent = await call<{ eventId: string }>('POST', `${path}/${body.id}/test`);
  expect(sent).toMatchObject({
    status: 200,
    body: { outcome: 'SUCCESS', httpStatusCode: 200, responseSnippet: 'ok', deliveryUrl: receiver.url },
  });
  const [arrival] = receiver.arrivals;
  expect(arrival?.headers['webhook-test']).toBe('true');
  expect(
    new Webhook(await secret()).verify(arrival?.body ?? '', arrival?.headers as Record<string, string>),
  ).toMatchObject({
    id: sent.body.eventId,
    entityType: 'StaffType',
    tenant: service.tenant.name,
  });
  expect(receiver.faults).toEqual([]);
  const test = (query: string) => call('POST', `${path}/${body.id}/test?${query}`);
  await test('entityType=ClientGroup&operation=UPDATE');
  expect(receiver.arrivals.at(-1)?.event).toMatchObject({ entityType: 'ClientGroup', operation: 'UPDATE' });
  expect(await test('entityType=Client')).toMatchObject({
    status: 400,
    body: { errors: [{ pointer: '/entityType' }] },
  });
  expect(await test('operation=DELETE')).toMatchObject({ status: 400, body: { errors: [{ pointer: '/operation' }] } });
  receiver.respond = (_arrival, response) => response.writeHead(503).end('later');
  expect(await call('POST', `${path}/${body.id}/test`)).toMatchObject({
    body: { outcome: 'FAILED', httpStatusCode: 503 },
  });
  await call('DELETE', `${path}/${body.id}`);
  expect(await call('POST', `${path}/${body.id}/test`)).toMatchObject({ status: 409 });
});

test('rotateWebhookSecret › signs with both secrets for the time, and with the new one alone without', async () => {
  const receiver = await startReceiver();
  await subscribe(receiver.url, { entityType: 'ClientGroup' });
  const before = await secret();
  const rotated = await call<{ secret: string }>('POST', `${path}/webhook/secret/rotate`, { overlapMinutes: 60 });
  expect([rotated.status, rotated.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(rotated.body.secret).toBe(await secret());
  expect(rotated.body.secret).not.toBe(before);
  await make('ClientGroup', { name: 'Both' });
  await expect.poll(() => receiver.arrivals.length).toBe(1);
  const signatures = () => String(receiver.arrivals.at(-1)?.headers['webhook-signature']).split(' ').length;
  expect(signatures()).toBe(2);
  await call('POST', `${path}/webhook/secret/rotate`, { overlapMinutes: 0 });
  await make('ClientGroup', { name: 'One again' });
  await expect.poll(() => receiver.arrivals.length).toBe(2);
  expect(signatures()).toBe(1);
  const reader = await service.signIn({ roles: ['WHSEC_R'] });
  expect(await reader.call('POST', `${path}/webhook/secret/rotate`, {})).toMatchObject({ status: 403 });
});
