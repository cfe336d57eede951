/** Shared by the benchmarks of deliveries: a receiver, a service that can reach it, and tenants with subscriptions. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@financial-automation/server/app/read-config';
import { createApiKey } from '@financial-automation/server/operator/api-keys';
import { createTenant } from '@financial-automation/server/operator/tenants';
import { DeliveryAddresses } from '@financial-automation/server/platform/addresses';
import type { Tenant } from '@financial-automation/server/platform/auth/caller';
import { sql } from 'kysely';
import { pino } from 'pino';
// Entities refer to each other, so all of them must be defined.
import '@financial-automation/server/app/handlers';
import { createService, type Service } from '@financial-automation/server/entity/service';
import { newId } from '@financial-automation/server/platform/store/new-id';
import { openStore, type StoreOptions } from '@financial-automation/server/platform/store/store';
import { eventsRecorded } from '@financial-automation/server/platform/store/trace';
import { selfSigned } from '@financial-automation/server/test/certificate';
import type { Arrivals, ReceiverCommand } from './receiver.ts';

/** A receiver in a process of its own. */
export interface BenchReceiver {
  readonly origin: string;
  /** Its certificate, which senders must trust. */
  readonly cert: string;
  readonly pid: number;
  send(command: ReceiverCommand): Promise<Arrivals>;
  /** Waits until this many deliveries have arrived. */
  arrived(count: number): Promise<Arrivals>;
  stop(): void;
}

export async function startReceiver(): Promise<BenchReceiver> {
  const { key, cert } = await selfSigned('localhost');
  const child = fork(new URL('receiver.ts', import.meta.url), [key, cert], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [port] = (await once(child, 'message')) as [number];
  const send = async (command: ReceiverCommand): Promise<Arrivals> => {
    child.send(command);
    const [arrivals] = (await once(child, 'message')) as [Arrivals];
    return arrivals;
  };
  // Asking again and again would be work of the process that delivers, which the bare loops do not have.
  const arrived = (count: number): Promise<Arrivals> => send(count);
  const { pid } = child;
  if (pid === undefined) throw new Error('The receiver did not start.');
  return { origin: `https://localhost:${port}`, cert, pid, send, arrived, stop: () => void child.kill() };
}

/** The same for all processes of a benchmark, which share a database. */
const masterKey = Buffer.alloc(32, 7).toString('base64');

/** Runs with a service that delivers to this machine, and closes its store. */
export async function withService(options: StoreOptions, work: (service: Service) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-bench-'));
  const store = await openStore(options);
  const environment = { MASTER_KEY: masterKey, RATE_LIMIT_FACTOR: '0', LOG_LEVEL: 'silent' };
  try {
    const config = readConfig({ ...environment, DATA_DIR: folder });
    const created = await createService(config, store, pino({ level: 'silent' }));
    const deliveryAddresses = new DeliveryAddresses({ allowLoopback: true, resolve: async () => [] });
    await work({ ...created, deliveryAddresses });
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A tenant with subscriptions to client groups, one for each URL. */
export async function subscribedTenant(service: Service, name: string, urls: readonly string[]): Promise<Tenant> {
  const place = { currency: 'USD', timeZone: 'UTC', country: 'US' };
  const tenant = await createTenant({ service }, { name, displayName: name, ...place });
  await createApiKey(
    { service },
    { tenant: name, user: 'bench', roles: ['API_ADMIN'], days: 1, description: undefined },
  );
  for (const url of urls) await addSubscription(service, tenant, url);
  return tenant;
}

async function addSubscription({ store }: Service, { id: tenantId }: Tenant, url: string): Promise<void> {
  const id = newId();
  await store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into event_subscription (tenant_id, id, system_ref, delivery_url, entity_type, operations, created_by_api_user_id)
      select ${tenantId}, ${id}, ${id}, ${url}, 'ClientGroup', array['CREATE', 'UPDATE', 'DELETE'], id from api_user
      where tenant_id = ${tenantId}`),
  );
}

/** The row of an event, as JSON. */
export const eventData = JSON.stringify({
  id: newId(),
  systemRef: 'group',
  sysRefs: [],
  active: true,
  version: 1,
  name: 'Harbor',
  note: 'x'.repeat(800),
});

/** Events of client groups; each has a row of its own. */
export async function recordEvents({ store }: Service, { id: tenantId }: Tenant, count: number): Promise<void> {
  await store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
      select ${tenantId}, uuidv7(), 'ClientGroup', uuidv7(), 'CREATE', 1, ${eventData}::jsonb
      from generate_series(1, ${count}::integer)`),
  );
  store.notify(eventsRecorded, String(tenantId));
}
