import { globSync } from 'node:fs';
import { delimiter } from 'node:path';
import { PostgresProcess } from './postgres-process.ts';

/** A PostgreSQL of the machine with its tools: that of the tests has no `pg_dump`, and an older one cannot dump it. */
export interface InstalledPostgres {
  /** URL of a superuser, who needs no password. */
  readonly url: string;
  /** The environment in which its tools are found. */
  readonly environment: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

/** The folder with the newest server and its tools, as Debian installs them, or undefined. */
export function postgresFolder(): string | undefined {
  const versions = globSync('/usr/lib/postgresql/*/bin/pg_dump').map((file) => Number(file.split('/')[4]));
  const newest = Math.max(...versions);
  return newest >= 15 ? `/usr/lib/postgresql/${newest}/bin` : undefined;
}

/** @param settings of the server, such as `wal_level=replica`. */
export async function startInstalledPostgres(
  binaries: string,
  settings: readonly string[] = [],
): Promise<InstalledPostgres> {
  const server = await PostgresProcess.create(binaries, settings);
  return {
    url: server.url,
    environment: { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH}` },
    stop: () => server.remove(),
  };
}
