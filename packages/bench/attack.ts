/** Measures what one tenant can do to the others; see README.md beside this file. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { runOn, startNginx } from '@financial-automation/server/machine';
import { namedLike, readOptions } from '../../scripts/options.ts';
import type { AttackOrder, AttackReport } from './attacker.ts';
import { attacks, drawMixture, type Mixture } from './attacks.ts';
import { quantile } from './figures.ts';
import { seedContacts } from './made-up-rows.ts';
import { Probe, Seen } from './probe.ts';
import { memoryOf } from './processor-time.ts';
import { addTenant, addUser, type BenchServer, createDatabase, openService, startServer, tokenOf } from './service.ts';

const { values } = readOptions({
  options: {
    seconds: { type: 'string', default: '60' },
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    mixtures: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
  },
});
const [seconds, rounds, mixtures] = [Number(values.seconds), Number(values.rounds), Number(values.mixtures)];
const chosen: readonly Mixture[] =
  mixtures > 0
    ? Array.from({ length: mixtures }, (_, index) => drawMixture(Number(values.seed) + index))
    : namedLike(values.only, attacks).map((one) => ({ name: one.name, of: [one] }));

/** How long each attack lasts before it is measured, in milliseconds. */
const warmUp = 5_000;
/** The API keys of attackers, by their user: each round has its own, whose limits are unused. */
const attackKeys = new Map<string, string>();

console.log('Starting PostgreSQL …');
await using database = await createDatabase('attack');
let server: BenchServer | undefined;
let proxy: Awaited<ReturnType<typeof startNginx>> | undefined;
try {
  const { quietKeys, clientId } = await prepare();
  server = await startServer({
    DATABASE_URL: database.url,
    LOG_LEVEL: 'warn',
    RATE_LIMIT_FACTOR: '1',
    TRUST_PROXY: '1',
    // Nothing is sent to Stripe: forged notifications are rejected before.
    PAYMENT_PROCESSOR: 'stripe',
    STRIPE_SECRET_KEY: 'sk_test_bench',
    STRIPE_WEBHOOK_SECRET: 'whsec_bench',
  });
  // As in operation: nginx keeps slow senders and the connections of an address from the process.
  proxy = await startNginx([server.port]);
  const path = `/gql/v1/client/${clientId}`;
  // Bodies and connections of attackers are work of nginx, too: the second probe shows what the process itself contributes.
  const probes = [proxy.address, server.address].map((address, index) => ({
    probe: new Probe({ address, tenant: 'quiet', path }),
    key: quietKeys[index] ?? '',
  }));
  // The process compiles and caches in its first seconds, which are not measured.
  for (const { probe, key } of probes) await probe.watch(5, await tokenOf(server.address, key), new Seen());
  const rows: Record<string, object> = {};
  for (const one of chosen) rows[one.name] = await measure(one, probes, server, proxy.address);
  for (const { probe } of probes) await probe.close();
  console.table(rows);
} finally {
  await proxy?.stop();
  await server?.stop();
}

async function measure(
  mixture: Mixture,
  probes: readonly { readonly probe: Probe; readonly key: string }[],
  { address, pid }: BenchServer,
  through: string,
): Promise<object> {
  console.log(`${mixture.name}: ${rounds} × ${seconds} s …`);
  const seen = probes.map(() => ({ alone: new Seen(), attacked: new Seen() }));
  const received: Record<string, Record<string, number>> = {};
  const before = memoryOf(pid);
  let most = before;
  const attackDuring = async (round: number, work: () => Promise<void>): Promise<void> => {
    const attackers = await Promise.all(
      mixture.of.map(async ({ name }) => {
        const token = await tokenOf(address, attackKeys.get(userName(mixture.name, name, round)) ?? '');
        const from = `127.0.1.${1 + attacks.findIndex((attack) => attack.name === name)}`;
        return { name, child: await startAttacker({ address: through, token, tenant: 'noisy', attack: name, from }) };
      }),
    );
    await pause(2_000);
    await work();
    for (const { name, child } of attackers) {
      const counts = received[name] ?? {};
      received[name] = counts;
      for (const [outcome, count] of Object.entries(await stopAttacker(child)))
        counts[outcome] = (counts[outcome] ?? 0) + count;
    }
    await pause(3_000);
  };
  // What only the attack reaches is compiled when it is first reached, which is not measured either.
  await attackDuring(rounds, () => pause(warmUp));
  // In turns, so that a slow minute of the machine hits both.
  for (let round = 0; round < rounds; round += 1) {
    // A token is valid for 15 minutes, less than all attacks take.
    const tokens = await Promise.all(probes.map(({ key }) => tokenOf(address, key)));
    const watch = (lasts: number, kind: 'alone' | 'attacked') =>
      Promise.all(
        probes.map(({ probe }, index) => probe.watch(lasts, tokens[index] ?? '', seen[index]?.[kind] ?? new Seen())),
      );
    await watch(Math.ceil(seconds / 2), 'alone');
    const sampling = setInterval(() => {
      most = Math.max(most, memoryOf(pid));
    }, 250);
    await attackDuring(round, async () => {
      await watch(seconds, 'attacked');
      clearInterval(sampling);
    });
  }
  const [row, direct] = seen.map(({ attacked, alone }) => rowOf(attacked, alone));
  if (row === undefined || direct === undefined) throw new Error('Nobody was watching.');
  console.log(`  p99 of the quiet tenant: ${row['p99, ms']} ms, ${row['p99 to quiet']} times that without an attack`);
  console.log(`  without nginx: ${direct['p99, ms']} ms, ${direct['p99 to quiet']} times`);
  if (Number(row['p99 to quiet']) > 3 || row.errors !== '' || row['not ready'] > 0) process.exitCode = 1;
  for (const [name, report] of Object.entries(received)) console.log(`  ${name} received ${JSON.stringify(report)}`);
  return { ...row, 'without nginx': direct['p99 to quiet'], MB: `${before} to ${most}` };
}

/** Creates two tenants, one of them large, and the API keys of their users. */
async function prepare(): Promise<{ quietKeys: readonly string[]; clientId: string }> {
  console.log('Filling a tenant with 50,000 contacts and 150,000 links …');
  const service = await openService({ databaseUrl: database.url });
  const noisy = await addTenant(service, 'noisy');
  await seedContacts(service.store, noisy.id, { clients: 20_000, contacts: 50_000, linksOfEach: 3 });
  const quiet = await addTenant(service, 'quiet');
  const clientId = await seedContacts(service.store, quiet.id, { clients: 500, contacts: 1_000, linksOfEach: 2 });
  const quietKeys = [
    await addUser(service, 'quiet', 'crm', 'CLNT_R'),
    await addUser(service, 'quiet', 'reports', 'CLNT_R'),
  ];
  for (const { name, of } of chosen)
    for (const part of of)
      for (let round = 0; round <= rounds; round += 1) {
        const user = userName(name, part.name, round);
        if (!attackKeys.has(user)) attackKeys.set(user, await addUser(service, 'noisy', user, part.role));
      }
  await service.store.close();
  await runOn(database.url, 'vacuum analyze');
  return { quietKeys, clientId };
}

/** The name of the API user of a part of an attack in a round. */
function userName(attack: string, part: string, round: number): string {
  return `${attack}-${part}-${round + 1}`.replaceAll(/\W+/g, '-');
}

async function startAttacker(order: AttackOrder): Promise<ChildProcess> {
  // Attackers have machines of their own, so here all threads of one get only the processor time that the service leaves.
  const child = fork(new URL('attacker.ts', import.meta.url), {
    execPath: 'chrt',
    execArgv: ['--idle', '0', process.execPath],
    // In a session of its own.
    detached: true,
  });
  // Linux shares processors among sessions first and then among the processes of each (sched(7), autogroup). An idle class only
  // counts within a session, and each connection of PostgreSQL is one: an attacker in the session of the service would get as much
  // as a connection. Without autogroups, there is no such file.
  await writeFile(`/proc/${child.pid}/autogroup`, '19').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  child.send(order);
  await once(child, 'message');
  return child;
}

/** Stops an attacker. @returns how often it received each status */
async function stopAttacker(child: ChildProcess): Promise<AttackReport> {
  child.send('stop');
  const [report] = (await once(child, 'message')) as [AttackReport];
  child.kill();
  return report;
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
    errors: seen.errors.join(),
    'errors alone': alone.errors.join(),
    'readyz p99, ms': quantile(seen.readyTimes, 0.99).toFixed(1),
    'not ready': seen.notReady,
  };
}
