/** Measures events on their way to receivers; see README.md beside this file. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { DeliveryAddresses, eventsRecorded } from '@financial-automation/server/bench';
import { selfSigned } from '@financial-automation/server/machine';
import { startDelivery } from '@financial-automation/server/modules/events';
import { newId } from '@financial-automation/server/service';
import { sql } from 'kysely';
import { Pool } from 'undici';
import { readOptions } from '../../scripts/options.ts';
import { median, quantile, ratiosOf, spread } from './figures.ts';
import { memoryOf, usedBy, usedByDatabase } from './processor-time.ts';
import type { Arrivals } from './receiver.ts';
import { addTenant, addUser, createDatabase, openService } from './service.ts';

const { values } = readOptions({
  options: {
    rounds: { type: 'string', default: '5' },
    subscriptions: { type: 'string', default: '1,10,100' },
  },
});
const rounds = Number(values.rounds);
/** V8 compiles what a delivery uses during the first 20,000, which take up to twice as long. */
const [deliveriesOfRound, warmUps] = [8_000, 3];
const singleEvents = 150;
const group = {
  id: newId(),
  systemRef: 'group',
  sysRefs: [],
  active: true,
  version: 1,
  name: 'Harbor',
  note: 'x'.repeat(800),
};

await using database = await createDatabase('delivery');
const { key, cert } = await selfSigned('localhost');
const receiver = fork(new URL('receiver.ts', import.meta.url), [key, cert], {
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
});
const [port] = (await once(receiver, 'message')) as [number];
const origin = `https://localhost:${port}`;
const opened = await openService({ databaseUrl: database.url });
const service = {
  ...opened,
  deliveryAddresses: new DeliveryAddresses({ allowLoopback: true, resolve: async () => [] }),
};
try {
  const throughput: Record<string, object> = {};
  const latency: Record<string, object> = {};
  for (const subscriptions of values.subscriptions.split(',').map(Number)) {
    const urls = Array.from({ length: subscriptions }, (_, index) => `${origin}/${index + 1}`);
    const tenantId = await subscribedTenant(`subscribed_${subscriptions}`, urls);
    throughput[subscriptions] = await measureThroughput(tenantId, subscriptions);
    latency[subscriptions] = await measureLatency(tenantId, subscriptions);
  }
  console.log('\nDeliveries, beside a bare loop of POSTs over as many connections');
  console.table(throughput);
  console.log('Milliseconds from the commit of a single event to its arrival');
  console.table(latency);
} finally {
  await service.store.close();
  receiver.kill();
}

/** Waits until so many deliveries have arrived. Looking again and again would be work of this process, which delivers. */
async function arrived(count: number): Promise<Arrivals> {
  receiver.send(count);
  const [arrivals] = (await once(receiver, 'message')) as [Arrivals];
  return arrivals;
}

async function measureThroughput(tenantId: number, subscriptions: number): Promise<object> {
  const [perSecond, bare]: [number[], number[]] = [[], []];
  const used: Record<'sender' | 'database' | 'receiver', number[]> = { sender: [], database: [], receiver: [] };
  const usedNow = () => ({
    sender: usedBy(process.pid),
    database: usedByDatabase(database.url),
    receiver: usedBy(receiver.pid ?? 0),
  });
  let memory = 0;
  for (let round = 1 - warmUps; round <= rounds; round++) {
    await recordEvents(tenantId, deliveriesOfRound / subscriptions);
    const before = usedNow();
    const started = performance.timeOrigin + performance.now();
    const delivery = await startDelivery(service, { ca: cert });
    const { times, connections } = await arrived(deliveriesOfRound);
    const seconds = (times.reduce((latest, time) => Math.max(latest, time), 0) - started) / 1000;
    const after = usedNow();
    memory = Math.max(memory, memoryOf(process.pid));
    await delivery.stop(5_000);
    const bareSeconds = await bareLoop(connections);
    if (round < 1) continue;
    perSecond.push(deliveriesOfRound / seconds);
    bare.push(deliveriesOfRound / bareSeconds);
    for (const name of ['sender', 'database', 'receiver'] as const)
      used[name].push(((after[name] - before[name]) * 1e6) / deliveriesOfRound);
  }
  return {
    'deliveries/s': Math.round(median(perSecond)),
    'bare POSTs/s': Math.round(median(bare)),
    ratio: spread(ratiosOf(perSecond, bare), 2),
    ...Object.fromEntries(Object.entries(used).map(([name, times]) => [`${name}, µs each`, Math.round(median(times))])),
    'memory, MB': memory,
  };
}

/** Sends as many requests without anything around them. @returns seconds */
async function bareLoop(connections: number): Promise<number> {
  const pool = new Pool(origin, { connections, pipelining: 1, allowH2: false, connect: { ca: cert } });
  const headers = { 'content-type': 'application/json', 'webhook-id': 'bare' };
  const body = Buffer.alloc(1_200, 'x');
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

async function measureLatency(tenantId: number, subscriptions: number): Promise<object> {
  const delivery = await startDelivery(service, { ca: cert });
  const all: number[] = [];
  for (let event = -10; event < singleEvents; event++) {
    await recordEvents(tenantId, 1);
    const committed = performance.timeOrigin + performance.now();
    const { times } = await arrived(subscriptions);
    if (event >= 0) all.push(...times.map((time) => time - committed));
    await pause(30);
  }
  await delivery.stop(0);
  return { 'p50 of all': quantile(all, 0.5).toFixed(1), 'p99 of all': quantile(all, 0.99).toFixed(1) };
}

/** A tenant with subscriptions to client groups, one for each URL. */
async function subscribedTenant(name: string, urls: readonly string[]): Promise<number> {
  const { id: tenantId } = await addTenant(service, name);
  await addUser(service, name, 'bench');
  await service.store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into event_subscription (tenant_id, id, system_ref, delivery_url, entity_type, operations, created_by_api_user_id)
      select ${tenantId}, uuidv7(), url, url, 'ClientGroup', array['CREATE', 'UPDATE', 'DELETE'], u.id
      from api_user u, unnest(${urls}::text[]) url where u.tenant_id = ${tenantId}`),
  );
  return tenantId;
}

/** Events of client groups; each has a row of its own. */
async function recordEvents(tenantId: number, count: number): Promise<void> {
  await service.store.write(tenantId, (transaction) =>
    transaction.all(sql`
      insert into recorded_event (tenant_id, id, entity_type, entity_id, operation, sequence, data)
      select ${tenantId}, uuidv7(), 'ClientGroup', uuidv7(), 'CREATE', 1, ${JSON.stringify(group)}::jsonb
      from generate_series(1, ${count}::integer)`),
  );
  service.store.notify(eventsRecorded, String(tenantId));
}
