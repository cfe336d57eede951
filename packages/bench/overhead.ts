/**
 * Measures the overhead of a request; see README.md beside this file. `--rounds N`, `--only NAME` and `--stacks NAME,NAME` narrow
 * it; `--profile FOLDER` writes CPU profiles, and `--record` keeps the ratios for later runs to compare with.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { readConfig } from '@financial-automation/server/app/read-config';
import { createService } from '@financial-automation/server/entity/service';
import { createApiKey } from '@financial-automation/server/operator/api-keys';
import { createTenant } from '@financial-automation/server/operator/tenants';
import { openStore } from '@financial-automation/server/platform/store/store';
import { runOn } from '@financial-automation/server/test/postgres-server';
import { pino } from 'pino';
import { Pool } from 'undici';
import { readOptions } from '../../scripts/options.ts';
import { createDatabase } from './postgres.ts';
import { compareWithLast, ratiosOf, recordRatios, type ScenarioRatios } from './ratios.ts';
import { report, type Sample } from './report.ts';
import { onboard, type Request, type Scenario, scenarios } from './scenarios.ts';
import type { StackMessage } from './stack.ts';
import { stacks } from './stacks.ts';

const { values } = readOptions({
  options: {
    rounds: { type: 'string', default: '9' },
    only: { type: 'string' },
    stacks: { type: 'string', default: Object.keys(stacks).join() },
    profile: { type: 'string' },
    record: { type: 'boolean', default: false },
  },
});
/** A stack that runs, and the connections that load it. */
interface Running {
  readonly child: ChildProcess;
  readonly port: number;
  readonly pool: Pool;
}

const rounds = Number(values.rounds);
const chosenStacks = values.stacks.split(',');
const connections = 8;
const tenant = 'bench';
const clientsToStartWith = 2_000;

console.log('Starting PostgreSQL …');
await using database = await createDatabase('overhead');
const environment = {
  ...process.env,
  DATABASE_URL: database.url,
  MASTER_KEY: randomBytes(32).toString('base64'),
  // Each stack validates every response, and has a limit that counts and is never reached.
  RATE_LIMIT_FACTOR: '1000000',
  VALIDATE_RESPONSES: '1',
  // All connections are of one user, whose requests must not wait for each other: the other stacks would not let them wait.
  POOL_SIZE: '24',
};

const processes: Record<string, Running> = {};
let numbers = 0;
try {
  const { token, clientId } = await prepare();
  for (const name of chosenStacks) processes[name] = await start(name);
  const chosen = scenarios(clientId).filter(({ name }) => values.only === undefined || name.includes(values.only));
  const ratios: ScenarioRatios = {};
  for (const scenario of chosen) {
    const samples: Sample[] = [];
    // A server runs for days: what V8 compiles of it at first is not its cost.
    for (let round = 1; round <= scenario.warmUps; round += 1)
      for (const name of chosenStacks) await measure(name, scenario, token);
    if (values.profile !== undefined) for (const name of chosenStacks) await tell(name, { startProfile: true });
    for (let round = 1; round <= rounds; round += 1) {
      process.stdout.write(`\r${scenario.name}: round ${round} of ${rounds}   `);
      // Those that ran later would otherwise always find the machine as the others left it.
      const order = round % 2 === 1 ? chosenStacks : chosenStacks.toReversed();
      for (const name of order) samples.push(await measure(name, scenario, token));
    }
    if (values.profile !== undefined)
      for (const name of chosenStacks) await tell(name, { writeProfile: profileOf(values.profile, name, scenario) });
    report(samples, chosenStacks);
    ratios[scenario.name] = ratiosOf(samples, chosenStacks);
  }
  compareWithLast(ratios);
  if (values.record) recordRatios(ratios);
} finally {
  for (const { child } of Object.values(processes)) child.kill();
}

/** Creates a tenant with clients to read, and a token. */
async function prepare(): Promise<{ token: string; clientId: string }> {
  console.log(`Onboarding ${clientsToStartWith} clients …`);
  const config = readConfig(environment);
  const log = pino({ level: 'silent' });
  const store = await openStore({ databaseUrl: environment.DATABASE_URL, log });
  const service = await createService(config, store, log);
  await createTenant(
    { service },
    { name: tenant, displayName: 'Bench', currency: 'USD', timeZone: 'UTC', country: 'US' },
  );
  const options = { tenant, user: 'bench', roles: ['API_ADMIN'], days: 1, description: undefined };
  const { key } = await createApiKey({ service }, options);
  await store.close();

  const running = await start('service');
  const base = `http://127.0.0.1:${running.port}`;
  const json = { 'Content-Type': 'application/json' };
  const response = await fetch(`${base}/v1/auth/token`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ apiKey: key }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  const headers = { ...json, Authorization: `Bearer ${token}`, Tenant: tenant };
  let clientId = '';
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (numbers < clientsToStartWith) {
        const body = JSON.stringify(onboard(++numbers));
        const created = await fetch(`${base}/api/v1/clients/v1/onboard`, { method: 'POST', headers, body });
        if (created.status !== 201) throw new Error(`Onboarding returned ${created.status}: ${await created.text()}`);
        clientId = ((await created.json()) as { clientId: string }).clientId;
      }
    }),
  );
  running.child.kill();
  await runOn(environment.DATABASE_URL, 'vacuum analyze');
  return { token, clientId };
}

async function start(name: string): Promise<Running> {
  const child = fork(new URL('stack.ts', import.meta.url), [name], {
    env: environment,
    execArgv: ['--v8-pool-size=0'],
  });
  const [message] = await once(child, 'message');
  const pool = new Pool(`http://127.0.0.1:${message.port}`, { connections });
  return { child, port: message.port, pool };
}

/** @returns microseconds of processor time that the stack has used */
async function tell(stack: string, message: StackMessage): Promise<number> {
  const { child } = runningStack(stack);
  child.send(message);
  const [response] = await once(child, 'message');
  return response.cpu;
}

function runningStack(stack: string): Running {
  const running = processes[stack];
  if (running === undefined) throw new Error(`The stack ${stack} does not run.`);
  return running;
}

function profileOf(folder: string, stack: string, scenario: Scenario): string {
  return join(folder, `${stack}-${scenario.name.replaceAll(/\W+/g, '-')}.cpuprofile`);
}

async function measure(stack: string, scenario: Scenario, token: string): Promise<Sample> {
  const running = runningStack(stack);
  const count = scenario.requests;
  const reuseRead = scenario.withoutDatabase ?? false;
  const before = await tell(stack, { reuseRead });
  const started = performance.now();
  let left = count;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left > 0) {
        left -= 1;
        await send(running, scenario.request(++numbers), token);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  const used = (await tell(stack, { reuseRead })) - before;
  return { stack, scenario: scenario.name, cpu: used / count, perSecond: count / seconds };
}

async function send(running: Running, { method, path, body }: Request, token: string): Promise<void> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}`, tenant };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const response = await running.pool.request({
    method,
    path,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.body.text();
  if (response.statusCode >= 300) throw new Error(`${method} ${path} returned ${response.statusCode}: ${text}`);
}
