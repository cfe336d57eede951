import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { pino } from 'pino';
import { createApp } from './app.ts';
import { type Config, readConfig } from './config.ts';
import { logOptions } from './log.ts';
import { listenForCommands } from './operator/socket.ts';
import { createService, type Service } from './service.ts';
import { openStore, type StoreOptions } from './store/store.ts';

/** How long requests that are under way may take to end after a signal to stop, in milliseconds. */
const graceMilliseconds = 10_000;

export interface Running {
  readonly service: Service;
  readonly address: string;
  stop(): Promise<void>;
}

/**
 * Opens the database, serves, and stops in order on SIGTERM or SIGINT: requests that are under way are answered.
 *
 * @throws Error with a sentence where the settings are wrong, the database is in use or the port is taken.
 */
export async function serve(environment: NodeJS.ProcessEnv): Promise<Running> {
  const config = readConfig(environment);
  const log = pino(logOptions(config.logLevel));
  const store = await openStore({ ...databaseOf(config), log });
  const service = await createService(config, store, log);
  const commands = config.databaseUrl === undefined ? await listenForCommands(config.dataDir, { service }) : undefined;
  const server = createServer(createApp(service));
  try {
    await listen(server, config);
  } catch (error) {
    commands?.close();
    await store.close();
    throw error;
  }
  log.info({ host: config.host, port: config.port, engine: store.engine }, 'Serving.');

  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      log.info('Stopping: the requests that are under way are answered first.');
      const forced = setTimeout(() => server.closeAllConnections(), graceMilliseconds);
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeIdleConnections();
      await closed;
      clearTimeout(forced);
      commands?.close();
      await store.close();
      log.info('Stopped.');
    })();
    return stopping;
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop());
  return { service, stop, address: `http://${config.host}:${config.port}` };
}

/** Which database the settings name. The embedded one has a folder of its own, beside what else is in the data directory. */
export function databaseOf(config: Config): StoreOptions {
  if (config.databaseUrl !== undefined) return { databaseUrl: config.databaseUrl, poolSize: config.poolSize };
  return { dataDir: join(config.dataDir, 'database') };
}

function listen(server: Server, { port, host }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') return reject(error);
      reject(new Error(`Port ${port} is taken. Stop what uses it, or set PORT to another one.`));
    });
    server.listen(port, host, resolve);
  });
}
