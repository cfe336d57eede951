/** Measures the overhead of a request; see README.md beside this file. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { runOn } from '@financial-automation/server/machine';
import { Pool } from 'undici';
import { namedLike, readOptions } from '../../scripts/options.ts';
import { compareWithLast, type Measured, printTable, type Rounds } from './ratios.ts';
import { onboard, type Request, type Scenario, scenarios } from './scenarios.ts';
import { addTenant, addUser, createDatabase, openService, settings, tokenOf } from './service.ts';

const { values } = readOptions({
  options: {
    rounds: { type: 'string', default: '9' },
    only: { type: 'string', default: '' },
    stacks: { type: 'string', default: 'service,pooler,fastify,express,documented' },
    record: { type: 'boolean', default: false },
    validated: { type: 'string', default: '1' },
  },
});

/** A stack that runs, and the connections that load it. */
interface Running {
  readonly child: ChildProcess;
  readonly address: string;
  readonly pool: Pool;
}

// Before the minutes that the start takes.
const chosen = new Set(namedLike(values.only, scenarios('')).map(({ name }) => name));
const rounds = Number(values.rounds);
const connections = 8;
const tenant = 'bench';
const clientsToStartWith = 2_000;

console.log('Starting PostgreSQL …');
await using database = await createDatabase('overhead');
const environment = {
  ...process.env,
  ...settings,
  DATABASE_URL: database.url,
  // Each stack validates every response unless the service is to validate a share, and has a limit that counts and is never reached.
  RATE_LIMIT_FACTOR: '1000000',
  VALIDATE_RESPONSES: values.validated,
  // All connections are of one user, whose requests must not wait for each other: the other stacks would not let them wait.
  POOL_SIZE: '24',
};

const running = new Map<string, Running>();
const all: Record<string, Measured> = {};
/** Of the last request. A run uses each number once, so that what it creates is new. */
let last = 0;
try {
  const { token, clientId } = await prepare();
  for (const name of values.stacks.split(',')) running.set(name, await start(name));
  for (const scenario of scenarios(clientId).filter(({ name }) => chosen.has(name)))
    all[scenario.name] = await measure(scenario, token);
  compareWithLast(all, values.record);
} finally {
  for (const { child } of running.values()) child.kill();
}

async function measure(scenario: Scenario, token: string): Promise<Measured> {
  const { name, warmUps } = scenario;
  const stacks = [...running];
  const measured: Record<string, Rounds> = Object.fromEntries(
    stacks.map(([stack]) => [stack, { cpu: [], perSecond: [] }]),
  );
  // A server runs for days: what V8 compiles of it at first is not its cost.
  for (let round = 1 - warmUps; round <= rounds; round += 1) {
    process.stdout.write(`\r${name}: round ${round} of ${rounds}   `);
    // Those that ran later would otherwise always find the machine as the others left it.
    for (const [stack, one] of round % 2 === 0 ? stacks : stacks.toReversed()) {
      const { cpu, perSecond } = await load(one, scenario, token);
      if (round < 1) continue;
      measured[stack]?.cpu.push(cpu);
      measured[stack]?.perSecond.push(perSecond);
    }
  }
  printTable(name, measured);
  return measured;
}

/** Creates a tenant with clients to read, and a token. */
async function prepare(): Promise<{ token: string; clientId: string }> {
  console.log(`Onboarding ${clientsToStartWith} clients …`);
  const service = await openService({ databaseUrl: database.url });
  await addTenant(service, tenant);
  const key = await addUser(service, tenant, 'bench');
  await service.store.close();
  const first = await start('service');
  const token = await tokenOf(first.address, key);
  let clientId = '';
  await inParallel(clientsToStartWith, async () => {
    const request = { method: 'POST', path: '/api/v1/clients/v1/onboard', body: onboard(++last) } as const;
    clientId = JSON.parse(await send(first, request, token)).clientId;
  });
  first.child.kill();
  await runOn(database.url, 'vacuum analyze');
  return { token, clientId };
}

async function start(name: string): Promise<Running> {
  const child = fork(new URL('stack.ts', import.meta.url), [name], {
    env: environment,
    execArgv: ['--v8-pool-size=0'],
  });
  const [{ port }] = await once(child, 'message');
  const address = `http://127.0.0.1:${port}`;
  return { child, address, pool: new Pool(address, { connections }) };
}

/** @param reuseRead whether reads return the result of the first one. @returns microseconds that the stack has used */
async function usedBy({ child }: Running, reuseRead: boolean): Promise<number> {
  child.send(reuseRead);
  const [response] = await once(child, 'message');
  return response.cpu;
}

/** @returns microseconds of processor time for each request, and requests per second */
async function load(stack: Running, scenario: Scenario, token: string): Promise<{ cpu: number; perSecond: number }> {
  const count = scenario.requests;
  const reuseRead = scenario.withoutDatabase ?? false;
  const before = await usedBy(stack, reuseRead);
  const started = performance.now();
  await inParallel(count, () => send(stack, scenario.request(++last), token));
  const seconds = (performance.now() - started) / 1000;
  return { cpu: ((await usedBy(stack, reuseRead)) - before) / count, perSecond: count / seconds };
}

/** Does some work so many times, on all connections. */
async function inParallel(count: number, work: () => Promise<unknown>): Promise<void> {
  let left = count;
  const loop = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: connections }, loop));
}

async function send({ pool }: Running, { method, path, body }: Request, token: string): Promise<string> {
  const headers = {
    authorization: `Bearer ${token}`,
    tenant,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await pool.request({ method, path, headers, ...sent });
  const text = await response.body.text();
  if (response.statusCode >= 300) throw new Error(`${method} ${path} returned ${response.statusCode}: ${text}`);
  return text;
}
