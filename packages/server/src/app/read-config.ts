import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { cleanEnv, email, host, makeValidator, num, port, str, url } from 'envalid';
import proxyAddr from 'proxy-addr';
import { millisecondsOf } from '../contract/durations.ts';
import type { IdentityProviderSettings } from '../platform/auth/identity-provider.ts';
import type { MasterKeys } from '../platform/auth/vault.ts';
import type { MailSettings } from '../platform/mail/mail-server.ts';
import type { PaymentSettings } from '../platform/payments/open-processor.ts';
import { type Config, localUrl } from '../platform/process/config.ts';
import { checkDataDir } from '../platform/process/socket-path.ts';
import type { S3Settings } from '../platform/storage/s3-storage.ts';
import { standardLimits } from '../platform/store/limits.ts';
import {
  checkHoldsFiles,
  ensurePrivateDirectory,
  readSecretFile,
  UnusableDirectory,
} from '../platform/store/private-files.ts';

const share = makeValidator<number>((text) => {
  const value = Number(text);
  if (!(value >= 0 && value <= 1)) throw new Error('a number from 0 to 1');
  return value;
});

const atLeast = (smallest: number) =>
  makeValidator<number>((text) => {
    const value = Number(text);
    if (!(Number.isInteger(value) && value >= smallest)) throw new Error(`a whole number, ${smallest} or more`);
    return value;
  });

const databaseAddress = makeValidator<string>((text) => {
  // The text contains a password, so no message repeats it.
  if (text !== '' && !isDatabaseAddress(text)) {
    throw new Error(`an address such as ${sampleAddress}`);
  }
  return text;
});

const databaseAddresses = makeValidator<readonly string[]>((text) => {
  const addresses = text === '' ? [] : text.split(',').map((address) => address.trim());
  if (addresses.every(isDatabaseAddress)) return addresses;
  throw new Error(`addresses, separated by commas, such as ${sampleAddress}`);
});

const sampleAddress =
  'postgres://user:password@host:5432/database. In a password, write @ as %40, / as %2F, ? as %3F, # as %23 and % as %25';

/** A password with such a character as it is would end there, and the rest would be shown as the host or the database. */
function isDatabaseAddress(text: string): boolean {
  if (!/^postgres(ql)?:/.test(text) || !URL.canParse(text)) return false;
  const { username, password, pathname, search, hash } = new URL(text);
  if (hash !== '' || `${pathname}${search}`.includes('@')) return false;
  return [username, password, pathname].every((part) => !/%(?![0-9a-f]{2})/i.test(part));
}

const mailAddress = makeValidator<string>((text) => {
  // No message repeats it, because it contains a password.
  if (text === '' || (/^smtps?:\/\/[^/?#]/.test(text) && URL.canParse(text))) return text;
  throw new Error('an address such as smtps://user:password@host:465, or smtp: for STARTTLS');
});

/** Tokens that another machine could read or change on their way would let anybody sign in. */
const issuer = makeValidator<string>((text) => {
  if (text === '' || /^https:/.test(text) || /^http:\/\/(localhost|127\.0\.0\.1)[:/]/.test(`${text}/`)) {
    if (text === '' || URL.canParse(text)) return text;
  }
  throw new Error('an address such as https://accounts.example.com, as the provider writes it');
});

/** A path, or a slash at the end, would never match what browsers send. */
const origins = makeValidator<readonly string[]>((text) => {
  const names = text === '' ? [] : text.split(',').map((name) => name.trim());
  const isOrigin = (name: string) => /^https?:/.test(name) && URL.canParse(name) && new URL(name).origin === name;
  if (names.every((name) => name === 'localhost' || isOrigin(name))) return names;
  throw new Error(
    'origins, such as "https://app.example.com, http://localhost:5173", or "localhost" for all its ports',
  );
});

/** Trusting every proxy would let callers choose their address: `X-Forwarded-For` includes what the caller sends. */
const trustedProxies = makeValidator<number | readonly string[]>((text) => {
  if (/^\d$/.test(text)) return Number(text);
  const networks = text.split(',').map((network) => network.trim());
  // A larger number would pass for an IPv4 address.
  if (!/^\d+$/.test(text) && areNetworks(networks)) return networks;
  throw new Error(
    'the number of proxies before this process, or their networks, such as "1" or "10.0.0.0/8, 127.0.0.1"',
  );
});

function areNetworks(networks: string[]): boolean {
  try {
    proxyAddr.compile(networks);
    return true;
  } catch {
    return false;
  }
}

/**
 * Reads the settings of the process from environment variables.
 *
 * @throws Error that lists each invalid variable and its valid values.
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const faults: string[] = [];
  const read = cleanEnv(
    environment,
    {
      HOST: host({ default: '127.0.0.1' }),
      PORT: port({ default: 3000 }),
      PUBLIC_URL: url({ default: '' }),
      DATABASE_URL: databaseAddress({ default: '' }),
      READ_DATABASE_URL: databaseAddresses({ default: [] }),
      DATA_DIR: str({ default: 'data' }),
      S3_BUCKET: str({ default: '' }),
      S3_REGION: str({ default: 'us-east-1' }),
      S3_ENDPOINT: url({ default: '' }),
      DATABASE_POOLER: str({ choices: ['none', 'transaction'], default: 'none' }),
      CONNECT_TIMEOUT_MS: atLeast(50)({ default: standardLimits.firstConnect }),
      TENANT_CONCURRENCY: atLeast(1)({ default: 50 }),
      AUDIT_LOG_YEARS: atLeast(0)({ default: undefined }),
      MIGRATE_AT_START: str({ choices: ['on', 'off'], default: 'off' }),
      POOL_SIZE: atLeast(1)({ default: 10 }),
      READ_BUDGET_MS: atLeast(50)({ default: millisecondsOf('read') }),
      MAX_CONNECTIONS: atLeast(1)({ default: 2_000 }),
      MASTER_KEY: str({ default: '' }),
      LOG_LEVEL: str({ choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], default: 'info' }),
      VALIDATE_RESPONSES: share({ default: 1 }),
      RATE_LIMIT_FACTOR: num({ default: 1 }),
      TRUST_PROXY: trustedProxies({ default: 0 }),
      METRICS_PORT: port({ default: 0 }),
      METRICS_TOKEN: str({ default: '' }),
      BACKGROUND: str({ choices: ['on', 'off'], default: 'on' }),
      WEBHOOK_ALLOW_LOOPBACK: str({ choices: ['on', 'off'], default: 'off' }),
      CORS_ORIGINS: origins({ default: [] }),
      COMPRESS_RESPONSES: str({ choices: ['on', 'off'], default: 'off' }),
      PAYMENT_PROCESSOR: str({ choices: ['sandbox', 'stripe', 'none', ''], default: '' }),
      SMTP_URL: mailAddress({ default: '' }),
      SANDBOX_SMTP_URL: mailAddress({ default: '' }),
      MAIL_FROM: email({ default: '' }),
      OIDC_ISSUER: issuer({ default: '' }),
      OIDC_CLIENT_ID: str({ default: '' }),
      OIDC_CLIENT_SECRET: str({ default: '' }),
      OIDC_SCOPE: str({ default: 'openid profile email' }),
      OIDC_TENANT_CLAIM: str({ default: 'tenant' }),
      OIDC_ROLES_CLAIM: str({ default: 'roles' }),
      STRIPE_SECRET_KEY: str({ default: '' }),
      STRIPE_WEBHOOK_SECRET: str({ default: '' }),
    },
    {
      reporter: ({ errors }) => {
        for (const [name, error] of Object.entries(errors)) faults.push(`${name}: ${error?.message ?? 'is wrong'}`);
      },
    },
  );
  if (faults.length > 0) throw new Error(`The environment is invalid.\n  ${faults.join('\n  ')}`);
  const databaseUrl = read.DATABASE_URL === '' ? undefined : read.DATABASE_URL;
  const dataDir = resolve(read.DATA_DIR);
  if (databaseUrl === undefined && read.READ_DATABASE_URL.length > 0)
    throw new Error('READ_DATABASE_URL names standbys of DATABASE_URL, which is not set.');
  if (databaseUrl === undefined) prepareDataDirectory(dataDir);
  const publicUrl = (read.PUBLIC_URL === '' ? localUrl(read.HOST, read.PORT) : read.PUBLIC_URL).replace(/\/+$/, '');
  return {
    host: read.HOST,
    port: read.PORT,
    publicUrl,
    isPublicUrlSet: read.PUBLIC_URL !== '',
    databaseUrl,
    standbyUrls: read.READ_DATABASE_URL,
    dataDir,
    s3: s3Settings(read.S3_BUCKET, read.S3_REGION, read.S3_ENDPOINT),
    poolSize: read.POOL_SIZE,
    tenantConcurrency: read.TENANT_CONCURRENCY,
    auditYears: read.AUDIT_LOG_YEARS,
    migrateAtStart: read.MIGRATE_AT_START === 'on',
    pooler: read.DATABASE_POOLER === 'transaction' ? 'transaction' : undefined,
    firstConnect: read.CONNECT_TIMEOUT_MS,
    readBudget: read.READ_BUDGET_MS,
    maxConnections: read.MAX_CONNECTIONS,
    masterKeys: decodeMasterKeys(read.MASTER_KEY === '' ? keyBeside(databaseUrl, dataDir) : read.MASTER_KEY),
    logLevel: read.LOG_LEVEL,
    responseValidation: read.VALIDATE_RESPONSES,
    rateLimitFactor: read.RATE_LIMIT_FACTOR,
    trustProxy: read.TRUST_PROXY,
    metricsPort: read.METRICS_PORT === 0 ? undefined : read.METRICS_PORT,
    metricsToken: read.METRICS_TOKEN === '' ? undefined : read.METRICS_TOKEN,
    background: read.BACKGROUND === 'on',
    webhookAllowLoopback: read.WEBHOOK_ALLOW_LOOPBACK === 'on',
    corsOrigins: read.CORS_ORIGINS,
    compressResponses: read.COMPRESS_RESPONSES === 'on',
    payments: paymentSettings(read),
    identityProvider: identityProvider(read),
    mail: mailSettings(read.SMTP_URL, read.SANDBOX_SMTP_URL, read.MAIL_FROM, publicUrl),
  };
}

/**
 * Reads the settings of a process that serves. The address it listens on does not tell who can reach it, because a proxy
 * can be in front of it, so there is no default for how links are paid.
 *
 * @throws Error like `readConfig`
 */
export function readServerConfig(environment: NodeJS.ProcessEnv): Config {
  const config = readConfig(environment);
  const { PUBLIC_URL = '', PAYMENT_PROCESSOR = '' } = environment;
  if (PUBLIC_URL === '' && PAYMENT_PROCESSOR === '')
    throw new Error(
      'Set PUBLIC_URL to the URL at which browsers reach this service, or PAYMENT_PROCESSOR to stripe, sandbox (tests only: no money moves) or none.',
    );
  return config;
}

/** The sandbox accepts test cards for real invoices, so it is only used where it is named. */
function paymentSettings(read: {
  PAYMENT_PROCESSOR: PaymentSettings['processor'] | 'none' | '';
  STRIPE_SECRET_KEY: string;
  STRIPE_WEBHOOK_SECRET: string;
}): PaymentSettings | undefined {
  const processor = read.PAYMENT_PROCESSOR;
  if (processor === 'none' || processor === '') return undefined;
  if (processor === 'sandbox') return { processor };
  const [secretKey, webhookSecret] = [read.STRIPE_SECRET_KEY, read.STRIPE_WEBHOOK_SECRET];
  // No message repeats the value: it is a secret, or nearly one.
  if (!/^(sk|rk)_/.test(secretKey))
    throw new Error('PAYMENT_PROCESSOR is stripe: set STRIPE_SECRET_KEY to a key that begins with sk_ or rk_.');
  if (!/^whsec_/.test(webhookSecret))
    throw new Error(
      'PAYMENT_PROCESSOR is stripe: set STRIPE_WEBHOOK_SECRET to the signing secret of the webhook endpoint, which begins with whsec_.',
    );
  return { processor, secretKey, webhookSecret };
}

function identityProvider(read: {
  OIDC_ISSUER: string;
  OIDC_CLIENT_ID: string;
  OIDC_CLIENT_SECRET: string;
  OIDC_SCOPE: string;
  OIDC_TENANT_CLAIM: string;
  OIDC_ROLES_CLAIM: string;
}): IdentityProviderSettings | undefined {
  if (read.OIDC_ISSUER === '') return undefined;
  if (read.OIDC_CLIENT_ID === '')
    throw new Error('OIDC_CLIENT_ID is missing. It is required with OIDC_ISSUER: the ID of this service there.');
  return {
    issuer: read.OIDC_ISSUER,
    clientId: read.OIDC_CLIENT_ID,
    clientSecret: read.OIDC_CLIENT_SECRET === '' ? undefined : read.OIDC_CLIENT_SECRET,
    scope: read.OIDC_SCOPE,
    tenantClaim: read.OIDC_TENANT_CLAIM,
    rolesClaim: read.OIDC_ROLES_CLAIM,
  };
}

function mailSettings(url: string, sandboxUrl: string, from: string, publicUrl: string): MailSettings | undefined {
  if (url === '' && sandboxUrl === '') return undefined;
  if (from === '')
    throw new Error('MAIL_FROM is missing. It is required with SMTP_URL: the address that mails are sent from.');
  return { url: url === '' ? undefined : url, sandboxUrl: sandboxUrl === '' ? undefined : sandboxUrl, from, publicUrl };
}

function s3Settings(bucket: string, region: string, endpoint: string): S3Settings | undefined {
  if (bucket !== '') return { bucket, region, endpoint: endpoint === '' ? undefined : endpoint };
  if (endpoint === '') return undefined;
  throw new Error(
    'S3_BUCKET is missing. It is required with S3_ENDPOINT: the bucket that stores the content of files.',
  );
}

function prepareDataDirectory(dataDir: string): void {
  checkDataDir(dataDir);
  try {
    ensurePrivateDirectory(dataDir);
    checkHoldsFiles(dataDir);
  } catch (error) {
    if (!(error instanceof UnusableDirectory)) throw error;
    throw new Error(`The data directory ${dataDir} cannot be used: ${error.message}. Set DATA_DIR to another one.`);
  }
}

/** The master key of the embedded database: created once and stored in the data directory, readable by its owner only. */
function keyBeside(databaseUrl: string | undefined, dataDir: string): string {
  if (databaseUrl !== undefined) {
    throw new Error(
      'MASTER_KEY is missing. It encrypts what must not be readable in the database. Generate one with: openssl rand -base64 32',
    );
  }
  return readSecretFile(join(dataDir, 'master.key'), () => `${randomBytes(32).toString('base64')}\n`);
}

/** @throws Error if a key has the wrong length. Node ignores characters that are not base64. */
function decodeMasterKeys(text: string): MasterKeys {
  const decoded = (part: string) => {
    const key = Buffer.from(part, 'base64');
    if (key.length === 32) return key;
    throw new Error(
      'The master key must be 32 bytes in base64, or several of them, separated by commas. Generate one with: openssl rand -base64 32',
    );
  };
  const [first = '', ...others] = text.split(',');
  return [decoded(first), ...others.map(decoded)];
}
