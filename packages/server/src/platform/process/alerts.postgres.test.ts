/** The alerts of `docs/prometheus-rules.yaml`: each is caused, and fires; before that, none does. */
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, createServer } from 'node:tls';
import { sql } from 'kysely';
import { Counter, Histogram, Registry } from 'prom-client';
import { generate } from 'selfsigned';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { atEnd } from '../../../test/at-end.ts';
import { moveMachineClock } from '../../../test/clock.ts';
import { deliveringService } from '../../../test/delivery.ts';
import { freePort, portOf } from '../../../test/free-port.ts';
import { sampleOf } from '../../../test/nightly.ts';
import { evaluate, parseExposition, type Scrape, secondsOf } from '../../../test/promql.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { testService } from '../../../test/service.ts';
import { withReads } from '../../../test/with-reads.ts';
import { startBackground } from '../../background/background.ts';
import { Clock, defineClockTask } from '../../background/clock.ts';
import { defineJob, enqueue } from '../../background/job.ts';
import { databaseClock } from '../database-clock.ts';
import { newId } from '../store/new-id.ts';
import { measureProcess } from './metrics.ts';
import { measureStandbys } from './standby-metrics.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
}

const file = new URL('../../../docs/prometheus-rules.yaml', import.meta.url);
const { groups }: { readonly groups: readonly { readonly rules: readonly Rule[] }[] } = parse(
  await readFile(file, 'utf8'),
);
const rules = groups.flatMap((group) => group.rules);

/** How many of the next responses violate the contract. */
let invalid = 0;
const service = await deliveringService({
  replace: ({ validator }) => ({
    validator: {
      request: validator.request,
      response: (...parts) =>
        invalid-- > 0
          ? [{ path: '/response', keyword: 'type', message: 'must be object' }]
          : validator.response(...parts),
    },
  }),
});
const { store, tenant, call, address } = service;
const { registry } = service.service.metrics;
// As `serve` does.
measureProcess(registry);

const dying = defineJob({
  name: 'dying',
  data: {},
  retries: 0,
  run: async () => {
    throw new Error('It always fails.');
  },
});
const late = defineJob({ name: 'late', data: {}, run: async ({ finish }) => finish(async () => {}) });
const failing = defineClockTask({
  name: 'failing',
  every: 'due',
  run: async () => {
    throw new Error('It always fails.');
  },
});
const background = await startBackground(service.service, { jobs: [dying, late], clockTasks: [failing] });
atEnd(() => background.stop(0));
const metric = async (line: string) => (await registry.metrics()).includes(`\n${line}\n`);
beforeAll(() => vi.waitUntil(async () => !(await metric('clock_last_tick_timestamp_seconds 0')), 10_000));

/** What node_exporter, blackbox_exporter and the script that backs up say where nothing is wrong. */
const now = Math.floor(Date.now() / 1000);
const others = {
  available: 60e9,
  certificateExpires: now + 60 * 86_400,
  backup: now - 3_600,
};
const expositionOf = ({ available, certificateExpires, backup }: typeof others) => `
node_filesystem_avail_bytes{device="/dev/sda1",fstype="ext4",mountpoint="/var/lib/postgresql"} ${available}
node_filesystem_size_bytes{device="/dev/sda1",fstype="ext4",mountpoint="/var/lib/postgresql"} 1e+11
probe_ssl_earliest_cert_expiry ${certificateExpires}
backup_completed_timestamp_seconds ${backup}
`;

/** Prometheus, whose minutes pass when a test says so. */
class Monitor {
  readonly #scrapes: Scrape[] = [];
  #at = now - 10 * 60;

  /** Scrapes once a minute. @param act what happens before each scrape */
  async pass(minutes: number, act?: (minute: number) => unknown, target = address, outside = others, more?: Registry) {
    for (let minute = 1; minute <= minutes; minute++) {
      await act?.(minute);
      this.#at += 60;
      const text = await fetch(`${target}/metrics`).then(
        (response) => response.text(),
        () => undefined,
      );
      const up = `\nup ${text === undefined ? 0 : 1}\n`;
      const own = `${up}${text ?? ''}${(await more?.metrics()) ?? ''}`;
      const samples = [
        ...parseExposition(own, 'financial-automation', target),
        ...parseExposition(expositionOf(outside), 'node', 'database-1'),
      ];
      this.#scrapes.push({ at: this.#at, samples });
    }
  }

  fires(rule: Rule): boolean {
    let since: number | undefined;
    return this.#scrapes.some(({ at }) => {
      since = evaluate(rule.expr, this.#scrapes, at).length > 0 ? (since ?? at) : undefined;
      return since !== undefined && at - since >= secondsOf(rule.for ?? '0s');
    });
  }
}

const standbys = { states: [{ number: 1, leftOut: undefined as 'behind' | undefined, behind: 0 }], observe: () => {} };

const causes: Readonly<Record<string, (monitor: Monitor) => Promise<void>>> = {
  ProcessDown: async (monitor) => monitor.pass(2, undefined, `http://127.0.0.1:${await freePort()}`),
  NotReady: (monitor) => withClock({ hours: 1 }, () => monitor.pass(2)),
  WrongClock: (monitor) => withClock({ seconds: -4 }, () => monitor.pass(2)),
  async AwaitsAdoption(monitor) {
    service.service.lifetime.isDrill = true;
    await monitor.pass(16);
    service.service.lifetime.isDrill = false;
  },
  ResponsesFail: (monitor) => monitor.pass(7, violate),
  async ContractViolated(monitor) {
    await violate();
    await monitor.pass(1);
  },
  async RequestsWait(monitor) {
    const busy = await testService({
      config: { poolSize: 2 },
      replace: (parts) => ({
        store: withReads(parts.store, async (tenantId, work) => {
          await pause(600);
          return parts.store.read(tenantId, work);
        }),
      }),
    });
    const clients = () => busy.call('POST', '/gql/v1/clients/search', {});
    await monitor.pass(1, undefined, busy.address);
    await monitor.pass(
      13,
      (minute) => minute % 4 === 1 && Promise.all(Array.from({ length: 5 }, clients)),
      busy.address,
    );
  },
  EventLoopLags: (monitor) =>
    monitor.pass(11, async () => {
      // Node measures from its first sample after a scrape on.
      await pause(25);
      // Blocks this thread, without work.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
      await pause(15);
    }),
  async EventsLate(monitor) {
    const receiver = await startReceiver();
    const { id } = await service.subscribe(receiver);
    await service.groups('Late');
    const present = databaseClock.now.bind(databaseClock);
    const later = vi.spyOn(databaseClock, 'now').mockImplementation(() => present() + 120_000);
    const delivery = await service.start();
    await expect.poll(() => service.deliveries(id)).toHaveLength(1);
    later.mockRestore();
    await monitor.pass(6);
    await delivery.stop(0);
  },
  async ReceiversFail(monitor) {
    const receiver = await startReceiver();
    receiver.respond = (_arrival, response) => response.writeHead(500).end();
    await service.subscribe(receiver);
    const delivery = await service.start();
    const fail = async (name: string) => {
      const before = receiver.arrivals.length;
      await service.groups(name);
      await service.passTime();
      await expect.poll(() => receiver.arrivals.length).toBeGreaterThan(before);
      await expect
        .poll(async () => !(await metric('webhook_delivery_attempt_seconds_count{outcome="FAILED"} 0')))
        .toBe(true);
    };
    await monitor.pass(17, (minute) => (minute === 1 || minute === 8) && fail(`Failing ${minute}`));
    await delivery.stop(0);
  },
  // The clock has ticked when the file began, and does not tick in the minutes that this test makes pass.
  ClockStandsStill: (monitor) => monitor.pass(8),
  async ClockTaskFails(monitor) {
    const lease = { id: newId(), signal: new AbortController().signal };
    const clock = new Clock(service.service, [failing], () => Temporal.Now.instant());
    const fail = async () => {
      await store.ownerStatements(`update clock_lease set run_id = $1, leased_until = 'infinity'`, [lease.id]);
      await store.ownerStatements(
        `insert into clock_due (tenant_id, task, due_at) values ($1, 'failing', '-infinity') on conflict do nothing`,
        [tenant.id],
      );
      await clock.tick(lease);
    };
    await monitor.pass(17, (minute) => (minute === 1 || minute === 8) && fail());
  },
  async JobDead(monitor) {
    await store.write(tenant.id, (transaction) => enqueue(transaction, dying, {}));
    await expect.poll(() => metric('background_jobs_total{job="dying",outcome="dead"} 1')).toBe(true);
    await monitor.pass(1);
  },
  async JobsLate(monitor) {
    const add = async (jobs: number) => {
      await store.write(tenant.id, async (transaction) => {
        await enqueue(transaction, late, {});
        await transaction.all(
          sql`update background_job set due_at = due_at - interval '2 minutes' where name = 'late'`,
        );
      });
      await expect.poll(() => metric(`background_jobs_total{job="late",outcome="completed"} ${jobs}`)).toBe(true);
    };
    await monitor.pass(11, (minute) => minute % 5 === 1 && minute < 7 && add(1 + Math.floor(minute / 5)));
  },
  StandbyLeftOut: (monitor) => withStandby({ leftOut: 'behind', behind: 0 }, monitor),
  StandbyBehind: (monitor) => withStandby({ leftOut: undefined, behind: 100_000_000 }, monitor),
  DiskFills: (monitor) => monitor.pass(6, undefined, address, { ...others, available: 19e9 }),
  async CertificateExpires(monitor) {
    const certificateExpires = await expiryServed(new Date(Date.now() + 13 * 86_400_000));
    await monitor.pass(1, undefined, address, { ...others, certificateExpires });
  },
  BackupTooOld: (monitor) => monitor.pass(16, undefined, address, { ...others, backup: now - 26 * 3_600 }),
};

describe('the alerts', () => {
  test('all have a cause', () => {
    expect(Object.keys(causes).sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });

  test.each(sampleOf(rules, 2))('$alert fires when it is caused, and not before', async (rule) => {
    const monitor = new Monitor();
    await monitor.pass(10);
    expect(monitor.fires(rule)).toBe(false);
    await causes[rule.alert]?.(monitor);
    expect(monitor.fires(rule)).toBe(true);
  });

  test('each counter exists from the start, so that its first increase is seen', async () => {
    const { service: fresh } = await testService();
    const empty: string[] = [];
    for (const one of fresh.metrics.registry.getMetricsAsArray()) {
      if (!(one instanceof Counter || one instanceof Histogram)) continue;
      if ((await one.get()).values.length === 0) empty.push((await one.get()).name);
    }
    // Jobs and tasks are known where they run.
    expect(empty).toEqual(['background_job_lag_seconds', 'background_jobs_total', 'clock_tasks_total']);
    expect(await metric('background_jobs_total{job="late",outcome="lost"} 0')).toBe(true);
    expect(await metric('clock_tasks_total{task="failing",outcome="completed"} 0')).toBe(true);
  });
});

async function violate(): Promise<void> {
  invalid = 1;
  expect((await call('POST', '/gql/v1/clients/search', {})).status).toBe(500);
}

async function withClock(by: Temporal.DurationLike, work: () => Promise<void>): Promise<void> {
  moveMachineClock(Temporal.Now.zonedDateTimeISO('UTC').add(by).toInstant());
  await work();
  vi.useRealTimers();
}

async function withStandby(state: Omit<(typeof standbys.states)[number], 'number'>, monitor: Monitor): Promise<void> {
  const measured = new Registry();
  measureStandbys(standbys, measured);
  await monitor.pass(1, undefined, address, others, measured);
  standbys.states = [{ number: 1, ...state }];
  await monitor.pass(6, undefined, address, others, measured);
}

/** Serves a certificate, and returns when the one that is served expires, as blackbox_exporter does. */
async function expiryServed(notAfterDate: Date): Promise<number> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    notAfterDate,
  });
  const server = createServer({ key, cert });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect({ port: portOf(server), host: '127.0.0.1', rejectUnauthorized: false });
  await new Promise<void>((resolve) => socket.once('secureConnect', resolve));
  const expires = Date.parse(socket.getPeerCertificate().valid_to) / 1000;
  socket.destroy();
  server.close();
  return expires;
}
