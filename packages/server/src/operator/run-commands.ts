import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import { Directory } from '../admission/directory.ts';
import { Tokens } from '../admission/tokens.ts';
import { readConfig } from '../app/read-config.ts';
import { contract } from '../contract/contract.ts';
import { KeyRing } from '../platform/auth/key-ring.ts';
import { Vault } from '../platform/auth/vault.ts';
import { MailServers } from '../platform/mail/mail-server.ts';
import { pasteable } from '../platform/operator-command.ts';
import { openProcessor } from '../platform/payments/open-processor.ts';
import { type Config, databaseOf } from '../platform/process/config.ts';
import { createMetrics } from '../platform/process/metrics.ts';
import { openStorage } from '../platform/storage/open-storage.ts';
import type { Limits } from '../platform/store/limits.ts';
import { openStore } from '../platform/store/store.ts';
import { type CommandName, type Commands, runCommand } from './commands.ts';
import { isRestored, openCells } from './databases/index.ts';
import type { Operator } from './operator.ts';
import { showProgress } from './show-progress.ts';
import { callServer, isServing } from './socket.ts';

export type Run = <Name extends CommandName>(
  name: Name,
  input: Commands[Name]['input'],
) => Promise<Commands[Name]['result']>;

/**
 * Runs commands: in the running server, which has exclusive access to the embedded database, or directly on the database.
 *
 * @throws Error with a sentence if there is no database.
 */
export async function withOperator<Result>(
  work: (run: Run, isInServer: boolean) => Promise<Result>,
  { creates = false, isLong = false }: WorkOptions = {},
): Promise<Result> {
  if (!creates) checkDatabaseExists(process.env);
  const config = readConfig(process.env);
  if (config.databaseUrl === undefined && (await isServing(config.dataDir)))
    return work((name, input) => callServer(config.dataDir, name, input), true);
  const run = (operator: Operator) =>
    work((name, input) => {
      const { show, end } = showProgress(process.stderr);
      return runCommand({ ...operator, progress: isLong ? show : undefined }, name, input).finally(end);
    }, false);
  return onDatabase(config, run, isLong ? unlimited : {});
}

export interface WorkOptions {
  /** Whether the commands may create the embedded database. */
  readonly creates?: boolean;
  /** Whether the commands can take hours. Then how far they are is shown on standard error. */
  readonly isLong?: boolean;
}

const day = 86_400_000;
/** For work on all rows of a tenant, which somebody watches. */
export const unlimited: Partial<Limits> = { read: day, statement: day, idleInTransaction: day };

/**
 * A wrong directory must not become a second, empty database.
 *
 * @throws Error with a sentence if there is no database.
 */
export function checkDatabaseExists({ DATABASE_URL = '', DATA_DIR = 'data' }: NodeJS.ProcessEnv): void {
  if (DATABASE_URL !== '' || existsSync(join(DATA_DIR, 'database'))) return;
  throw new Error(
    `There is no database in ${resolve(DATA_DIR)}. Set DATA_DIR to the directory of the server, or DATABASE_URL. To create a database with a demo tenant, run: ${pasteable('start')}`,
  );
}

/** Runs commands directly on the database. @throws DirectoryInUse if a server has the embedded database open. */
export async function onDatabase<Result>(
  config: Config,
  work: (operator: Operator) => Promise<Result>,
  limits: Partial<Limits> = {},
): Promise<Result> {
  const database = databaseOf(config);
  const log = pino({ level: 'silent' });
  const home = await openStore({ ...database, limits: { ...database.limits, ...limits }, log });
  const vault = new Vault(config.masterKeys);
  const store = await openCells(config, home, vault, log, limits);
  try {
    const keys = await KeyRing.open(store, vault);
    const [tokens, directory, storage] = [new Tokens(keys, vault), new Directory(store), await openStorage(config)];
    const isDrill = await isRestored(home);
    const processor = await openProcessor(isDrill ? undefined : config.payments, store, log);
    const mailServers = new MailServers(isDrill ? undefined : config.mail);
    const clock = { log, metrics: createMetrics(contract['x-release'], []), processor, mailServers };
    return await work({ service: { store, storage, vault, keys, tokens, directory, ...clock } });
  } finally {
    if (store !== home) await store.close();
    await home.close();
  }
}
