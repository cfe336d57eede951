import { databaseUrl, dropDatabase, runOn } from '@financial-automation/server/test/postgres-server';
import { findServer } from '@financial-automation/server/test/postgres-setup';

/** A database of its own for a measurement, on PostgreSQL. */
export interface BenchDatabase extends AsyncDisposable {
  readonly url: string;
}

/** Creates a database, which is dropped at the end. */
export async function createDatabase(name: string): Promise<BenchDatabase> {
  const postgres = await findServer();
  const database = `bench_${name}_${process.pid}`;
  await runOn(postgres.url, `create database ${database} template template0`);
  return {
    url: databaseUrl(postgres.url, database),
    async [Symbol.asyncDispose]() {
      await dropDatabase(postgres.url, database);
      await postgres.stop();
    },
  };
}
