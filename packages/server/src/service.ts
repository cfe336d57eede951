import type { Logger } from 'pino';
import { Directory } from './auth/directory.ts';
import { KeyRing } from './auth/key-ring.ts';
import { Tokens } from './auth/tokens.ts';
import { Vault } from './auth/vault.ts';
import type { Config } from './config.ts';
import { type ContractValidator, contractValidator } from './contract/validator.ts';
import { createRateLimit, type RateLimit } from './http/rate-limit.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import type { Store } from './store/store.ts';

/** What lives as long as the process, and every request shares. */
export interface Service {
  readonly config: Config;
  readonly log: Logger;
  readonly store: Store;
  readonly vault: Vault;
  readonly keys: KeyRing;
  readonly tokens: Tokens;
  readonly directory: Directory;
  readonly validator: ContractValidator;
  readonly rateLimit: RateLimit;
  readonly metrics: Metrics;
}

export async function createService(config: Config, store: Store, log: Logger): Promise<Service> {
  const vault = new Vault(config.masterKey);
  const keys = await KeyRing.open(store, vault);
  return {
    config,
    log,
    store,
    vault,
    keys,
    tokens: new Tokens(keys),
    directory: new Directory(store),
    validator: await contractValidator(),
    rateLimit: createRateLimit(config.rateLimitFactor),
    metrics: createMetrics(),
  };
}
