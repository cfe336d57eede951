/** Writes `generated/schema.sql`, which describes the schema of a database with all migrations; a test compares it with a fresh database of each engine. */
import { writeFile } from 'node:fs/promises';
import { readOptions } from '../../../scripts/options.ts';
import { openEngine, openStore } from '../src/platform/store/store.ts';
import { describeSchema } from '../test/describe-schema.ts';
import { databaseUrl, dropDatabase, runOn } from '../test/postgres-server.ts';
import { findServer } from '../test/postgres-setup.ts';

readOptions({});
const server = await findServer();
const name = `schema_${process.pid}`;
try {
  await runOn(server.url, `create database ${name} template template0`);
  const options = { databaseUrl: databaseUrl(server.url, name) };
  await (await openStore(options)).close();
  const engine = await openEngine(options, { info() {}, warn() {} });
  await writeFile(
    new URL('../src/platform/store/generated/schema.sql', import.meta.url),
    await describeSchema(engine.pool),
  );
  await engine.close();
  await dropDatabase(server.url, name);
} finally {
  await server.stop();
}
