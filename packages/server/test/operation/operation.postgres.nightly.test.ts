/**
 * A month of the run book, in order, on a PostgreSQL server of its own, with two processes behind nginx and callers who read and write all the
 * time. Prints what they saw of each act, what was lost and what came twice.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../free-port.ts';
import { postgresFolder } from '../installed-postgres.ts';
import { isNginxInstalled, startNginx } from '../nginx.ts';
import { PostgresProcess } from '../postgres-process.ts';
import { databaseUrl, runOn } from '../postgres-server.ts';
import { type Environment, runCli, startServer, type TestProcess } from '../process.ts';
import { startReceiver } from '../receiver.ts';
import { Load, type Phase } from './load.ts';

const binaries = postgresFolder();
const isPossible = binaries !== undefined && isNginxInstalled;
if (!isPossible)
  console.warn('NOT TESTED: a month of operation, because nginx or a PostgreSQL with its tools is not installed.');

const restarts = Number(process.env.RESTARTS ?? 20);
const repository = fileURLToPath(new URL('../../../..', import.meta.url));
const runBook = readFileSync(new URL('../../docs/run-book.md', import.meta.url), 'utf8');
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-month-'));
const settings = ['max_connections=120'];
const postgres = isPossible ? await PostgresProcess.create(binaries, settings) : undefined;
afterAll(async () => {
  await postgres?.remove();
  await rm(folder, { recursive: true, force: true });
});

/** URL of a database as a user. */
function urlOf(user: string, database: string): string {
  const url = new URL(databaseUrl(postgres?.url ?? '', database));
  url.username = user;
  return url.href;
}

async function rowsOf<Row>(url: string, statement: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** A process that its supervisor starts again, a second after it ended. */
class Supervised {
  #process: Promise<TestProcess>;
  #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#process = startServer(environment);
  }

  get started(): Promise<TestProcess> {
    return this.#process;
  }

  /** Sends a signal that ends it, and waits until it serves again, with these settings if there are any. @returns its exit code */
  async restart(signal: 'SIGTERM' | 'SIGKILL', changed: Environment = {}): Promise<number | null> {
    this.#environment = { ...this.#environment, ...changed };
    const running = await this.#process;
    running.kill(signal);
    const { code } = await running.finished;
    await pause(signal === 'SIGKILL' ? 1_000 : 0);
    this.#process = startServer(this.#environment);
    await this.#process;
    return code;
  }
}

test.skipIf(!isPossible)(
  'operation › a month of the run book, under load, loses nothing and does nothing twice',
  async () => {
    if (postgres === undefined) return;
    await runOn(
      postgres.url,
      'create role service login createrole',
      'create database production owner service template template0',
      'create database production_east owner service template template0',
      ...blockOf('sql')
        .split(';')
        .map((statement) => statement.trim().replace('…', 'backup'))
        .filter(Boolean),
    );
    const environment = {
      DATABASE_URL: urlOf('service', 'production'),
      MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      DATA_DIR: join(folder, 'data'),
      PAYMENT_PROCESSOR: 'none',
      PUBLIC_URL: 'http://127.0.0.1:3000',
      RATE_LIMIT_FACTOR: '0',
      POOL_SIZE: '8',
      TRUST_PROXY: '1',
      WEBHOOK_ALLOW_LOOPBACK: 'on',
    };
    /** Runs a command that the run book names. @returns what it prints */
    const operator = async (line: string, more: Environment = {}): Promise<string> => {
      const words = line.split(' ');
      const [group = '', verb = ''] = words;
      expect(`${runBook}`).toMatch(
        new RegExp(`operator ${group}${/^[a-z]/.test(verb) && group !== 'migrate' ? `[\` |]?.*${verb}` : ''}`),
      );
      const { code, out, error } = await runCli({ ...environment, ...more }, ...words);
      expect([line, code, code === 0 ? '' : out + error]).toEqual([line, 0, '']);
      return out.trim();
    };
    const keyOf = async (tenant: string, user: string) =>
      /ey\S+/.exec(await operator(`api-key create ${tenant} ${user} --roles API_ADMIN`))?.[0] ?? '';

    // Install. The unit of systemd and the image create the folder for files.
    await mkdir(environment.DATA_DIR);
    await operator('migrate');
    await operator('tenant create hartwell');
    const key = await keyOf('hartwell', 'crm');
    const ports = [await freePort(), await freePort()];
    const processes = ports.map((port) => new Supervised({ ...environment, PORT: String(port) }));
    onTestFinished(async () => {
      for (const one of processes) (await one.started.catch(() => undefined))?.kill('SIGKILL');
    });
    await Promise.all(processes.map(({ started }) => started));
    const proxy = await startNginx(ports);
    const receiver = await startReceiver();
    const load = new Load(proxy.address, 'hartwell');
    await load.signIn(key);
    const post = async (path: string, body: object, apiKey = key, tenant = 'hartwell') => {
      const send = async (at: string, content: object, more: Record<string, string>) =>
        (
          await fetch(proxy.address + at, {
            method: 'POST',
            headers: { 'Content-Type': 'application/json', Tenant: tenant, ...more },
            body: JSON.stringify(content),
          })
        ).json();
      const { access_token: token } = Object(await send('/v1/auth/token', { apiKey }, {}));
      return send(path, body, { Authorization: `Bearer ${token}` });
    };
    expect(
      await post('/api/v1/event-subscriptions', {
        deliveryUrl: receiver.url,
        entityType: 'Client',
        operations: ['CREATE'],
      }),
    ).toMatchObject({ active: true });

    let table: Awaited<ReturnType<typeof report>> = [];
    try {
      load.start(6, 60);
      await load.phase('nothing, for 5 seconds', () => pause(5_000));
      await load.phase(`${restarts} rolling restarts`, async () => {
        for (let round = 0; round < restarts; round++) expect(await processes[round % 2]?.restart('SIGTERM')).toBe(0);
      });
      await load.phase('migrate, and replace both processes', async () => {
        await operator('migrate --plan');
        await operator('migrate');
        for (const one of processes) await one.restart('SIGTERM');
      });
      await load.phase('kill -9 of a process, 4 times', async () => {
        for (let round = 0; round < 4; round++) await processes[round % 2]?.restart('SIGKILL');
      });
      await load.phase('a process that hangs for 8 seconds (SIGSTOP)', async () => {
        const hung = await processes[0]?.started;
        hung?.kill('SIGSTOP');
        await pause(8_000);
        hung?.kill('SIGCONT');
        await pause(1_000);
      });
      await load.phase('PostgreSQL ends at once, and starts after 3 seconds', async () => {
        await postgres.stop('SIGQUIT');
        await pause(3_000);
        await postgres.start(settings);
      });
      await operator('tenant create stormy');
      const stormy = await keyOf('stormy', 'crm');
      await load.phase('a storm: 40 callers of another tenant, 300 half-open requests, for 8 seconds', () =>
        storm(proxy.address, stormy),
      );
      const backup = await load.phase('back up, and restore beside production', async () => {
        const acknowledged = await rowsOf<{ name: string }>(urlOf('admin', 'production'), 'select name from client');
        await backUp();
        return acknowledged;
      });
      await load.phase('a drill on the restored database', () => drill(backup.map(({ name }) => name)));
      await load.phase('move the tenant to another database', async () => {
        await operator('cell add east', { CELL_DATABASE_URL: urlOf('service', 'production_east') });
        await pause(6_000);
        await operator('tenant move hartwell --to east');
        await operator('tenant move hartwell --remove-old');
      });
      await load.phase('rotate the signing key, the webhook secret and the API key', async () => {
        await operator('signing-key rotate');
        await operator('webhook rotate-secret hartwell --hours 24');
        const next = await keyOf('hartwell', 'crm');
        await load.signIn(next);
        const former = JSON.parse(Buffer.from(key.split('.')[1] ?? '', 'base64url').toString()).jti;
        await operator(`api-key revoke hartwell ${former}`);
        await pause(5_000);
      });
      await load.phase('replace the master key', async () => {
        const [former, next] = [environment.MASTER_KEY, Buffer.alloc(32, 8).toString('base64')];
        const restartAll = async (keys: string) => {
          environment.MASTER_KEY = keys;
          for (const one of processes) expect(await one.restart('SIGTERM', { MASTER_KEY: keys })).toBe(0);
        };
        await restartAll(`${former},${next}`);
        await restartAll(`${next},${former}`);
        await operator('master-key reencrypt');
        await restartAll(next);
        expect(await operator('master-key reencrypt')).toMatch(/^0 of \d+ values/);
      });
      const certificate = await load.phase('delete another tenant', async () => {
        await operator('tenant close stormy');
        await pause(6_000);
        await operator(`tenant export stormy --to ${join(folder, 'stormy.ndjson.gz')}`);
        await operator('tenant delete stormy --days 1');
        // A day passes.
        await runOn(urlOf('admin', 'production'), `update tenant set delete_after = now() where name = 'stormy'`);
        return operator('tenant delete stormy');
      });
      expect(certificate).toContain('client');
      expect(await operator('books check hartwell')).toBeTruthy();
    } finally {
      table = await report(await load.end());
      // Refused connections lead to another process.
      const errors = proxy.errors().filter((line) => !line.includes('Connection refused'));
      if (errors.length > 0) console.info(`nginx:\n${errors.join('\n')}`);
      await proxy.stop();
    }
    const events = () => receiver.arrivals.map(({ event }) => event.id);
    const { length } = await clients();
    await expect.poll(() => new Set(events()).size).toBe(length);
    console.info(`${length} clients, ${events().length} deliveries of ${new Set(events()).size} events`);
    expect(receiver.faults).toEqual([]);
    expect(table.map(({ act, lost, twice }) => [act, lost, twice])).toEqual(table.map(({ act }) => [act, 0, 0]));
    // Restarts as in the run book leave no request without a response of the service.
    for (const act of table.slice(1, 3)) expect(act['callers saw'], act.act).not.toMatch(/nginx|no response/);
    // A key is free as soon as the process of its request has ended.
    for (const act of table.slice(5)) expect(act['callers saw'], act.act).not.toContain('409');

    /** The clients of the firm, in whichever database they are. */
    async function clients() {
      const databases = ['production', 'production_east'].map((name) => urlOf('admin', name));
      const statement = `select c.name from client c join tenant t on t.id = c.tenant_id where t.name = 'hartwell'`;
      const found = await Promise.all(databases.map((one) => rowsOf<{ name: string }>(one, statement).catch(() => [])));
      return found.flat();
    }

    /** Prints the table of the acts, and returns it. */
    async function report(phases: readonly Phase[]) {
      const counts = Map.groupBy(await clients(), ({ name }) => name);
      const rows = phases.map(({ name, results, longestGap, longestRequest, acknowledged }) => ({
        act: name,
        'callers saw': [...results].map(([result, count]) => `${count} × ${result}`).join(', '),
        'longest without a success': `${Math.round(longestGap)} ms`,
        'longest request': `${Math.round(longestRequest)} ms`,
        lost: acknowledged.filter((one) => !counts.has(one)).length,
        twice: acknowledged.filter((one) => (counts.get(one)?.length ?? 0) > 1).length,
      }));
      const columns = Object.keys(rows[0] ?? {});
      const line = (cells: readonly unknown[]) => `| ${cells.join(' | ')} |`;
      const lines = [line(columns), line(columns.map(() => '---')), ...rows.map((row) => line(Object.values(row)))];
      console.info(lines.join('\n'));
      return rows;
    }

    /** The commands of the page, as printed. */
    async function backUp() {
      const variables = {
        ...process.env,
        PATH: `${binaries}:${process.env.PATH}`,
        BACKUP_URL: urlOf('backup', 'production'),
        BACKUP_FOLDER: join(folder, 'backup'),
        DATA_DIR: environment.DATA_DIR,
        ADMIN_URL: postgres?.url,
        SERVICE_USER: 'service',
        RESTORED_URL: urlOf('service', 'restored'),
      };
      const shell = (block: string, more: object) =>
        promisify(execFile)('sh', ['-e', '-c', blockOf(`sh ${block}`)], {
          env: { ...variables, ...more },
          cwd: repository,
        });
      await shell('backup', {});
      await shell('restore', { DATA_DIR: join(folder, 'restored') });
    }

    async function drill(before: readonly string[]) {
      const restored = { DATABASE_URL: urlOf('service', 'restored'), DATA_DIR: join(folder, 'restored') };
      const server = await startServer({ ...environment, ...restored, PORT: String(await freePort()) });
      try {
        expect(await (await fetch(`${server.address}/readyz`)).json()).toMatchObject({ drill: true });
        await operator('books check hartwell', restored);
        const names = await rowsOf<{ name: string }>(urlOf('admin', 'restored'), 'select name from client');
        const has = new Set(names.map(({ name }) => name));
        expect(before.filter((name) => !has.has(name))).toEqual([]);
      } finally {
        server.kill('SIGTERM');
        await server.finished;
      }
    }
  },
  30 * 60_000,
);

/** Searches of another tenant without a pause, and connections that never complete their request, from other addresses. */
async function storm(address: string, apiKey: string): Promise<void> {
  const { hostname, port } = new URL(address);
  const sockets = Array.from({ length: 300 }, (_, index) => {
    const socket = connect({ port: Number(port), host: hostname, localAddress: `127.0.0.${10 + (index % 25)}` });
    socket.on('error', () => socket.destroy()).resume();
    socket.write('POST /gql/v1/clients HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{');
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const noisy = new Load(address, 'stormy', '127.0.0.60');
  await noisy.signIn(apiKey);
  noisy.start(40, 0);
  await pause(8_000);
  await noisy.end();
  for (const socket of sockets) socket.destroy();
}

function blockOf(name: string): string {
  const [, text] = new RegExp(`^\`\`\`${name}\\n(.*?)^\`\`\``, 'ms').exec(runBook) ?? [];
  if (text === undefined) throw new Error(`The run book has no block "${name}".`);
  return text;
}
