/** Measures the delivery of events; see README.md beside this file. `--engine`, `--subscriptions`, `--throughput` and `--quick` narrow it. */
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { pino } from 'pino';
import { Pool } from 'undici';
import type { Tenant } from '../src/auth/caller.ts';
import { readConfig } from '../src/config.ts';
import { DeliveryAddresses } from '../src/delivery/addresses.ts';
import { startDelivery } from '../src/delivery/delivery.ts';
import { transact } from '../src/entity/transact.ts';
import { createApiKey } from '../src/operator/api-keys.ts';
import { createTenant } from '../src/operator/tenants.ts';
import { clientGroup } from '../src/resources/clients/client-group.ts';
// Entities that refer to each other are only whole together.
import '../src/resources/handlers.ts';
import { createService, type Service } from '../src/service.ts';
import { newId } from '../src/store/new-id.ts';
import { openStore, type StoreOptions } from '../src/store/store.ts';
import { eventsRecorded } from '../src/store/trace.ts';
import { selfSigned } from '../test/certificate.ts';
import { databaseUrl, dropDatabase, runOn } from '../test/postgres-server.ts';
import { findServer } from '../test/postgres-setup.ts';
import { median } from './median.ts';
import type { ReceiverCommand, Taken } from './receiver.ts';

const { values } = parseArgs({
  options: {
    delivery: { type: 'boolean' },
    engine: { type: 'string' },
    quick: { type: 'boolean', default: false },
    subscriptions: { type: 'string', default: '1,10,100' },
    throughput: { type: 'boolean', default: false },
  },
});
const deliveriesOfRound = values.quick ? 2_000 : 8_000;
const rounds = values.quick ? 1 : 3;
const singleEvents = values.quick ? 30 : 150;

const { key, cert } = await selfSigned('localhost');
const receiver = fork(new URL('receiver.ts', import.meta.url), [key, cert], {
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
});
const [port] = (await once(receiver, 'message')) as [number];
const origin = `https://localhost:${port}`;

const folder = await mkdtemp(join(tmpdir(), 'financial-automation-bench-'));
console.log(
  `Load of the machine before: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')}`,
);
try {
  if (values.engine !== 'pglite') {
    const postgres = await findServer();
    const database = `bench_delivery_${process.pid}`;
    await runOn(postgres.url, `create database ${database} template template0`);
    try {
      await measureEngine('PostgreSQL', { databaseUrl: databaseUrl(postgres.url, database) });
    } finally {
      await dropDatabase(postgres.url, database);
      await postgres.stop();
    }
  }
  if (values.engine !== 'postgres') await measureEngine('PGlite', { dataDir: join(folder, 'data') });
} finally {
  receiver.kill();
  await rm(folder, { recursive: true, force: true });
}

async function ask(command: ReceiverCommand): Promise<Taken> {
  receiver.send(command);
  const [taken] = (await once(receiver, 'message')) as [Taken];
  return taken;
}

/** Waits until so many deliveries have arrived. */
async function arrived(count: number): Promise<Taken> {
  for (;;) {
    const { count: soFar } = await ask('count');
    if (soFar >= count) return ask('take');
    await pause(10);
  }
}

async function measureEngine(engine: string, options: StoreOptions): Promise<void> {
  const store = await openStore(options);
  const environment = { MASTER_KEY: randomBytes(32).toString('base64'), RATE_LIMIT_FACTOR: '0', LOG_LEVEL: 'silent' };
  const created = await createService(
    readConfig({ ...environment, DATA_DIR: folder }),
    store,
    pino({ level: 'silent' }),
  );
  const deliveryAddresses = new DeliveryAddresses({ allowLoopback: true, resolve: async () => [] });
  const service: Service = { ...created, deliveryAddresses };
  try {
    const throughput: Record<string, object> = {};
    const latency: Record<string, object> = {};
    for (const subscriptions of values.subscriptions.split(',').map(Number)) {
      const tenant = await subscribedTenant(service, `subscribed_${subscriptions}`, subscriptions);
      throughput[subscriptions] = await measureThroughput(service, tenant, subscriptions);
      if (!values.throughput) latency[subscriptions] = await measureLatency(service, tenant, subscriptions);
    }
    console.log(`\n${engine}: deliveries per second, beside a bare loop of POSTs over as many connections`);
    console.table(throughput);
    if (values.throughput) return;
    const dead = await subscribedTenant(service, 'with_a_dead_one', 99);
    await addSubscription(service, dead, '/dead');
    latency['100, one of them dead'] = await measureLatency(service, dead, 99);
    console.log(`${engine}: milliseconds from the commit of a single event to its arrival`);
    console.table(latency);
    console.log(`${engine}: milliseconds of a write`);
    console.table(await measureWrites(service));
  } finally {
    await store.close();
  }
}

async function subscribedTenant(service: Service, name: string, subscriptions: number): Promise<Tenant> {
  const place = { currency: 'USD', timeZone: 'UTC', country: 'US' };
  const tenant = await createTenant({ service }, { name, displayName: name, ...place });
  await createApiKey(
    { service },
    { tenant: name, user: 'bench', roles: ['API_ADMIN'], days: 1, description: undefined },
  );
  for (let number = 1; number <= subscriptions; number++) await addSubscription(service, tenant, `/${name}/${number}`);
  return tenant;
}

async function addSubscription({ store }: Service, { id: tenantId }: Tenant, path: string): Promise<void> {
  const id = newId();
  await store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into event_subscription (tenant_id, id, system_ref, delivery_url, entity_type, operations, created_by_api_user_id)
      select ${tenantId}, ${id}, ${id}, ${origin + path}, 'ClientGroup', array['CREATE', 'UPDATE', 'DELETE'], id from api_user
      where tenant_id = ${tenantId}`),
  );
}

/** An event of a client group; each has a row of its own. */
async function recordEvents({ store }: Service, { id: tenantId }: Tenant, count: number): Promise<void> {
  const group = {
    id: newId(),
    systemRef: 'group',
    sysRefs: [],
    active: true,
    version: 1,
    name: 'Harbor',
    note: 'x'.repeat(800),
  };
  await store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into outbox_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
      select ${tenantId}, uuidv7(), 'ClientGroup', uuidv7(), 'CREATE', 1, ${JSON.stringify(group)}::jsonb
      from generate_series(1, ${count}::integer)`),
  );
  store.notify(eventsRecorded, String(tenantId));
}

async function measureThroughput(service: Service, tenant: Tenant, subscriptions: number) {
  const events = deliveriesOfRound / subscriptions;
  const own: number[] = [];
  const bare: number[] = [];
  let memory = 0;
  for (let round = 0; round <= rounds; round++) {
    await recordEvents(service, tenant, events);
    await ask('reset');
    const started = performance.now();
    const delivery = await startDelivery(service, { ca: cert });
    const { connections } = await arrived(deliveriesOfRound);
    const seconds = (performance.now() - started) / 1000;
    memory = Math.max(memory, process.memoryUsage().rss / 1e6);
    await delivery.stop(5_000);
    const bareSeconds = await bareLoop(connections);
    // The first round warms up.
    if (round > 0) {
      own.push(deliveriesOfRound / seconds);
      bare.push(deliveriesOfRound / bareSeconds);
    }
  }
  const ratios = own.map((value, index) => value / (bare[index] ?? Number.NaN));
  return {
    'deliveries/s': Math.round(median(own)),
    'bare POSTs/s': Math.round(median(bare)),
    ratio: `${median(ratios).toFixed(2)} [${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}]`,
    'memory in MB': Math.round(memory),
  };
}

/** The same number of requests without anything around them. @returns seconds */
async function bareLoop(connections: number): Promise<number> {
  const pool = new Pool(origin, { connections, pipelining: 1, allowH2: false, connect: { ca: cert } });
  const body = Buffer.alloc(1_200, 'x');
  const headers = { 'content-type': 'application/json', 'webhook-id': 'bare' };
  let left = deliveriesOfRound;
  const started = performance.now();
  const loop = async () => {
    while (left-- > 0) {
      const response = await pool.request({ method: 'POST', path: '/bare', headers, body });
      await response.body.dump();
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
  const seconds = (performance.now() - started) / 1000;
  await pool.close();
  return seconds;
}

async function measureLatency(service: Service, tenant: Tenant, subscriptions: number) {
  const delivery = await startDelivery(service, { ca: cert });
  const first: number[] = [];
  const all: number[] = [];
  for (let event = 0; event < singleEvents + 10; event++) {
    await ask('reset');
    await recordEvents(service, tenant, 1);
    const committed = performance.timeOrigin + performance.now();
    const { arrivals } = await arrived(subscriptions);
    const times = arrivals.map(([, , at]) => at - committed);
    if (event >= 10) {
      first.push(Math.min(...times));
      all.push(...times);
    }
    await pause(30);
  }
  await delivery.stop(0);
  return {
    'p50 of the first': percentile(first, 50),
    'p50 of all': percentile(all, 50),
    'p99 of all': percentile(all, 99),
  };
}

/** Writes with 100 subscriptions that match beside writes with none, in turns. Each waits until the last one is delivered. */
async function measureWrites(service: Service) {
  const delivery = await startDelivery(service, { ca: cert });
  const subscribed = await subscribedTenant(service, 'written_with', 100);
  const alone = await subscribedTenant(service, 'written_without', 0);
  const times = { with: [] as number[], without: [] as number[] };
  for (let round = 0; round < singleEvents + 20; round++) {
    for (const [name, tenant] of [
      ['with', subscribed],
      ['without', alone],
    ] as const) {
      await ask('reset');
      const started = performance.now();
      const origin = { tenant, caller: undefined, operation: 'bench', requestId: 'bench', vault: service.vault };
      await transact(service.store, origin, (unit) =>
        unit.plan((plan) => plan.create(clientGroup, { name: `Group ${name} ${round}` })),
      );
      if (round >= 20) times[name].push(performance.now() - started);
      if (name === 'with') await arrived(100);
      await pause(10);
    }
  }
  await delivery.stop(0);
  const [withAll, without] = [percentile(times.with, 50), percentile(times.without, 50)];
  return {
    'with 100 subscriptions': { p50: withAll, p99: percentile(times.with, 99) },
    'without one': { p50: without, p99: percentile(times.without, 99) },
    ratio: {
      p50: Number((withAll / without).toFixed(2)),
      p99: Number((percentile(times.with, 99) / percentile(times.without, 99)).toFixed(2)),
    },
  };
}

function percentile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((left, right) => left - right);
  return Number(
    (sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * share) / 100))] ?? Number.NaN).toFixed(1),
  );
}
