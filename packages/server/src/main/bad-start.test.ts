import { once } from 'node:events';
import { chmod, chown, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { clockAhead } from '../../test/clock.ts';
import { engineName, testDatabase } from '../../test/database.ts';
import { portOf } from '../../test/free-port.ts';
import { sampleOf } from '../../test/nightly.ts';
import { patientLimits } from '../../test/patient-limits.ts';
import { overTcp, runOn } from '../../test/postgres-server.ts';
import { type Environment, processEnvironment, runCli, spawnServer } from '../../test/process.ts';
import { openProxy } from '../../test/severable-proxy.ts';
import { openPglite } from '../platform/store/pglite.ts';

const environment = await processEnvironment();
// The first start creates the signing key, encrypted with the master key.
await runCli(environment, 'tenant', 'create', 'hartwell');

async function listener(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => server.close());
  return server;
}
const takenPort = String(portOf(await listener()));
/** A port that accepts connections and never sends anything. */
const silentPort = String(portOf(await listener()));

interface BadStart {
  readonly name: string;
  /** The settings that differ from those of a valid start. */
  readonly settings: () => Environment | Promise<Environment>;
  readonly says: RegExp;
}

const onBothEngines: BadStart[] = [
  { name: 'a port that is not a number', settings: () => ({ PORT: 'x' }), says: /PORT: .*"x"/ },
  {
    name: 'a port that is in use',
    settings: () => ({ PORT: takenPort }),
    says: new RegExp(`^Port ${takenPort} is in use. Stop the program that uses it, or set PORT to another port.$`),
  },
  {
    name: 'neither PUBLIC_URL nor PAYMENT_PROCESSOR',
    settings: () => ({ PAYMENT_PROCESSOR: '' }),
    says: /^Set PUBLIC_URL to the URL at which browsers reach this service, or PAYMENT_PROCESSOR to stripe/,
  },
  {
    name: 'an address of another machine',
    settings: () => ({ HOST: '203.0.113.1' }),
    says: /^This machine does not have the address 203\.0\.113\.1\. Set HOST to one of its addresses/,
  },
  {
    name: 'a master key of the wrong length',
    settings: () => ({ MASTER_KEY: 'c2hvcnQ=' }),
    says: /^The master key must be 32 bytes in base64\./,
  },
  {
    name: 'a master key that does not match the database',
    settings: () => ({ MASTER_KEY: Buffer.alloc(32, 1).toString('base64') }),
    says: /^MASTER_KEY is not the key with which this database was set up\./,
  },
  {
    name: 'a database of a later version',
    settings: async () => {
      const changed = engineName === 'pglite' ? { DATA_DIR: await copyOfData() } : {};
      const damaged = { ...environment, ...changed };
      await runAsOwner(damaged, `insert into schema_migration (name, timestamp) values ('9999_later', '')`);
      onTestFinished(() => runAsOwner(damaged, `delete from schema_migration where name = '9999_later'`));
      return changed;
    },
    says: /^The database is newer than this program: it has 9999_later\./,
  },
];

const onPglite: BadStart[] = [
  {
    name: 'a data directory with a long path',
    settings: () => ({ DATA_DIR: join(tmpdir(), 'long'.repeat(30)) }),
    says: /^DATA_DIR is too long: /,
  },
  {
    name: 'a data directory that is a file',
    settings: () => ({ DATA_DIR: process.execPath }),
    says: /^The data directory .+ cannot be used: it is not a directory\. Set DATA_DIR to another one\.$/,
  },
  {
    name: 'a data directory whose file system has no files of this user',
    settings: () => ({ DATA_DIR: '/proc/financial-automation' }),
    says: /^The data directory .+ cannot be used: (it cannot be created there|this user is not allowed to create it)\. Set DATA_DIR to another one\.$/,
  },
  {
    name: 'a data directory in which no file can be created',
    // With a key of its own, it creates none.
    settings: () => ({ DATA_DIR: '/proc/self', MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }),
    says: /^The data directory .+ cannot be used: files cannot be created there\. Set DATA_DIR to another one\.$/,
  },
  {
    name: 'a data directory that others may write to',
    settings: async () => {
      const folder = await copyOfData();
      await chmod(folder, 0o770);
      return { DATA_DIR: folder };
    },
    says: /^Users other than its owner may write to .+ Run: chmod go-w '.+'$/,
  },
  {
    name: 'a data directory that belongs to another user',
    settings: async () => {
      if (process.geteuid?.() !== 0) return { DATA_DIR: '/' };
      const folder = await copyOfData();
      await chown(folder, 12_345, 12_345);
      return { DATA_DIR: folder };
    },
    says: /belongs to the user with the ID \d+, and this process runs as \d+\./,
  },
  {
    name: 'a master key that others may read',
    settings: async () => {
      const folder = await copyOfData();
      await chmod(join(folder, 'master.key'), 0o640);
      return { DATA_DIR: folder };
    },
    says: /^Users other than its owner may read or write .+ Run: chmod 600 '.+'$/,
  },
  {
    name: 'a corrupt database',
    settings: async () => {
      const folder = await copyOfData();
      await writeFile(join(folder, 'database/database/global/pg_control'), 'spoilt');
      return { DATA_DIR: folder };
    },
    says: /^PGlite stopped: .+\.$/,
  },
];

const onPostgres: BadStart[] = [
  {
    name: 'an invalid URL',
    settings: () => ({ DATABASE_URL: 'localhost' }),
    says: /DATABASE_URL: .*postgres:/,
  },
  {
    name: 'a user who does not exist',
    settings: () => ({ DATABASE_URL: changedUrl({ username: 'nobody' }) }),
    says: /^The PostgreSQL server rejects the user or the password of DATABASE_URL \(28P01\)\.$/,
  },
  {
    name: 'a database that does not exist',
    settings: () => ({ DATABASE_URL: changedUrl({ pathname: '/nowhere' }) }),
    says: /^The database that DATABASE_URL names does not exist/,
  },
  {
    name: 'a database that is not migrated',
    settings: async () => ({ DATABASE_URL: (await testDatabase('empty')).databaseUrl ?? '' }),
    says: /^The database lacks (?:the migration 0000_baseline|\d+ migrations, from 0000_baseline on): run "operator migrate" of this version, or set MIGRATE_AT_START=on\.$/,
  },
  ...[8 * 365 * 86_400, -3_600, 60].map((seconds) => ({
    name: `a clock of this machine that is ${seconds} s ahead`,
    settings: () => ({ NODE_OPTIONS: clockAhead(seconds) }),
    says: /^The clock of this process is [\d,]+ (days ahead of|seconds behind|seconds ahead of) that of the database\. Correct the one that is wrong, such as by NTP\.$/,
  })),
  {
    name: 'a setting that is another one in the other processes',
    settings: async () => {
      await runCli(environment, 'setting', 'set', 'AUDIT_LOG_YEARS', '9');
      return { AUDIT_LOG_YEARS: '1' };
    },
    says: /^AUDIT_LOG_YEARS is 1 here, and 9 in the database, for all processes\. Set it to 9, or run: .+ operator setting set AUDIT_LOG_YEARS '1'$/,
  },
  { name: 'no master key', settings: () => ({ MASTER_KEY: '' }), says: /^MASTER_KEY is missing\./ },
];

// Each is a process of its own.
test.each(sampleOf([...onBothEngines, ...(engineName === 'pglite' ? onPglite : onPostgres)], 3))(
  'the process prints one sentence and exits with code 1: $name',
  async ({ settings, says }) => {
    const { code, out, error } = await runCli({ ...environment, ...(await settings()) }, 'serve');
    expect(error.trim()).toMatch(says);
    expect(error).not.toMatch(/^ +at |node:internal/m);
    expect(out).not.toContain('"Serving."');
    expect(code).toBe(1);
  },
);

if (engineName === 'postgres')
  test.each([
    [
      'is not running',
      async () => '1',
      /The PostgreSQL server at \S+:1 cannot be reached \(ECONNREFUSED\)\. Waiting for it\./,
    ],
    [
      'does not respond',
      async () => silentPort,
      /The PostgreSQL server at \S+:\d+ did not respond within 1500 ms\. Check the host .+ set CONNECT_TIMEOUT_MS to more than 1500\. Waiting for it\./,
    ],
  ])('the process waits for a server that %s, and says so every few seconds', async (_, port, says) => {
    const settings = { DATABASE_URL: changedUrl({ port: await port() }), CONNECT_TIMEOUT_MS: '1500' };
    const waiting = spawnServer({ ...environment, ...settings });
    onTestFinished(() => void waiting.kill('SIGKILL'));
    await expect.poll(() => waiting.written().match(new RegExp(says, 'g'))?.length).toBeGreaterThan(1);
    // Without a handler, so that nobody waits for a process that waits.
    waiting.kill('SIGTERM');
    expect((await waiting.finished).out).not.toContain('"Serving."');
  });

if (engineName === 'postgres')
  test('the process serves as soon as the server is there', async () => {
    const proxy = await openProxy('127.0.0.1', Number(overTcp(environment.DATABASE_URL ?? '').port || 5432));
    onTestFinished(() => proxy.sever());
    await proxy.sever();
    const waiting = spawnServer({ ...environment, DATABASE_URL: changedUrl({ port: String(proxy.port) }) });
    onTestFinished(() => void waiting.kill('SIGKILL'));
    await waiting.wrote('cannot be reached (ECONNREFUSED). Waiting for it.');
    await proxy.restore();
    await waiting.wrote('"Serving."');
  });

/** Copies the data directory, so that a test can modify it. */
async function copyOfData(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-spoilt-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(environment.DATA_DIR ?? '', folder, { recursive: true });
  return folder;
}

function changedUrl(parts: { port?: string; username?: string; pathname?: string }): string {
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
