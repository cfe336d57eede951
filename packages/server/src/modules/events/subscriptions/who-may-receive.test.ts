import { describe, expect, test } from 'vitest';
import { recordsOf } from '../../../../test/modules/records.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { sharedService, type TestCaller } from '../../../../test/service.ts';
import { allOperations, readRows } from '../../../contract/contract.ts';
import { holdsField } from '../../../contract/fields.ts';
import { entityOf } from '../../../entity/registry.ts';
import { newId } from '../../../platform/store/new-id.ts';
import { type CatalogEntry, rolesToRead } from '../catalog/catalog.ts';
import { isFiltered, paymentFilters } from './payment-filter.ts';

const path = '/api/v1/event-subscriptions';
const service = await sharedService({ roles: ['API_ADMIN', 'PYMT_EVNT_ALL'] });
await recordsOf(service).define('Opportunity', [{ name: 'stage', type: 'STRING' }]);
const catalog = await service.call<{ data: CatalogEntry[] }>('GET', `${path}/catalog?enabled=true`);
/** May write subscriptions, and read nothing. */
const redirector = await service.signIn({ roles: ['EVNT_SUB_W'] });
const deliveryUrl = 'https://hooks.example.com/in';

/** A subscription that can exist, and the roles that its readers must have: one of each list. */
interface Kind {
  readonly body: { readonly entityType: string; readonly filterExpression?: string };
  readonly roles: readonly (readonly string[])[];
}

const kinds = [...new Set(catalog.body.data.map(({ entityType }) => entityType))].flatMap((entityType): Kind[] => {
  const roles = [rolesToRead(entityType)];
  if (!isFiltered(entityType))
    return [{ body: { entityType } }, { body: { entityType, filterExpression: 'ownPaymentLinksOnly' } }].map(
      (kind) => ({ ...kind, roles }),
    );
  return paymentFilters.map((filterExpression) => ({
    body: { entityType, filterExpression },
    roles: [...roles, ['PYMT_EVNT_ALL']],
  }));
});
/** The roles of which one is required to read each row of another type that events of a kind embed. */
const embeddedIn = ({ body: { entityType } }: Kind) => {
  const found: (readonly string[])[] = [];
  for (const field of entityOf(entityType)?.shown ?? [])
    holdsField(field, ({ readRoles }) => readRows(readRoles) && found.push(readRoles) === 0);
  return found;
};
const operationsOf = (type: string) =>
  catalog.body.data.filter(({ entityType }) => entityType === type).map(({ operation }) => operation);

/** What each operation sends of a subscription, by ID. Several where it can have different effects. */
const requests: Readonly<
  Record<string, (id: string, body: object) => [method: string, path: string, body?: object][]>
> = {
  createEventSubscription: (_id, body) => [['POST', path, body]],
  updateEventSubscription: (id) => [
    ['PATCH', `${path}/${id}`, { deliveryUrl: `${deliveryUrl}/elsewhere` }],
    ['PATCH', `${path}/${id}`, { deliveryUrl, filterExpression: 'ownPaymentLinksOnly' }],
    ['PATCH', `${path}/${id}`, { filterExpression: 'ownPaymentLinksOnly' }],
  ],
  reactivateEventSubscription: (id) => [['POST', `${path}/${id}/reactivate`]],
  sendTestEvent: (id) => [['POST', `${path}/${id}/test`]],
  retryDelivery: (id) => [['POST', `${path}/${id}/deliveries/${newId()}/retry`]],
  recoverEvents: (id) => [['POST', `${path}/${id}/recover`, { since: '2026-01-01T00:00:00.000Z' }]],
};

/** Nothing is sent by it any more. */
const ending = 'deactivateEventSubscription';
const writing = allOperations.filter(({ id, roles }) => roles.includes('EVNT_SUB_W') && id !== ending);

async function subscriptionOf({ body }: Kind, operationId: string): Promise<string> {
  const operations = operationsOf(body.entityType);
  const created = await service.call<{ id: string }>('POST', path, { ...body, deliveryUrl, operations });
  expect(created).toMatchObject({ status: 201 });
  if (operationId === 'reactivateEventSubscription') await service.call('DELETE', `${path}/${created.body.id}`);
  return created.body.id;
}

const isOwn = ({ body }: Kind) => isFiltered(body.entityType) && body.filterExpression === 'ownPaymentLinksOnly';
/** Whether a request was rejected because of what the subscription sends. */
const isRejected = ({ status, body }: { status: number; body: unknown }) =>
  status === 403 || (status === 400 && Reflect.get(Object(body), 'code') === 'FILTER_NOT_ALLOWED');

/** Sends what the operation can send of a subscription of the kind, as the caller. */
async function* responses(operationId: string, kind: Kind, caller: TestCaller) {
  const id = await subscriptionOf(kind, operationId);
  const whole = { ...kind.body, deliveryUrl, operations: operationsOf(kind.body.entityType) };
  for (const [method, place, body] of requests[operationId]?.(id, whole) ?? [])
    yield { id, request: `${method} ${place} ${JSON.stringify(body)}`, ...(await caller.call(method, place, body)) };
  // The number of active ones is limited.
  await service.call('DELETE', `${path}/${id}`);
}

/** By day, each operation is tried with the filtered kinds and a part of the others, which together are all. */
const kindsOf = (operationId: string) =>
  kinds.filter(({ body }, index) => {
    const turn = (index + writing.findIndex(({ id }) => id === operationId)) % writing.length;
    return isNightly || isFiltered(body.entityType) || turn === 0;
  });

describe.each(writing.map(({ id }) => id))('%s', (operationId) => {
  test('rejects callers who may not read what the subscription sends, for every type and filter', async () => {
    expect(requests[operationId], 'a request of the operation').toBeDefined();
    for (const kind of kindsOf(operationId)) {
      // Without a role of their own, callers create subscriptions to their own payments.
      if (operationId === 'createEventSubscription' && isOwn(kind)) continue;
      const missing = [...kind.roles.keys()].map((index) =>
        kind.roles.filter((_roles, other) => other !== index).map(([role = '']) => role),
      );
      for (const held of missing) {
        const caller = held.length === 0 ? redirector : await service.signIn({ roles: ['EVNT_SUB_W', ...held] });
        for await (const { id, request, ...response } of responses(operationId, kind, caller)) {
          expect(isRejected(response), `${request}: ${JSON.stringify(response.body)}`).toBe(true);
          const { body } = await service.call(`GET`, `${path}/${id}`);
          expect(body).toMatchObject({
            deliveryUrl,
            filterExpression: kind.body.filterExpression ?? null,
            active: operationId !== 'reactivateEventSubscription',
          });
        }
      }
    }
  });

  test('accepts callers with the roles that read what the subscription sends', async () => {
    for (const kind of kindsOf(operationId)) {
      const embedded = operationId === 'updateEventSubscription' ? embeddedIn(kind) : [];
      const roles = [...kind.roles, ...embedded].map(([role = '']) => role);
      const caller = await service.signIn({ roles: ['EVNT_SUB_W', ...new Set(roles)] });
      // The delivery of a retry does not exist.
      for await (const { request, status, body } of responses(operationId, kind, caller))
        expect(
          operationId === 'retryDelivery' ? [404] : [200, 201, 202],
          `${request}: ${JSON.stringify(body)}`,
        ).toContain(status);
    }
  });
});

test('updateEventSubscription › events of others are redirected only by who may read all rows that they embed', async () => {
  const embedding = kinds.filter((kind) => embeddedIn(kind).length > 0);
  expect(new Set(embedding.map(({ body }) => body.entityType))).toEqual(
    new Set(['Task', 'Engagement', 'Invoice', 'Payment']),
  );
  for (const kind of embedding) {
    const body = { ...kind.body, deliveryUrl, operations: operationsOf(kind.body.entityType) };
    const id = await subscriptionOf(kind, 'updateEventSubscription');
    for (const missing of embeddedIn(kind)) {
      const others = [...kind.roles, ...embeddedIn(kind).filter((one) => !missing.some((role) => one.includes(role)))];
      const caller = await service.signIn({
        roles: ['EVNT_SUB_W', ...new Set(others.map(([role = '']) => role)), 'RATE_R'],
      });
      const redirect = (to: string) => caller.call('PATCH', `${path}/${to}`, { deliveryUrl: `${deliveryUrl}/mine` });
      expect(await redirect(id)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
      expect(await service.call('GET', `${path}/${id}`)).toMatchObject({ body: { deliveryUrl } });
      expect(await caller.call('PATCH', `${path}/${id}`, { description: 'Theirs' })).toMatchObject({ status: 200 });
      const own = await caller.call<{ id: string }>('POST', path, body);
      expect(await redirect(own.body.id)).toMatchObject({ status: 200 });
    }
  }
});

test("whoever subscribed to payments through links of one's own may redirect them and have them sent again", async () => {
  const body = { entityType: 'Payment', operations: ['CREATE'], deliveryUrl, filterExpression: 'ownPaymentLinksOnly' };
  const {
    body: { id },
  } = await redirector.call<{ id: string }>('POST', path, body);
  await redirector.call('DELETE', `${path}/${id}`);
  for (const operationId of ['reactivateEventSubscription', 'updateEventSubscription', 'recoverEvents'])
    for (const [method, place, sent] of requests[operationId]?.(id, body) ?? [])
      expect(await redirector.call(method, place, sent)).toMatchObject({ status: expect.toBeOneOf([200, 202]) });
});
