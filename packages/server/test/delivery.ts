import { sql } from 'kysely';
import { type Delivery, startDelivery } from '../src/modules/events/delivery/delivery.ts';
import type { SenderOptions } from '../src/modules/events/delivery/sender.ts';
import { DeliveryAddresses } from '../src/platform/addresses.ts';
import { partitionsDue } from '../src/platform/store/trace.ts';
import { atEnd } from './at-end.ts';
import { recordsOf } from './modules/records.ts';
import type { Receiver } from './receiver.ts';
import { type TestCaller, type TestService, type TestServiceOptions, testService } from './service.ts';

export interface Subscription {
  readonly id: string;
  readonly active: boolean;
  readonly lastDeliveryAt: string | null;
  readonly consecutiveFailures: number;
  readonly deactivatedAt: string | null;
}

export interface DeliveryRow {
  readonly eventId: string;
  readonly entityId: string;
  readonly attempt: number;
  readonly outcome: string;
  readonly httpStatusCode: number | null;
  readonly responseSnippet: string | null;
  readonly errorMessage: string | null;
  readonly attemptedAt: string;
  readonly nextRetryAt: string | null;
}

const path = '/api/v1/event-subscriptions';

/** Starts a service that delivers events to this machine. */
export async function deliveringService(
  options: TestServiceOptions & { readonly sending?: Omit<SenderOptions, 'addresses'> } = {},
): Promise<TestService & ReturnType<typeof helpers> & { start(): Promise<Delivery> }> {
  const { sending, ...rest } = options;
  const test = await testService({
    roles: ['API_ADMIN', 'PYMT_EVNT_ALL'],
    config: { webhookAllowLoopback: true },
    replace: () => ({ deliveryAddresses: new DeliveryAddresses({ allowLoopback: true, resolve: async () => [] }) }),
    ...rest,
  });
  const start = async () => {
    const delivery = await startDelivery(test.service, sending);
    atEnd(() => delivery.stop(0));
    return delivery;
  };
  return { ...test, ...helpers(test), start };
}

function helpers({ call, service, store, tenant }: TestService) {
  const change = (statement: ReturnType<typeof sql>) =>
    store.write(tenant.id, (transaction) => transaction.all(statement));
  return {
    async subscribe(receiver: Pick<Receiver, 'url'>, body: object = {}, caller: Pick<TestCaller, 'call'> = { call }) {
      const options = {
        deliveryUrl: receiver.url,
        entityType: 'ClientGroup',
        operations: ['CREATE', 'UPDATE', 'DELETE'],
      };
      const created = await caller.call<Subscription>('POST', path, { ...options, ...body });
      if (created.status !== 201) throw new Error(`No subscription: ${JSON.stringify(created.body)}`);
      return created.body;
    },
    async subscription(id: string) {
      return (await call<Subscription>('GET', `${path}/${id}`)).body;
    },
    async deliveries(id: string, query = '') {
      const found = await call<{ data: DeliveryRow[] }>('GET', `${path}/${id}/deliveries?pageSize=100${query}`);
      if (found.status !== 200) throw new Error(`No deliveries: ${JSON.stringify(found.body)}`);
      return found.body.data;
    },
    async secret() {
      return (await call<{ secret: string }>('GET', `${path}/webhook/secret`)).body.secret;
    },
    change,
    /** Makes all retries and pauses due. */
    async passTime() {
      await change(sql`update delivery_retry set due_at = now() where due_at < 'infinity'`);
      await change(sql`update delivery_partition set due_at = now(), paused_until = null`);
      // Delivery looks for what is due every few seconds, or when it is notified.
      store.notify(partitionsDue, '');
    },
    /** Creates client groups. @returns their IDs */
    async groups(...names: string[]): Promise<string[]> {
      const items = await recordsOf({ call } as TestCaller).upsert(
        names.map((name) => ({ type: 'ClientGroup', systemRef: name, attributes: { name } })),
      );
      return items.map(({ id, status }) => {
        if (id == null || status === 'FAILED') throw new Error(`A group was not written: ${JSON.stringify(items)}`);
        return id;
      });
    },
    service,
  };
}
