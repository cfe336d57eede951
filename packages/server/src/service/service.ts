import type { Logger } from 'pino';
import { createFailureLimit, type FailureLimit } from '../admission/failure-limit.ts';
import { createRateLimit, type RateLimit } from '../admission/rate-limit.ts';
import { RejectionDelay } from '../admission/rejection-delay.ts';
import {
  measuredBulkWrites,
  measuredCostlySearches,
  measuredLargeBodies,
  measuredShares,
} from '../admission/share-metrics.ts';
import { type Shares, shareLimits, standardWait } from '../admission/shares.ts';
import { type ContractValidator, contractValidator } from '../contract/validator.ts';
import { DeliveryAddresses } from '../platform/addresses.ts';
import { Directory } from '../platform/auth/directory.ts';
import { KeyRing } from '../platform/auth/key-ring.ts';
import { Tokens } from '../platform/auth/tokens.ts';
import { Vault } from '../platform/auth/vault.ts';
import type { Counters } from '../platform/counters.ts';
import { openProcessor } from '../platform/payments/open-processor.ts';
import type { PaymentProcessor } from '../platform/payments/processor.ts';
import { sharedCounters } from '../platform/shared-counters.ts';
import { openStorage } from '../platform/storage/open-storage.ts';
import type { ContentStorage } from '../platform/storage/storage.ts';
import type { Store } from '../platform/store/store.ts';
import { TenantBound } from '../platform/tenant-bound.ts';
import { LargeBodyChecks } from '../wire/large-bodies.ts';
import { Unsent } from '../wire/unsent.ts';
import type { Config } from './config.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { RecentRequests } from './recent-requests.ts';
import { measureStandbys } from './standby-metrics.ts';

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
  readonly rateLimit: RateLimit;
  readonly failureLimit: FailureLimit;
  readonly recentRequests: RecentRequests;
  /** Slows down callers who ignore rejections. */
  readonly rejectionDelay: RejectionDelay;
  readonly shares: Shares;
  /** The parts of this process of what each tenant may have in progress in all. */
  readonly tenantBound: TenantBound;
  /** Limits how many costly searches run at the same time. */
  readonly costlySearches: Shares;
  /** Limits how many bulk writes run at the same time. */
  readonly bulkWrites: Shares;
  /** Limits how many large bodies are in memory. */
  readonly largeBodies: Shares;
  readonly largeBodyChecks: LargeBodyChecks;
  /** Limits what waits for callers who do not read. */
  readonly unsent: Unsent;
  readonly metrics: Metrics;
  readonly deliveryAddresses: DeliveryAddresses;
  /** Undefined if payment links cannot be paid. */
  readonly processor: PaymentProcessor | undefined;
  /** A process that was asked to stop is not ready any more, while it still serves. */
  readonly lifetime: { isStopping: boolean };
}

/** Number of requests that use PGlite concurrently, as if it had this many connections. */
const pgliteRequests = 4;

/** @param wait how long a request waits for its turn, in milliseconds */
export async function createService(
  config: Config,
  store: Store,
  log: Logger,
  wait: number = standardWait,
): Promise<Service> {
  const vault = new Vault(config.masterKey);
  const keys = await KeyRing.open(store, vault);
  const metrics = createMetrics();
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
    rateLimit: createRateLimit(config.rateLimitFactor, counters),
    failureLimit: createFailureLimit(config.rateLimitFactor, counters),
    shares: measuredShares(
      { ...shareLimits(connections), wait, boundOf: (tenant) => tenantBound.of(tenant) },
      metrics.registry,
    ),
    tenantBound,
    costlySearches: measuredCostlySearches(connections, wait, metrics.registry),
    bulkWrites: measuredBulkWrites(connections, wait, metrics.registry),
    largeBodies: measuredLargeBodies(wait, metrics.registry),
    recentRequests: new RecentRequests(),
    rejectionDelay: new RejectionDelay(config.rateLimitFactor),
    largeBodyChecks: new LargeBodyChecks(metrics.registry, log),
    unsent: new Unsent(metrics.registry),
    metrics,
    deliveryAddresses: new DeliveryAddresses({ allowLoopback: config.webhookAllowLoopback }),
    processor: await openProcessor(config.payments, store, log),
    lifetime: { isStopping: false },
  };
}
