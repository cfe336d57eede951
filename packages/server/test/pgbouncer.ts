import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { overTcp } from './postgres-server.ts';

export type PoolMode = 'session' | 'transaction' | 'statement';

export interface Pgbouncer {
  /** URL of the database through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Debian installs it outside of the PATH of users. */
const searchPath = `${process.env.PATH}:/usr/sbin`;

export function isPgbouncerInstalled(): boolean {
  return spawnSync('pgbouncer', ['--version'], { env: { PATH: searchPath } }).status === 0;
}

/** What a process has beside its `POOL_SIZE`: in session mode, each needs a connection to the server. */
const ownConnections = 5;

/** Starts a PgBouncer in front of a database, with as many connections to the server as a process with this `POOL_SIZE` needs. */
export async function startPgbouncer(databaseUrl: string, mode: PoolMode, poolSize: number): Promise<Pgbouncer> {
  const { hostname, port, pathname, username, password } = overTcp(databaseUrl);
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-pgbouncer-'));
  const listenPort = await freePort();
  const settings = [
    '[databases]',
    `${pathname.slice(1)} = host=${hostname} port=${port || 5432}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${listenPort}`,
    'unix_socket_dir =',
    'auth_type = plain',
    `auth_file = ${join(folder, 'users')}`,
    `pool_mode = ${mode}`,
    `default_pool_size = ${mode === 'session' ? poolSize + ownConnections : poolSize}`,
  ];
  await writeFile(join(folder, 'pgbouncer.ini'), settings.join('\n'));
  await writeFile(join(folder, 'users'), `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`);
  // It does not run as root, so another user needs access to its files.
  await chmod(folder, 0o755);
  const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child = spawn('pgbouncer', ['--quiet', join(folder, 'pgbouncer.ini')], {
    env: { PATH: searchPath },
    stdio: ['ignore', 'inherit', 'inherit'],
    ...unprivileged,
  });
  const ended = once(child, 'exit');
  while (!(await accepts(listenPort))) {
    if (child.exitCode !== null) throw new Error('PgBouncer did not start.');
    await pause(50);
  }
  return {
    url: Object.assign(overTcp(databaseUrl), { hostname: '127.0.0.1', port: String(listenPort) }).href,
    async stop() {
      child.kill('SIGINT');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.unref().once('connect', () => socket.destroy());
  });
}
