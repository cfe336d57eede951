import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

/** Runs statements on a server one by one, outside of any transaction, which creating and dropping databases requires. */
export async function runOn(serverUrl: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

const insufficientPrivilege = '42501';

/** Closes the connections of a database and drops it. @param run runs a statement on the server */
export async function dropDatabase(
  serverUrl: string,
  database: string,
  run: (serverUrl: string, statement: string) => Promise<void> = runOn,
): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await run(serverUrl, `drop database ${database} with (force)`);
    } catch (error) {
      // While the server vacuums the database, only a superuser can interrupt it. That takes up to a minute after much was written.
      if (!(error instanceof pg.DatabaseError && error.code === insufficientPrivilege) || attempts === 300) throw error;
      await pause(200);
    }
  }
}

/** The directory with the content of the files of a database that tests have filled. */
export function contentFolder(database: string): string {
  return join(tmpdir(), `financial-automation-${database}`);
}

/** URL of another database on the same server. */
export function databaseUrl(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/** The same database over TCP, for proxies. The tests' server also listens there. */
export function overTcp(databaseUrl: string): URL {
  const url = new URL(databaseUrl);
  if (url.hostname.startsWith('%2F')) url.hostname = '127.0.0.1';
  return url;
}
