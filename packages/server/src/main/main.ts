import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Server as Listener } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Logger, pino } from 'pino';
import { readServerConfig } from '../app/read-config.ts';
import type { BackgroundWork } from '../background/background.ts';
import type { Service } from '../entity/service.ts';
import { databaseOf, localUrl } from '../platform/process/config.ts';
import { batchedLines, logOptions } from '../platform/process/log.ts';
import { ServerAway } from '../platform/store/errors.ts';
import { openStore, type Store, type StoreOptions } from '../platform/store/store.ts';
import { arrivalLimits, Connections } from '../wire/connections.ts';
import { messages } from '../wire/messages.ts';
import { checkPortIsFree, listen } from './listen.ts';

/**
 * Time after SIGTERM in which new connections are accepted, because others learn from readiness that this process stops, and time
 * after it in which idle ones stay open, in milliseconds. Whoever closes an idle connection may lose a request that is on its way, so
 * the proxy has to, which keeps them for less.
 */
const [noticeMs, idleMs] = [2_000, 2_000];
/** Time that requests and jobs in progress have to finish when a process stops, in milliseconds. */
const graceMilliseconds = 10_000;

/** The pause before the database is tried again, in milliseconds. */
const retryOpening = 3_000;

const loopbackWarning =
  'WEBHOOK_ALLOW_LOOPBACK is on: subscribers can have events sent to any port of this machine, also without TLS. Use it for development only.';

export interface Running {
  readonly service: Service;
  readonly address: string;
  stop(): Promise<void>;
}

/**
 * Opens the database and serves. On SIGTERM or SIGINT, it finishes requests in progress, and finishes or releases jobs. After SIGTERM
 * it also serves what callers send before they learn of it; SIGINT comes from a person who waits.
 *
 * @param work background jobs; by default those of the service.
 * @throws Error with a sentence if the service cannot start; everything opened until then is closed.
 */
export async function serve(environment: NodeJS.ProcessEnv, work?: BackgroundWork): Promise<Running> {
  const config = readServerConfig(environment);
  const log = pino(logOptions(config.logLevel), batchedLines(pino.destination({ fd: 1, sync: true })));
  let handle: RequestListener = (_request, response) => void rejectWhileStarting(response, config.corsOrigins);
  const connections = new Connections({ total: config.maxConnections, corsOrigins: config.corsOrigins });
  const server = createServer(
    { ...arrivalLimits, ...messages },
    connections.bounded((request, response) => handle(request, response)),
  );
  connections.watch(server);
  // First, because a port in use is detected at once, and the rest of the start takes a second. Until it can serve, a process accepts no
  // connections, so that a proxy takes another one.
  await checkPortIsFree(config.host, config.port, 'PORT');
  const accept = async () => {
    if (!server.listening) await listen(server, config.host, config.port, 'PORT');
  };
  // Resources are closed in the opposite order.
  const opened = new AsyncDisposableStack();
  // Loading modules blocks this thread for a second or more, which must not delay a connection to PostgreSQL.
  if (config.databaseUrl !== undefined) await import('./serving.ts');
  const opening = openWhenThere({ ...databaseOf(config), standbyUrls: config.standbyUrls, log }, log, accept);
  opening.then(
    (store) => opened.defer(() => store.close()),
    () => undefined,
  );
  try {
    // Loading the rest takes as long as opening the embedded database, which runs in its own thread.
    const { prepareServing } = await import('./serving.ts');
    const { service, listener, startBackground } = await prepareServing(config, opening, log, opened, work);
    connections.measure(service.metrics.registry);
    handle = listener;
    await accept();
    log.info({ host: config.host, port: config.port, engine: service.store.engine }, 'Serving.');
    if (config.webhookAllowLoopback) log.warn(loopbackWarning);
    const stopBackground = config.background ? startBackground() : async () => {};

    const drain = async () => {
      service.lifetime.isStopping = true;
      await unused(server, noticeMs);
    };
    const close = async () => {
      handle = (request, response) => {
        response.setHeader('Connection', 'close');
        listener(request, response);
      };
      await closeServer(server, idleMs);
    };
    let stopping: Promise<void> | undefined;
    const stop = (drained?: Promise<void>) => {
      stopping ??= (async () => {
        log.info('Stopping after requests in progress.');
        const closed = drained === undefined ? closeServer(server) : drained.then(close);
        await Promise.all([closed, stopBackground(graceMilliseconds)]);
        await opened.disposeAsync();
        log.info('Stopped.');
      })();
      return stopping;
    };
    const end = async (drained?: Promise<void>) => {
      await stop(drained);
      // A job that ignores its abort signal must not keep the process alive.
      setTimeout(() => process.exit(), 1_000).unref();
    };
    process.once('SIGTERM', () => void end(drain()));
    process.once('SIGINT', () => void end());
    return { service, stop, address: localUrl(config.host, config.port) };
  } catch (error) {
    server.close().closeAllConnections();
    await opening.catch(() => undefined);
    await opened.disposeAsync();
    throw error;
  }
}

/** Opens the database, and waits for a server that may be there in a moment; callers learn of that meanwhile. */
async function openWhenThere(options: StoreOptions, log: Logger, accept: () => Promise<void>): Promise<Store> {
  for (;;) {
    try {
      return await openStore(options);
    } catch (error) {
      if (!(error instanceof ServerAway)) throw error;
      log.warn(`${error.message} Waiting for it.`);
      await accept();
      await pause(retryOpening);
    }
  }
}

/** Responds to requests while the service waits for its database. */
async function rejectWhileStarting(response: ServerResponse, corsOrigins: readonly string[]): Promise<void> {
  const [{ Rejection }, { sendProblem }] = await Promise.all([
    import('../contract/rejection.ts'),
    import('../wire/send-problem.ts'),
  ]);
  const detail = 'The service is starting. Try again in a second.';
  sendProblem(response, new Rejection('SERVICE_UNAVAILABLE', detail), corsOrigins);
}

/** Waits until a server has no connections, but no longer than this time in milliseconds. */
async function unused(server: Server, longest: number): Promise<void> {
  const end = performance.now() + longest;
  const connections = promisify(server.getConnections.bind(server));
  while (performance.now() < end && (await connections()) > 0) await pause(50);
}

/** Accepts no more connections, lets requests in progress finish, and closes connections that are still idle after a time. */
async function closeServer(server: Server, idle = 0): Promise<void> {
  const forced = setTimeout(() => server.closeAllConnections(), idle + graceMilliseconds);
  // That of `node:http` would close idle connections at once.
  const closed = new Promise((resolve) => Listener.prototype.close.call(server, resolve));
  await Promise.race([closed, pause(idle)]);
  server.closeIdleConnections();
  await closed;
  clearTimeout(forced);
}
