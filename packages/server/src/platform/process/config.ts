import { join } from 'node:path';
import type { IdentityProviderSettings } from '../auth/identity-provider.ts';
import type { MasterKeys } from '../auth/vault.ts';
import type { MailSettings } from '../mail/mail-server.ts';
import type { PaymentSettings } from '../payments/open-processor.ts';
import type { S3Settings } from '../storage/s3-storage.ts';
import type { StoreOptions } from '../store/store.ts';

export interface Config {
  readonly host: string;
  readonly port: number;
  /** The URL at which browsers reach this service, without a trailing slash. Links to payment pages start with it. */
  readonly publicUrl: string;
  /** Whether it was set; otherwise it is the address that this process listens on. */
  readonly isPublicUrlSet: boolean;
  /** URL of PostgreSQL; undefined selects the embedded database in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** URLs of standbys of PostgreSQL that serve reads. */
  readonly standbyUrls: readonly string[];
  readonly dataDir: string;
  /** The bucket that stores the content of files; undefined stores it in `dataDir`. */
  readonly s3: S3Settings | undefined;
  readonly poolSize: number;
  /** How many requests of one tenant may be in progress in all processes. */
  readonly tenantConcurrency: number;
  /** How many years rows of the audit log are kept; 0 keeps all. Undefined if the database says it. */
  readonly auditYears: number | undefined;
  /** Whether a process that serves applies pending migrations to PostgreSQL; otherwise it does not start with them. */
  readonly migrateAtStart: boolean;
  /** `transaction` if PostgreSQL is reached through a pooler in that mode. */
  readonly pooler: 'transaction' | undefined;
  /** How long PostgreSQL may take to accept the first connection, in milliseconds. */
  readonly firstConnect: number;
  /** How long a read may take, in milliseconds. */
  readonly readBudget: number;
  /** How many requests of callers may be in progress, each on a connection of its own. */
  readonly maxConnections: number;
  /** What `Vault` protects data with. */
  readonly masterKeys: MasterKeys;
  readonly logLevel: string;
  /** Share of responses that are validated before they are sent, from 0 to 1. Problems are always validated. */
  readonly responseValidation: number;
  /** Factor for the contract's rate limits; 0 disables them. */
  readonly rateLimitFactor: number;
  /** Proxies whose `X-Forwarded-For` is trusted: the number of proxies in front of this process, or their networks. */
  readonly trustProxy: number | readonly string[];
  /** Separate port for `/metrics`; undefined serves it with everything else. */
  readonly metricsPort: number | undefined;
  /** Bearer token that `/metrics` requires; undefined requires none. */
  readonly metricsToken: string | undefined;
  /** Whether this process runs background jobs and the clock. */
  readonly background: boolean;
  /** Whether events can be delivered to this machine, also over HTTP. For development only. */
  readonly webhookAllowLoopback: boolean;
  /** Origins whose pages may call the service from a browser; `localhost` stands for every port of this machine. */
  readonly corsOrigins: readonly string[];
  /** Whether responses of operations are compressed for callers who accept it. Documents always are. */
  readonly compressResponses: boolean;
  /** The payment processor of payment links; undefined if payments are disabled. */
  readonly payments: PaymentSettings | undefined;
  /** Undefined if the service sends no mails. */
  readonly mail: MailSettings | undefined;
  /** Where people sign in to the console; undefined if they only can with an API key. */
  readonly identityProvider: IdentityProviderSettings | undefined;
}

/** The URL at which this machine reaches a server that listens on an address. */
export function localUrl(address: string, port: number): string {
  const reachable = reachableHost(address);
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** An address of this machine that reaches a server which listens on this address. */
export function reachableHost(address: string): string {
  return address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;
}

/** The database that the settings select. The embedded one has its own folder in the data directory. */
export function databaseOf(config: Config): StoreOptions {
  const { databaseUrl, dataDir, poolSize, pooler, readBudget, firstConnect } = config;
  const limits = { read: readBudget, firstConnect };
  const migrations = config.migrateAtStart ? 'apply' : 'check';
  if (databaseUrl !== undefined) return { databaseUrl, poolSize, pooler, limits, migrations };
  return { dataDir: join(dataDir, 'database'), limits };
}
