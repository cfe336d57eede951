import type { Logger } from 'pino';
import { Admission, type AdmissionOptions } from '../admission/admission.ts';
import { Directory } from '../admission/directory.ts';
import { Tokens } from '../admission/tokens.ts';
import { allOperations, contract } from '../contract/contract.ts';
import { type ContractValidator, contractValidator } from '../contract/validator.ts';
import { DeliveryAddresses } from '../platform/addresses.ts';
import { KeyRing } from '../platform/auth/key-ring.ts';
import { Vault } from '../platform/auth/vault.ts';
import type { Counters } from '../platform/counters.ts';
import { MailServers } from '../platform/mail/mail-server.ts';
import { openProcessor } from '../platform/payments/open-processor.ts';
import type { PaymentProcessor } from '../platform/payments/processor.ts';
import type { Config } from '../platform/process/config.ts';
import { createMetrics, type Metrics, measureState } from '../platform/process/metrics.ts';
import { RecentRequests } from '../platform/process/recent-requests.ts';
import { measureStandbys } from '../platform/process/standby-metrics.ts';
import { sharedCounters } from '../platform/shared-counters.ts';
import { openStorage } from '../platform/storage/open-storage.ts';
import type { ContentStorage } from '../platform/storage/storage.ts';
import type { Store } from '../platform/store/store.ts';
import { TenantBound } from '../platform/tenant-bound.ts';
import { LargeBodyChecks } from '../wire/large-body.ts';
import { Unsent } from '../wire/unsent.ts';

/** State that lives as long as the process and is shared by all requests. */
export interface Service {
  readonly config: Config;
  readonly log: Logger;
  readonly store: Store;
  readonly storage: ContentStorage;
  readonly vault: Vault;
  readonly keys: KeyRing;
  readonly tokens: Tokens;
  readonly directory: Directory;
  readonly validator: ContractValidator;
  /** Counts for the limits of all processes together. */
  readonly counters: Counters;
  /** Who may start now. */
  readonly admission: Admission;
  readonly recentRequests: RecentRequests;
  /** The parts of this process of what each tenant may have in progress in all. */
  readonly tenantBound: TenantBound;
  readonly largeBodyChecks: LargeBodyChecks;
  /** Limits what waits for callers who do not read. */
  readonly unsent: Unsent;
  readonly metrics: Metrics;
  readonly deliveryAddresses: DeliveryAddresses;
  readonly mailServers: MailServers;
  /** Undefined if payment links cannot be paid. */
  readonly processor: PaymentProcessor | undefined;
  /**
   * A process that stops is no longer ready, but still serves requests. In a drill, its database is a restored copy that was not
   * adopted yet.
   */
  readonly lifetime: { isStopping: boolean; isDrill: boolean };
}

/** Number of requests that use PGlite concurrently, as if it had this many connections. */
const pgliteRequests = 4;

/** @param patience how long requests may wait */
export async function createService(
  config: Config,
  store: Store,
  log: Logger,
  patience: Pick<AdmissionOptions, 'waitMs' | 'bodyMs'> = {},
): Promise<Service> {
  const vault = new Vault(config.masterKeys);
  const keys = await KeyRing.open(store, vault);
  const metrics = createMetrics(
    contract['x-release'],
    allOperations.map(({ id }) => id),
  );
  const lifetime = { isStopping: false, isDrill: false };
  measureState(store, lifetime, metrics.registry);
  const counters = sharedCounters(store);
  const tenantBound = new TenantBound(config.tenantConcurrency);
  if (store.standbys !== undefined) measureStandbys(store.standbys, metrics.registry);
  // PGlite has one connection: a few requests queue for it, so that it is never idle between them.
  const connections = store.engine === 'pglite' ? pgliteRequests : config.poolSize;
  return {
    config,
    log,
    store,
    storage: await openStorage(config),
    vault,
    keys,
    tokens: new Tokens(keys, vault),
    directory: new Directory(store),
    validator: await contractValidator(),
    counters,
    admission: new Admission({
      connections,
      rateLimitFactor: config.rateLimitFactor,
      counters,
      registry: metrics.registry,
      ...patience,
      boundOf: (tenant) => tenantBound.of(tenant),
    }),
    tenantBound,
    recentRequests: new RecentRequests(store),
    largeBodyChecks: new LargeBodyChecks(metrics.registry, log),
    unsent: new Unsent(metrics.registry),
    metrics,
    deliveryAddresses: new DeliveryAddresses({ allowLoopback: config.webhookAllowLoopback }),
    mailServers: new MailServers(config.mail),
    processor: await openProcessor(config.payments, store, log),
    lifetime,
  };
}
