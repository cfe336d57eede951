import { expect, test, vi } from 'vitest';
import { readTenantSettings } from '../../../admission/tenant-settings.ts';
import type { DeliveryProgress } from './acknowledge.ts';
import { deliverPartition, eventsByRow } from './deliver-partition.ts';
import { Message, Secrets } from './message.ts';

const event = (entityId: string, position: number) => ({ entityId, position });
const [one, other, last] = [
  '019a0000-0000-7000-8000-00000000000a',
  '019a0000-0000-7000-8000-00010000000a',
  '019a0000-0000-7000-8000-00000000000b',
];

test('eventsByRow returns the events of each row in their order, also of rows whose IDs end alike', () => {
  const events = [event(one, 9), event(other, 3), event(last, 2), event(one, 4), event(other, 8)];
  expect(eventsByRow(events)).toEqual([
    [event(one, 4), event(one, 9)],
    [event(other, 3), event(other, 8)],
    [event(last, 2)],
  ]);
  expect(eventsByRow([])).toEqual([]);
});

test('sends no more of a batch when what was read of the subscription is old', async () => {
  const { sent, recorded } = await deliverForty(true);
  expect(sent).toBeLessThan(10);
  // The others wait, and what is read of the subscription next decides on them.
  expect(recorded).toMatchObject([{ position: 40, release: 'more', attempts: { length: sent } }]);
  expect(recorded[0]?.retries.map(({ attempts, dueIn }) => [attempts, dueIn])).toEqual(Array(40 - sent).fill([0, 0]));
});

test('keeps what is due of a tenant that is closed or renamed during a lease', async () => {
  const { sent, recorded } = await deliverForty(false);
  expect(sent).toBe(0);
  expect(recorded).toMatchObject([{ position: undefined, release: 'more', retries: [] }]);
});

/** Delivers 40 events, each of which takes a second. @param isFound whether the tenant is open under its name */
async function deliverForty(isFound: boolean) {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const type = 'ClientGroup';
  const due = Array.from({ length: 40 }, (_, index) => {
    const id = `019a0000-0000-7000-8000-0000000001${String(index).padStart(2, '0')}`;
    const event = {
      id,
      entityType: type,
      operation: 'CREATE',
      entityId: id,
      recordedAt: '2026-10-01T09:30:00.000Z',
    } as const;
    const message = new Message('{}', { ...event, traceparent: null, source: null, linkCreator: null }, false);
    return { id, entityId: id, position: index + 1, attempts: 0, isRetry: false, isBehind: false, message };
  });
  const subscription = {
    deliveryUrl: 'https://crm.example.com/in',
    entityType: type,
    entityTypes: [type],
    filterExpression: null,
    createdByApiUserId: one,
    roles: new Set(['API_ADMIN']),
  };
  const settings = readTenantSettings({});
  const tenant = { id: 1, name: 'firm', currency: 'USD', timeZone: 'UTC', settings, isSandbox: false };
  const secrets = new Secrets(['whsec_AAAA']);
  const recorded: DeliveryProgress[] = [];
  let sent = 0;
  await deliverPartition(
    { tenantId: 1, tenantName: 'firm', subscriptionId: one, failures: 0, failingSince: null },
    {
      send: async () => {
        now += 1_000;
        sent += 1;
        const nothing = { responseSnippet: null, errorMessage: null, retryAfter: 0 };
        return { outcome: 'SUCCESS', httpStatusCode: 200, duration: 1_000, attemptedAt: now, ...nothing };
      },
      isStopping: () => false,
      tenant: async () => (isFound ? tenant : undefined),
      load: async () => ({ subscription, secrets, due, position: 40, hasMore: false, clockOffset: 0, readAt: now }),
      acknowledge: async (progress) => recorded.push(progress) > 0,
      deactivate: async () => undefined,
      attempted: () => undefined,
    },
  );
  clock.mockRestore();
  return { sent, recorded };
}
