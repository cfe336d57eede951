import { createServer } from 'node:http';
import { pino } from 'pino';
import { createApp } from './app.ts';
import { readConfig } from './config.ts';
import { logOptions } from './log.ts';
import { createService } from './service.ts';
import { openStore } from './store/store.ts';

/** How long requests that are under way may take to end after a signal to stop, in milliseconds. */
const graceMilliseconds = 10_000;

/** Opens the database, serves, and stops in order on SIGTERM or SIGINT: no request that was taken is dropped. */
export async function serve(environment: NodeJS.ProcessEnv) {
  const config = readConfig(environment);
  const log = pino(logOptions(config.logLevel));
  const { databaseUrl, dataDir, poolSize } = config;
  const store = await openStore({ ...(databaseUrl === undefined ? { dataDir } : { databaseUrl }), poolSize, log });
  const service = await createService(config, store, log);
  const server = createServer(createApp(service));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.port, config.host, resolve);
  });
  log.info({ host: config.host, port: config.port, engine: store.engine }, 'Serving.');

  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      log.info('Stopping: finishing the requests that are under way.');
      const forced = setTimeout(() => server.closeAllConnections(), graceMilliseconds);
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeIdleConnections();
      });
      clearTimeout(forced);
      await store.close();
      log.info('Stopped.');
    })();
    return stopping;
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop());
  return { service, stop, address: `http://${config.host}:${config.port}` };
}
