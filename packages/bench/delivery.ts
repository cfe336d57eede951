/** Measures the delivery of events; see README.md beside this file. `--engine`, `--subscriptions`, `--throughput` and `--quick` narrow it. */
import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Service } from '@financial-automation/server/entity/service';
import { transact } from '@financial-automation/server/entity/transact';
import { clientGroup } from '@financial-automation/server/modules/clients';
import { startDelivery } from '@financial-automation/server/modules/events';
import type { Tenant } from '@financial-automation/server/platform/auth/caller';
import { newId } from '@financial-automation/server/platform/store/new-id';
import type { StoreOptions } from '@financial-automation/server/platform/store/store';
import { Pool } from 'undici';
import { readOptions } from '../../scripts/options.ts';
import { recordEvents, startReceiver, subscribedTenant, withService } from './delivering.ts';
import { median, printLoad, ratioOf } from './figures.ts';
import { createDatabase } from './postgres.ts';
import { usedBy, usedByDatabase } from './processor-time.ts';
import { type ProcessorTimes, Rounds } from './rounds.ts';

const { values } = readOptions({
  options: {
    delivery: { type: 'boolean' },
    engine: { type: 'string' },
    quick: { type: 'boolean', default: false },
    subscriptions: { type: 'string', default: '1,10,100' },
    throughput: { type: 'boolean', default: false },
  },
});
const deliveriesOfRound = values.quick ? 2_000 : 8_000;
const rounds = values.quick ? 1 : 5;
/** V8 compiles what a delivery uses during the first 20,000, which take up to twice as long. */
const warmUpRounds = values.quick ? 1 : 3;
const singleEvents = values.quick ? 30 : 150;
/** What the bare loops send. */
const bareBody = Buffer.alloc(1_200, 'x');
const signingKey = Buffer.alloc(32, 'k');

const { arrived, send, cert, origin, pid: receiver, stop } = await startReceiver();
printLoad();
try {
  if (values.engine !== 'pglite') {
    await using database = await createDatabase('delivery');
    await measureEngine('PostgreSQL', { databaseUrl: database.url });
  }
  if (values.engine !== 'postgres') await measurePglite();
} finally {
  stop();
}

async function measurePglite(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-bench-'));
  await measureEngine('PGlite', { dataDir: join(folder, 'data') });
  await rm(folder, { recursive: true, force: true });
}

async function measureEngine(engine: string, options: StoreOptions): Promise<void> {
  await withService(options, async (service) => {
    const throughput: Record<string, object> = {};
    const processorTime: Record<string, object> = {};
    // PGlite runs in a thread of the process.
    const { databaseUrl } = options;
    const usedNow = (): ProcessorTimes => ({
      sender: usedBy([process.pid]),
      database: databaseUrl === undefined ? 0 : usedByDatabase(databaseUrl),
      receiver: usedBy([receiver]),
    });
    const latency: Record<string, object> = {};
    for (const subscriptions of values.subscriptions.split(',').map(Number)) {
      const name = `subscribed_${subscriptions}`;
      const tenant = await subscribedTenant(service, name, urls(name, subscriptions));
      const measured = await measureThroughput(service, tenant, subscriptions, usedNow);
      throughput[subscriptions] = measured.throughput;
      processorTime[`delivery, ${subscriptions}`] = measured.processorTime.delivery;
      processorTime[`bare POST, ${subscriptions}`] = measured.processorTime.bare;
      processorTime[`signed POST, ${subscriptions}`] = measured.processorTime.signed;
      if (!values.throughput) latency[subscriptions] = await measureLatency(service, tenant, subscriptions);
    }
    console.log(`\n${engine}: deliveries per second, beside a bare loop of POSTs over as many connections`);
    console.table(throughput);
    console.log(`${engine}: microseconds of processor time, by process`);
    console.table(processorTime);
    if (values.throughput) return;
    const dead = await subscribedTenant(service, 'with_a_dead_one', [...urls('with_a_dead_one', 99), `${origin}/dead`]);
    latency['100, one of them dead'] = await measureLatency(service, dead, 99);
    console.log(`${engine}: milliseconds from the commit of a single event to its arrival`);
    console.table(latency);
    console.log(`${engine}: milliseconds of a write`);
    console.table(await measureWrites(service));
  });
}

function urls(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${origin}/${name}/${index + 1}`);
}

async function measureThroughput(
  service: Service,
  tenant: Tenant,
  subscriptions: number,
  usedNow: () => ProcessorTimes,
) {
  const events = deliveriesOfRound / subscriptions;
  const own = new Rounds(deliveriesOfRound, usedNow);
  const bare = new Rounds(deliveriesOfRound, usedNow);
  const signed = new Rounds(deliveriesOfRound, usedNow);
  let memory = 0;
  for (let round = 1; round <= warmUpRounds + rounds; round++) {
    const isCounted = round > warmUpRounds;
    let used = 0;
    await recordEvents(service, tenant, events);
    await send('reset');
    await own.add(isCounted, async () => {
      const started = performance.now();
      const delivery = await startDelivery(service, { ca: cert });
      const { connections, arrivals } = await arrived(deliveriesOfRound);
      const last = arrivals.reduce((latest, [, , at]) => Math.max(latest, at), 0);
      memory = Math.max(memory, process.memoryUsage().rss / 1e6);
      used = connections;
      await delivery.stop(5_000);
      return (last - performance.timeOrigin - started) / 1000;
    });
    await bare.add(isCounted, () => bareLoop(used, plainHeaders));
    await signed.add(isCounted, () => bareLoop(used, signedHeaders));
  }
  return {
    throughput: {
      'deliveries/s': Math.round(median(own.perSecond)),
      'bare POSTs/s': Math.round(median(bare.perSecond)),
      ratio: ratioOf(own.perSecond, bare.perSecond),
      'signed POSTs/s': Math.round(median(signed.perSecond)),
      'ratio to signed': ratioOf(own.perSecond, signed.perSecond),
      'memory in MB': Math.round(memory),
    },
    processorTime: { delivery: own.processorTime, bare: bare.processorTime, signed: signed.processorTime },
  };
}

function plainHeaders(): Record<string, string> {
  return { 'content-type': 'application/json', 'webhook-id': 'bare' };
}

/** The headers that every sender of events has to calculate (Standard Webhooks). */
function signedHeaders(): Record<string, string> {
  const id = newId();
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', signingKey).update(`${id}.${timestamp}.`).update(bareBody).digest('base64');
  return {
    'content-type': 'application/json',
    'user-agent': 'financial-automation-webhooks/1',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}

/** Sends the same number of requests without anything around them. @returns seconds */
async function bareLoop(connections: number, headersOf: () => Record<string, string>): Promise<number> {
  const pool = new Pool(origin, { connections, pipelining: 1, allowH2: false, connect: { ca: cert } });
  let left = deliveriesOfRound;
  const started = performance.now();
  const loop = async () => {
    while (left-- > 0) {
      const response = await pool.request({ method: 'POST', path: '/bare', headers: headersOf(), body: bareBody });
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
    await send('reset');
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
  const subscribed = await subscribedTenant(service, 'written_with', urls('written_with', 100));
  const alone = await subscribedTenant(service, 'written_without', []);
  const times = { with: [] as number[], without: [] as number[] };
  for (let round = 0; round < singleEvents + 20; round++) {
    for (const [name, tenant] of [
      ['with', subscribed],
      ['without', alone],
    ] as const) {
      await send('reset');
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
