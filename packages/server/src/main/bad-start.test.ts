import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, chown, cp, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { selfSigned } from '../../test/certificate.ts';
import { clockAhead } from '../../test/clock.ts';
import { engineName, testDatabase } from '../../test/database.ts';
import { portOf } from '../../test/free-port.ts';
import { isNightly, sampleOf } from '../../test/nightly.ts';
import { commandLine, createTenantWithKeys, operate } from '../../test/operate.ts';
import { patientLimits } from '../../test/patient-limits.ts';
import { embeddedBinaries, PostgresProcess } from '../../test/postgres-process.ts';
import { databaseUrl, overTcp, runOn } from '../../test/postgres-server.ts';
import { type Environment, type Finished, processEnvironment, runCli, spawnServer } from '../../test/process.ts';
import { openProxy } from '../../test/severable-proxy.ts';
import { setSharedSetting } from '../operator/shared-settings.ts';
import { setTenantOpen } from '../operator/tenants.ts';
import { openPglite } from '../platform/store/pglite.ts';

const environment = await processEnvironment();
// The first start creates the signing key, encrypted with the master key.
await createTenantWithKeys(environment, 'hartwell');

async function listener(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => server.close());
  return server;
}
const takenPort = String(portOf(await listener()));
/** A port that accepts connections and never sends anything. */
const silentPort = String(portOf(await listener()));

/** What is wrong: settings that differ from those of a valid start, and the command that finds out if it is not `serve`. */
interface Fault {
  readonly settings: readonly Environment[];
  readonly command?: readonly string[];
}

const wrong = (...settings: Environment[]): Fault => ({ settings });
/** A part of each password, which is never shown. */
const secret = 'Secret';

const onBothEngines: Readonly<Record<string, () => Fault | Promise<Fault>>> = {
  'a port that is not a number': () => wrong({ PORT: 'x' }),
  'a port that is in use': () => wrong({ PORT: takenPort }),
  'neither PUBLIC_URL nor PAYMENT_PROCESSOR': () => wrong({ PAYMENT_PROCESSOR: '' }),
  'an address of another machine': () => wrong({ HOST: '203.0.113.1' }),
  'a master key of the wrong length': () => wrong({ MASTER_KEY: 'c2hvcnQ=' }),
  'a master key that is not that of the database': () => wrong({ MASTER_KEY: Buffer.alloc(32, 1).toString('base64') }),
  'a database of a later version': async () => {
    const changed = engineName === 'pglite' ? { DATA_DIR: await copyOfData() } : {};
    const damaged = { ...environment, ...changed };
    await runAsOwner(damaged, `insert into schema_migration (name, timestamp) values ('9999_later', '')`);
    onTestFinished(() => runAsOwner(damaged, `delete from schema_migration where name = '9999_later'`));
    return wrong(changed);
  },
  'a command for a tenant that is closed': async () => {
    await operate(environment, (operator) => setTenantOpen(operator, 'hartwell', false));
    return { settings: [{}], command: ['api-key', 'list', 'hartwell'] };
  },
  'a command for a tenant that does not exist': () => ({ settings: [{}], command: ['rows', 'check', 'nobody'] }),
};

const onPglite: typeof onBothEngines = {
  'a data directory with a long path': () => wrong({ DATA_DIR: join(tmpdir(), 'long'.repeat(30)) }),
  'a data directory that is a file': () => wrong({ DATA_DIR: process.execPath }),
  'a data directory whose file system has no files of this user': () =>
    wrong({ DATA_DIR: '/proc/financial-automation' }),
  // With a key of its own, it creates none.
  'a data directory in which no file can be created': () =>
    wrong({ DATA_DIR: '/proc/self', MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }),
  'a data directory that others may write to': async () => {
    const folder = await copyOfData();
    await chmod(folder, 0o770);
    return wrong({ DATA_DIR: folder });
  },
  'a data directory that belongs to another user': async () => {
    if (process.geteuid?.() !== 0) return wrong({ DATA_DIR: '/' });
    const folder = await copyOfData();
    await chown(folder, 12_345, 12_345);
    return wrong({ DATA_DIR: folder });
  },
  'a master key that others may read': async () => {
    const folder = await copyOfData();
    await chmod(join(folder, 'master.key'), 0o640);
    return wrong({ DATA_DIR: folder });
  },
  'a corrupt database': async () => {
    const folder = await copyOfData();
    await writeFile(join(folder, 'database/database/global/pg_control'), 'spoilt');
    return wrong({ DATA_DIR: folder });
  },
};

const onPostgres: typeof onBothEngines = {
  'no master key': () => wrong({ MASTER_KEY: '' }),
  'an address that is none, or a password with characters such as @ and /': () =>
    wrong(
      ...[
        'localhost',
        `postgres://u:@${secret}/x@h/d`,
        `postgres://u:1/${secret}@h/d`,
        `postgres://u:#${secret}@h/d`,
      ].map((DATABASE_URL) => ({ DATABASE_URL })),
      { DATABASE_URL: `postgres://u:1?${secret}@h/d` },
      { DATABASE_URL: `postgres://u:%${secret}@h/d` },
    ),
  'no password': async () => wrong({ DATABASE_URL: (await strictServer()).urlOf('asked') }),
  'a wrong user or password': async () => wrong({ DATABASE_URL: (await strictServer()).urlOf('asked', secret) }),
  'a user whom pg_hba.conf does not admit, or only with TLS': async () => {
    const { urlOf } = await strictServer();
    return wrong({ DATABASE_URL: urlOf('rejected') }, { DATABASE_URL: urlOf('encrypted') });
  },
  'a server without TLS': () => wrong({ DATABASE_URL: changedUrl({ search: 'sslmode=verify-full' }) }),
  'a certificate of an unknown authority, or of another host': async () => {
    const { urlOf, certificate } = await strictServer();
    const unknown = `${urlOf('encrypted')}?sslmode=verify-full`;
    return wrong({ DATABASE_URL: unknown }, { DATABASE_URL: `${unknown}&sslrootcert=${certificate}` });
  },
  'a certificate file that does not exist': () =>
    wrong({ DATABASE_URL: changedUrl({ search: 'sslmode=verify-full&sslrootcert=/nowhere.pem' }) }),
  'a database that does not exist': () => wrong({ DATABASE_URL: changedUrl({ pathname: '/nowhere' }) }),
  'a server of version 14': async () => wrong({ DATABASE_URL: (await strictServer()).urlOf('older') }),
  'a database in which transactions only read': async () =>
    wrong({ DATABASE_URL: (await strictServer()).urlOf('reading') }),
  'a database of another encoding than UTF8': async () =>
    wrong({ DATABASE_URL: databaseUrl((await strictServer()).urlOf('writing'), 'western') }),
  'a search_path that does not begin with public': async () =>
    wrong({ DATABASE_URL: (await strictServer()).urlOf('elsewhere') }),
  'a database that is not migrated': async () =>
    wrong({ DATABASE_URL: (await testDatabase('empty')).databaseUrl ?? '' }),
  'a clock that differs by more than 5 seconds': () =>
    wrong(...[8 * 365 * 86_400, -3_600, 60].map((seconds) => ({ NODE_OPTIONS: clockAhead(seconds) }))),
  'a setting that is another one in the other processes': async () => {
    await operate(environment, (operator) => setSharedSetting(operator, { name: 'AUDIT_LOG_YEARS', value: '9' }));
    return wrong({ AUDIT_LOG_YEARS: '1' });
  },
  'a server that does not run': () => wrong({ DATABASE_URL: changedUrl({ port: '1' }) }),
  'a socket that does not exist': () => wrong({ DATABASE_URL: `postgres://u:${secret}@%2Fnowhere/d` }),
  'a server that does not respond': () =>
    wrong({ DATABASE_URL: changedUrl({ port: silentPort }), CONNECT_TIMEOUT_MS: '1500' }),
  'a server with too many connections': async () => wrong({ DATABASE_URL: (await strictServer()).urlOf('limited') }),
  'a standby': async () => wrong({ DATABASE_URL: (await strictServer()).urlOf('following') }),
};

/** The table of the run book: what is wrong, the sentence, and whether it is of one engine. */
const rows = [
  ...(readFileSync(new URL('../../docs/run-book.md', import.meta.url), 'utf8')
    .split('## When it does not start\n')[1]
    ?.split('\n## ')[0]
    ?.matchAll(/^\| (?:(PostgreSQL|embedded): )?(.+) \| (.+) \|$/gm) ?? []),
]
  .slice(1)
  .map(([, engine, fault = '', sentence = '']) => ({ engine, fault, sentence }));
const [ownEngine, ownFaults] = engineName === 'pglite' ? ['embedded', onPglite] : ['PostgreSQL', onPostgres];

test('the table of the run book has the faults that are caused here', () => {
  const faultsOf = (engine?: string) => rows.filter((row) => row.engine === engine).map(({ fault }) => fault);
  expect(faultsOf()).toEqual(Object.keys(onBothEngines));
  expect(faultsOf('PostgreSQL')).toEqual(Object.keys(onPostgres));
  expect(faultsOf('embedded')).toEqual(Object.keys(onPglite));
});

/** `…` stands for any text. */
const patternOf = (sentence: string) => sentence.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '[^]*');

/** Whether the process waits for what is wrong, and does not end. */
const isWaiting = (sentence: string) => sentence.endsWith('Waiting for it.');
const ofEngine = rows.filter(({ engine }) => engine === undefined || engine === ownEngine);
/** Those of other servers and processes only at night. By day, the last test waits, and what ends is started in this process. */
const tried = isNightly ? ofEngine : sampleOf(ofEngine, 8).filter(({ sentence }) => !isWaiting(sentence));

test.each(tried)(
  'the process says what the run book says, and no part of a password: $fault',
  async ({ fault, sentence }) => {
    const cause = await (onBothEngines[fault] ?? ownFaults[fault])?.();
    const command = cause?.command ?? ['serve'];
    for (const settings of cause?.settings ?? [])
      if (isWaiting(sentence)) await waits({ ...environment, ...settings }, sentence);
      else {
        const { code, out, error } = await (isNightly ? runCli : runHere)({ ...environment, ...settings }, ...command);
        expect(error.replaceAll(/\s+/g, ' ').trim()).toMatch(new RegExp(`^${patternOf(sentence)}$`));
        expect(error).not.toMatch(/^ +at |node:internal/m);
        expect(error + out).not.toContain(secret);
        expect(out).not.toContain('"Serving."');
        expect(code).toBe(1);
      }
  },
);

/** Runs a command in this process. `main.test.ts` starts processes that fail. */
async function runHere(settings: Environment, ...command: string[]): Promise<Finished> {
  return commandLine(settings, ...command).then(
    (out) => ({ code: 0, out, error: '' }),
    (error: Error) => ({ code: 1, out: '', error: error.message }),
  );
}

/** Starts a server that says the sentence every few seconds, and ends it. */
async function waits(settings: Environment, sentence: string): Promise<void> {
  const waiting = spawnServer(settings);
  onTestFinished(() => void waiting.kill('SIGKILL'));
  const times = () =>
    waiting.written().match(new RegExp(patternOf(sentence).replaceAll('[^]*', '[^\n]*'), 'g'))?.length;
  await expect.poll(times).toBeGreaterThan(1);
  // Without a handler, so that nobody waits for a process that waits.
  waiting.kill('SIGTERM');
  const { out, error } = await waiting.finished;
  expect(out + error).not.toContain(secret);
  expect(out).not.toContain('"Serving."');
}

if (engineName === 'postgres')
  test('the process serves as soon as the server is there', async () => {
    const proxy = await openProxy('127.0.0.1', Number(overTcp(environment.DATABASE_URL ?? '').port || 5432));
    onTestFinished(() => proxy.sever());
    await proxy.sever();
    const waiting = spawnServer({ ...environment, DATABASE_URL: changedUrl({ port: String(proxy.port) }) });
    onTestFinished(() => void waiting.kill('SIGKILL'));
    await waiting.wrote('cannot be reached (ECONNREFUSED). Start it');
    await proxy.restore();
    await waiting.wrote('"Serving."');
  });

interface StrictServer {
  /** File with the certificate of the server, which is for another host. */
  readonly certificate: string;
  urlOf(user: string, password?: string): string;
}

let strict: Promise<StrictServer> | undefined;
/** A server with TLS that admits each user in another way. */
function strictServer(): Promise<StrictServer> {
  strict ??= startStrictServer();
  return strict;
}

async function startStrictServer(): Promise<StrictServer> {
  const server = await PostgresProcess.create(embeddedBinaries());
  afterAll(() => server.remove());
  const { key, cert } = await selfSigned('db.example.com');
  await runOn(
    server.url,
    `create role asked login password 'right'`,
    'create role rejected login',
    'create role encrypted login',
    'create role limited login connection limit 0',
    // What the service asks for the version is another function for this user.
    'create role older login',
    'create schema before authorization older',
    `create function before.current_setting(text) returns text language sql return '140011'`,
    'alter role older set search_path = before, pg_catalog',
    // And whether it follows another server.
    'create role following login',
    'create schema behind authorization following',
    'create function behind.pg_is_in_recovery() returns boolean return true',
    'alter role following set search_path = behind, pg_catalog',
    'create role reading login',
    'alter role reading set default_transaction_read_only = on',
    'create role elsewhere login',
    'alter role elsewhere set search_path = nowhere',
    `create database western encoding 'LATIN1' locale 'C' template template0`,
    'create role writing login',
  );
  const { uid, gid } = await stat(join(server.folder, 'data/PG_VERSION'));
  const files = {
    'key.pem': key,
    'cert.pem': cert,
    'data/pg_hba.conf': [
      'host all asked all scram-sha-256',
      'host all rejected all reject',
      'hostssl all encrypted all trust',
      ...['admin', 'limited', 'older', 'following', 'reading', 'elsewhere', 'writing'].map(
        (user) => `host all ${user} all trust`,
      ),
    ].join('\n'),
  };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(server.folder, name), text, { mode: 0o600 });
    await chown(join(server.folder, name), uid, gid);
  }
  await server.stop();
  await server.start(['ssl=on', `ssl_cert_file=${server.folder}/cert.pem`, `ssl_key_file=${server.folder}/key.pem`]);
  return {
    certificate: join(server.folder, 'cert.pem'),
    urlOf: (user, password) =>
      `postgres://${user}${password === undefined ? '' : `:${password}`}@127.0.0.1:${server.port}/postgres`,
  };
}

/** Copies the data directory, so that a test can modify it. */
async function copyOfData(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-spoilt-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(environment.DATA_DIR ?? '', folder, { recursive: true });
  return folder;
}

function changedUrl(parts: { port?: string; pathname?: string; search?: string }): string {
  return Object.assign(overTcp(environment.DATABASE_URL ?? ''), parts).href;
}

async function runAsOwner({ DATABASE_URL, DATA_DIR = '' }: Environment, statement: string): Promise<void> {
  if (DATABASE_URL !== undefined) await runOn(DATABASE_URL, statement);
  else {
    const engine = await openPglite(join(DATA_DIR, 'database'), patientLimits, { info() {}, warn() {} });
    await engine.pool.query(statement);
    await engine.close();
  }
}
