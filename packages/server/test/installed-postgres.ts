import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { runOn } from './postgres-server.ts';

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

export async function startInstalledPostgres(binaries: string): Promise<InstalledPostgres> {
  // PostgreSQL does not run as root.
  const user: { uid?: number; gid?: number } = process.getuid?.() === 0 ? idsOf('postgres') : {};
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-installed-postgres-'));
  if (user.uid !== undefined && user.gid !== undefined) await chown(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const port = String(await freePort());
  const options = { ...user, cwd: folder };
  const initialization = ['--pgdata', data, '--username=admin', '--auth=trust', '--encoding=UTF8', '--no-sync'];
  execFileSync(join(binaries, 'initdb'), [...initialization, '--locale=C'], { ...options, stdio: 'ignore' });
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'max_connections=30'];
  const words = ['-D', data, '-p', port, ...settings.flatMap((setting) => ['-c', setting])];
  const server = spawn(join(binaries, 'postgres'), words, { ...options, stdio: 'ignore' });
  const url = `postgres://admin@127.0.0.1:${port}/postgres`;
  await untilReady(server, url);
  return {
    url,
    environment: { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH}` },
    async stop() {
      const ended = once(server, 'exit');
      // A fast shutdown, which ends sessions.
      server.kill('SIGINT');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function untilReady(server: ChildProcess, url: string): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}.`);
    try {
      return await runOn(url, 'select 1');
    } catch {
      await pause(50);
    }
  }
}

function idsOf(user: string): { uid: number; gid: number } {
  const id = (kind: string) => Number(execFileSync('id', [kind, user], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
