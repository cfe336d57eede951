/**
 * Tests the isolation of tenants behind PgBouncer, in session and in transaction mode: two tenants, 8 connections, 10,000
 * calls of several kinds, every response compared with the stored data. It requires PgBouncer, such as the Debian package
 * `pgbouncer`.
 */

import { mixedCalls } from '../test/mixed-calls.ts';
import { isPgbouncerInstalled, startPgbouncer } from '../test/pgbouncer.ts';
import { databaseUrl, dropDatabase, runOn } from '../test/postgres-server.ts';
import { findServer } from '../test/postgres-setup.ts';

const calls = 10_000;
const connections = 8;

if (!isPgbouncerInstalled()) {
  console.error('PgBouncer is not installed. On Debian: apt-get install pgbouncer');
  process.exit(1);
}
const server = await findServer();
try {
  for (const mode of ['session', 'transaction'] as const) {
    const database = `pooler_${mode}_${process.pid}`;
    await runOn(server.url, `create database ${database} template template0`);
    const pgbouncer = await startPgbouncer(databaseUrl(server.url, database), mode, connections);
    try {
      const DATABASE_POOLER = mode === 'transaction' ? 'transaction' : 'none';
      const settings = { DATABASE_URL: pgbouncer.url, DATABASE_POOLER, POOL_SIZE: String(connections) };
      const started = performance.now();
      const wrong = await mixedCalls(settings, mode, calls, 2 * connections);
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      console.log(`${mode}: ${calls} calls in ${seconds} s, ${wrong.length} wrong responses`);
      for (const sentence of wrong.slice(0, 10)) console.log(`  ${sentence}`);
      if (wrong.length > 0) process.exitCode = 1;
    } finally {
      await pgbouncer.stop();
      await dropDatabase(server.url, database);
    }
  }
} finally {
  await server.stop();
}
