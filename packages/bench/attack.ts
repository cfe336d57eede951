/**
 * Measures what one tenant can do to the others: how fast a quiet tenant reads by id, and whether the service is ready,
 * while another tenant attacks. `--seconds N`, `--rounds N` and `--only NAME` narrow it; `--mixtures N` attacks with random
 * mixtures instead, drawn from `--seed N`; `--unlimited` switches rate limits off; `--server FILE` attacks another bundle;
 * `--profile FOLDER` writes a profile of its processor time.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readConfig } from '@financial-automation/server/app/read-config';
import { createService } from '@financial-automation/server/entity/service';
import { createApiKey } from '@financial-automation/server/operator/api-keys';
import { createTenant } from '@financial-automation/server/operator/tenants';
import { openStore } from '@financial-automation/server/platform/store/store';
import { ensureBundle } from '@financial-automation/server/scripts/bundle';
import { freePort } from '@financial-automation/server/test/free-port';
import { startNginx } from '@financial-automation/server/test/nginx';
import { runOn } from '@financial-automation/server/test/postgres-server';
import { serveFlags } from '@financial-automation/server/test/serve-flags';
import { pino } from 'pino';
import { readOptions } from '../../scripts/options.ts';
import type { AttackOrder, AttackReport } from './attacker.ts';
import { type Attack, attacks, drawMixture } from './attacks.ts';
import { quantile } from './figures.ts';
import { largeTenant, seedLargeTenant } from './large-tenant.ts';
import { createDatabase } from './postgres.ts';
import { Probe, type Seen, together } from './probe.ts';

const { values } = readOptions({
  options: {
    attack: { type: 'boolean' },
    seconds: { type: 'string', default: '60' },
    only: { type: 'string', default: '' },
    unlimited: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    mixtures: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    server: { type: 'string' },
    profile: { type: 'string' },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const mixtures = Array.from({ length: Number(values.mixtures) }, (_, index) =>
  drawMixture(Number(values.seed) + index),
);
const chosen = mixtures.length > 0 ? mixtures : attacks.filter(({ name }) => name.includes(values.only));
const port = await freePort();
const address = `http://127.0.0.1:${port}`;

console.log('Starting PostgreSQL …');
await using database = await createDatabase('attack');
const environment = {
  ...process.env,
  DATABASE_URL: database.url,
  MASTER_KEY: randomBytes(32).toString('base64'),
  PORT: String(port),
  LOG_LEVEL: 'warn',
  // Nothing is sent to Stripe: forged notifications are rejected before.
  PAYMENT_PROCESSOR: 'stripe',
  STRIPE_SECRET_KEY: 'sk_test_bench',
  STRIPE_WEBHOOK_SECRET: 'whsec_bench',
  RATE_LIMIT_FACTOR: values.unlimited ? '0' : '1',
  TRUST_PROXY: '1',
};

/** How long each attack lasts before it is measured, in milliseconds. */
const warmUp = 5_000;
/** The API keys of attackers, by their user. */
const attackKeys = new Map<string, string>();
let server: ChildProcess | undefined;
let proxy: Awaited<ReturnType<typeof startNginx>> | undefined;
try {
  const { quietKey, clientId } = await prepare();
  server = await startServer();
  // As in operation: nginx keeps slow senders and the connections of an address from the process.
  proxy = await startNginx([port]);
  const through = proxy.address;
  const probe = new Probe(through, 'quiet', `/gql/v1/client/${clientId}`);
  // The process compiles and caches in its first seconds, which are not measured.
  await probe.watch(5, await tokenOf(quietKey));
  const rows: Record<string, object> = {};
  for (const attack of chosen) {
    console.log(`${attack.name}: ${rounds} × ${seconds} s …`);
    const alone: Seen[] = [];
    const attacked: Seen[] = [];
    const received = new Map<string, AttackReport>();
    const before = await residentMemory();
    let most = before;
    // What only the attack reaches is compiled when it is first reached, which is not measured either.
    await attackDuring(through, attack, rounds, () => pause(warmUp));
    // In turns, so that a slow minute of the machine hits both.
    for (let round = 0; round < rounds; round += 1) {
      // A token is valid for 15 minutes, less than all attacks take.
      const quietToken = await tokenOf(quietKey);
      alone.push(await probe.watch(Math.ceil(seconds / 2), quietToken));
      const sampling = setInterval(async () => {
        most = Math.max(most, await residentMemory());
      }, 250);
      const reports = await attackDuring(through, attack, round, async () => {
        attacked.push(await probe.watch(seconds, quietToken));
        clearInterval(sampling);
      });
      for (const [name, report] of reports) received.set(name, sumOf(received.get(name) ?? {}, report));
    }
    const row = rowOf(together(attacked), together(alone));
    rows[attack.name] = { ...row, MB: `${before} to ${most}` };
    console.log(`  p99 of the quiet tenant: ${row['p99, ms']} ms, ${row['p99 to quiet']} times that without an attack`);
    if (Number(row['p99 to quiet']) > 3 || row.errors !== '' || row['not ready'] > 0) process.exitCode = 1;
    for (const [name, report] of received) console.log(`  ${name} received ${JSON.stringify(report)}`);
  }
  await probe.close();
  console.table(rows);
} finally {
  await proxy?.stop();
  if (server?.kill() === true) await once(server, 'exit');
}

/**
 * Attacks before, during and after some work, with the users of a round, whose limits are unused.
 *
 * @returns what the parts of the attack received
 */
async function attackDuring(
  through: string,
  attack: Attack,
  round: number,
  work: () => Promise<void>,
): Promise<[name: string, AttackReport][]> {
  const attackers = await Promise.all(
    partsOf(attack).map(async ({ name }) => {
      const token = await tokenOf(attackKeys.get(userName(attack.name, name, round)) ?? '');
      const from = `127.0.1.${1 + attacks.findIndex((one) => one.name === name)}`;
      return { name, child: await startAttacker({ address: through, token, tenant: 'noisy', attack: name, from }) };
    }),
  );
  await pause(2_000);
  await work();
  const reports: [string, AttackReport][] = [];
  for (const { name, child } of attackers) reports.push([name, await stopAttacker(child)]);
  await pause(3_000);
  return reports;
}

/** Creates two tenants, one of them large, and the API keys of their users. */
async function prepare() {
  console.log(`Filling a tenant with ${largeTenant.contacts} contacts and ${largeTenant.links} links …`);
  // Filling the large tenant takes longer than a request may.
  const store = await openStore({ databaseUrl: environment.DATABASE_URL, limits: { statement: 600_000 } });
  const service = await createService(readConfig(environment), store, pino({ level: 'silent' }));
  const place = { currency: 'USD', timeZone: 'UTC', country: 'US' };
  const quiet = await createTenant({ service }, { name: 'quiet', displayName: 'Quiet', ...place });
  const noisy = await createTenant({ service }, { name: 'noisy', displayName: 'Noisy', ...place });
  await seedLargeTenant(store, noisy.id, largeTenant);
  const { clientId } = await seedLargeTenant(store, quiet.id, { clients: 500, contacts: 1_000, links: 2_000 });
  const keyOf = async (tenant: string, user: string, roles: string[]) =>
    (await createApiKey({ service }, { tenant, user, roles, days: 1, description: undefined })).key;
  const quietKey = await keyOf('quiet', 'crm', ['CLNT_R']);
  for (const attack of chosen)
    for (const { name, role } of partsOf(attack))
      for (let round = 0; round <= rounds; round += 1) {
        const user = userName(attack.name, name, round);
        if (!attackKeys.has(user)) attackKeys.set(user, await keyOf('noisy', user, [role]));
      }
  await store.close();
  await runOn(environment.DATABASE_URL, 'vacuum analyze');
  return { quietKey, clientId };
}

/** Starts the server as an operator does, with all its limits. */
async function startServer(): Promise<ChildProcess> {
  await ensureBundle();
  const cli = values.server ?? fileURLToPath(new URL('../server/dist/cli.js', import.meta.url));
  const profile = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
  // As `pnpm serve` and the image start it.
  const child = spawn(process.execPath, [...serveFlags, ...profile, cli, 'serve'], {
    env: environment,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (;;) {
    const isReady = await fetch(`${address}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return child;
    if (child.exitCode !== null) throw new Error('The server did not start.');
    await pause(100);
  }
}

async function tokenOf(apiKey: string): Promise<string> {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(`${address}/v1/auth/token`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ apiKey }),
  });
  if (response.status === 429) {
    // The users of many rounds share this address, and its limit.
    await pause(Number(response.headers.get('Retry-After') ?? 1) * 1_000);
    return tokenOf(apiKey);
  }
  if (response.status !== 200) throw new Error(`The API key was not exchanged: ${response.status}`);
  return ((await response.json()) as { access_token: string }).access_token;
}

async function startAttacker(order: AttackOrder): Promise<ChildProcess> {
  // Attackers have machines of their own, so here all threads of one get only the processor time that the service leaves.
  const child = fork(new URL('attacker.ts', import.meta.url), {
    execPath: 'chrt',
    execArgv: ['--idle', '0', process.execPath],
    // In a session of its own; see `yieldToSessions`.
    detached: true,
  });
  await yieldToSessions(child);
  child.send(order);
  await once(child, 'message');
  return child;
}

/**
 * Linux shares processors among sessions first and then among the processes of each (sched(7), autogroup). An idle
 * class only counts within a session, and each connection of PostgreSQL is one: an attacker in the session of the
 * service would get as much as a connection.
 */
async function yieldToSessions({ pid }: ChildProcess): Promise<void> {
  await writeFile(`/proc/${pid}/autogroup`, '19').catch((error: NodeJS.ErrnoException) => {
    // Without autogroups, there is no such file.
    if (error.code !== 'ENOENT') throw error;
  });
}

/** Stops an attacker. @returns how often it received each status */
async function stopAttacker(child: ChildProcess): Promise<AttackReport> {
  child.send('stop');
  const [report] = (await once(child, 'message')) as [AttackReport];
  child.kill();
  return report;
}

function sumOf(one: AttackReport, other: AttackReport): AttackReport {
  const sum: Record<string, number> = { ...one };
  for (const [outcome, count] of Object.entries(other)) sum[outcome] = (sum[outcome] ?? 0) + count;
  return sum;
}

/** The memory of the server in MB, as Linux reports it; NaN elsewhere. */
async function residentMemory(): Promise<number> {
  const status = await readFile(`/proc/${server?.pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(status)?.[1];
  return Math.round(Number(kilobytes) / 1024);
}

function partsOf(attack: Attack): readonly Attack[] {
  if (attack.kind === 'load') return Array.from({ length: attack.processes }, () => attack);
  if (attack.kind !== 'mixture') return [attack];
  return attacks.filter(({ name }) => attack.of.includes(name));
}

/** The name of the API user of a part of an attack in a round. */
function userName(attack: string, part: string, round: number): string {
  return `${attack}-${part}-${round + 1}`.replaceAll(/\W+/g, '-');
}

function rowOf(seen: Seen, alone: Seen) {
  const [p50, p99] = [quantile(seen.times, 0.5), quantile(seen.times, 0.99)];
  const aloneP99 = quantile(alone.times, 0.99);
  const slow = seen.times.filter((time) => time > 3 * aloneP99).length;
  return {
    'p50, ms': p50.toFixed(1),
    'to quiet': (p50 / quantile(alone.times, 0.5)).toFixed(1),
    'p99, ms': p99.toFixed(1),
    'p99 to quiet': (p99 / aloneP99).toFixed(1),
    'slow, ‰': ((1_000 * slow) / seen.times.length).toFixed(1),
    reads: seen.times.length,
    errors: tally(seen.errors),
    'errors alone': tally(alone.errors),
    'readyz p99, ms': quantile(seen.readyTimes, 0.99).toFixed(1),
    'not ready': seen.notReady,
  };
}

/** How often each status came: `429 × 3`. */
function tally(statuses: readonly number[]): string {
  const groups = [...Map.groupBy(statuses, (status) => status)];
  return groups.map(([status, all]) => `${status} × ${all.length}`).join(', ');
}
