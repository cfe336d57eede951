import { createServer, type RequestListener } from 'node:http';
import type { Logger } from 'pino';
import { createApp, createProbes } from '../app/app.ts';
import { purgeExpiredKeys } from '../app/idempotency.ts';
import { backgroundWork } from '../app/jobs.ts';
import { type BackgroundWork, startBackground } from '../background/background.ts';
import { contractValidator } from '../contract/validator.ts';
import { createService, type Service } from '../entity/service.ts';
import { keptDays, startDelivery } from '../modules/events/index.ts';
import { removeInterruptedImports } from '../operator/copies/index.ts';
import { isRestored, openCells } from '../operator/databases/index.ts';
import { listenForCommands } from '../operator/socket.ts';
import { Vault } from '../platform/auth/vault.ts';
import { Heartbeat } from '../platform/heartbeat.ts';
import type { Config } from '../platform/process/config.ts';
import { measureProcess } from '../platform/process/metrics.ts';
import { purgeRecentRequests } from '../platform/process/recent-requests.ts';
import { keptAuditLog, withSharedSettings } from '../platform/process/shared-settings.ts';
import { Cells } from '../platform/store/databases/index.ts';
import { keepPartitions, type MonthlyTable } from '../platform/store/partitions.ts';
import type { Store } from '../platform/store/store.ts';
import { arrivalLimits } from '../wire/connections.ts';
import { messages } from '../wire/messages.ts';
import { listen } from './listen.ts';

/** How often what has expired, or interrupted imports have left, is deleted, and partitions are kept up to date, in milliseconds. */
const purgeInterval = 3_600_000;

const drillWarning =
  'This database was restored, or its standby promoted: events are not delivered, payments not followed, no mails sent, and other databases not used, until it is adopted: operator adopt';

const processorWarning = 'No payment processor is set: payment links cannot be paid. Set PAYMENT_PROCESSOR to stripe.';

export interface Serving {
  readonly service: Service;
  readonly listener: RequestListener;
  /** Runs jobs, the clock and deliveries. @returns a function that stops them */
  startBackground(): (grace: number) => Promise<unknown>;
}

/**
 * Creates everything that serves on an open database.
 *
 * @param own settings of this process; the database has those that are the same in all.
 * @param opening the database, awaited after everything that does not need it.
 * @param opened collects resources to close.
 * @param work background jobs; by default those of the service.
 */
export async function prepareServing(
  own: Config,
  opening: Promise<Store>,
  log: Logger,
  opened: AsyncDisposableStack,
  work: BackgroundWork = backgroundWork,
): Promise<Serving> {
  // Meanwhile the database opens.
  await contractValidator();
  const home = await opening;
  await home.ready();
  const shared = await withSharedSettings(own, home);
  // A copy must not do again, or otherwise, what the installation does from which it was copied.
  const isDrill = await isRestored(home);
  const config = isDrill ? { ...shared, payments: undefined, mail: undefined } : shared;
  if (isDrill) log.warn(drillWarning);
  else if (config.payments === undefined) log.warn(processorWarning);
  const store = await openCells(config, home, new Vault(config.masterKeys), log);
  if (store instanceof Cells) {
    store.keepLooking();
    opened.defer(() => store.close());
  }
  const service = await createService(config, store, log);
  measureProcess(service.metrics.registry);
  service.lifetime.isDrill = isDrill;
  if (config.databaseUrl === undefined) {
    const commands = await listenForCommands(config.dataDir, { service });
    opened.defer(() => void commands.close());
  }
  const purge = () => {
    for (const { store: one } of store.cells) {
      if (one === undefined) continue;
      purgeExpiredKeys(one).catch((error: unknown) => log.warn({ err: error }, 'Deleting expired keys failed.'));
      purgeRecentRequests(one).catch((error: unknown) => log.warn({ err: error }, 'Deleting old requests failed.'));
      removeInterruptedImports({ ...service, store: one }).catch((error: unknown) =>
        log.warn({ err: error }, 'Deleting leftovers of interrupted imports failed.'),
      );
      void keepAllPartitions(one, home, log);
    }
  };
  // The embedded database has no other process.
  if (store.engine === 'postgres') {
    const heartbeat = new Heartbeat(store, () => service.admission.shares.takeBusy(), service.tenantBound);
    await heartbeat.start();
    opened.defer(() => heartbeat.stop());
  }
  opened.defer(
    service.recentRequests.keepWriting((error) => log.warn({ err: error }, 'Recent requests were not written.')),
  );
  const purging = setInterval(purge, purgeInterval);
  opened.defer(() => clearInterval(purging));
  purge();
  if (config.metricsPort !== undefined) {
    const metrics = createServer({ ...arrivalLimits, ...messages }, createProbes(service));
    await listen(metrics, config.host, config.metricsPort, 'METRICS_PORT');
    opened.defer(() => void metrics.close().closeAllConnections());
  }
  return {
    service,
    listener: createApp(service),
    startBackground() {
      const started: Promise<{ stop(grace: number): Promise<void> }>[] = [];
      const startIn = (one: Store) => {
        const own = { ...service, store: one };
        started.push(startBackground(own, work));
        if (!isDrill) started.push(startDelivery(own));
      };
      if (store instanceof Cells) store.watch((cell) => cell.store !== undefined && startIn(cell.store));
      else startIn(store);
      return (grace) => Promise.all(started.map(async (running) => (await running).stop(grace)));
    },
  };
}

async function keepAllPartitions(store: Store, home: Store, log: Logger): Promise<void> {
  const kept: readonly [table: MonthlyTable, kept: () => Promise<string | null>][] = [
    ['audit_log', () => keptAuditLog(home)],
    // The clock of a sandbox only goes forward, so what is too old by the real one is too old for every tenant.
    ['delivery_attempt', async () => `${keptDays} days`],
  ];
  for (const [table, duration] of kept)
    await duration()
      .then((length) => keepPartitions(store, table, length))
      .then(
        ({ dropped }) => {
          if (dropped.length > 0) log.info({ dropped }, 'Dropped expired months of a table.');
        },
        (error: unknown) => log.warn({ err: error, table }, 'Updating the partitions of a table failed.'),
      );
}
