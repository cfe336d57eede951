import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bool, cleanEnv, host, makeValidator, num, port, str } from 'envalid';

export interface Config {
  readonly host: string;
  readonly port: number;
  /** PostgreSQL; without it the embedded database in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly poolSize: number;
  readonly masterKey: Buffer;
  readonly logLevel: string;
  /** The share of answers that are validated before they are sent, from 0 to 1. Problems are always validated. */
  readonly answerValidation: number;
  /** What the contract's rate limits are multiplied with; 0 switches them off. */
  readonly rateLimitFactor: number;
  /** Whether the address of the caller is read from `X-Forwarded-For`. Only behind a proxy that sets it. */
  readonly trustProxy: boolean;
}

const share = makeValidator<number>((text) => {
  const value = Number(text);
  if (!(value >= 0 && value <= 1)) throw new Error('a number from 0 to 1');
  return value;
});

/**
 * The settings of the process, from environment variables.
 *
 * @throws Error that names each variable that is wrong, and what it should be.
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const faults: string[] = [];
  const read = cleanEnv(
    environment,
    {
      HOST: host({ default: '127.0.0.1' }),
      PORT: port({ default: 3000 }),
      DATABASE_URL: str({ default: '' }),
      DATA_DIR: str({ default: 'data' }),
      POOL_SIZE: num({ default: 10 }),
      MASTER_KEY: str({ default: '' }),
      LOG_LEVEL: str({ choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], default: 'info' }),
      VALIDATE_ANSWERS: share({ default: 1 }),
      RATE_LIMIT_FACTOR: num({ default: 1 }),
      TRUST_PROXY: bool({ default: false }),
    },
    {
      reporter: ({ errors }) => {
        for (const [name, error] of Object.entries(errors)) faults.push(`${name}: ${error?.message ?? 'is wrong'}`);
      },
    },
  );
  if (faults.length > 0) throw new Error(`The environment is wrong.\n  ${faults.join('\n  ')}`);
  const databaseUrl = read.DATABASE_URL === '' ? undefined : read.DATABASE_URL;
  const dataDir = resolve(read.DATA_DIR);
  return {
    host: read.HOST,
    port: read.PORT,
    databaseUrl,
    dataDir,
    poolSize: read.POOL_SIZE,
    masterKey: read.MASTER_KEY === '' ? keyBeside(databaseUrl, dataDir) : Buffer.from(read.MASTER_KEY, 'base64'),
    logLevel: read.LOG_LEVEL,
    answerValidation: read.VALIDATE_ANSWERS,
    rateLimitFactor: read.RATE_LIMIT_FACTOR,
    trustProxy: read.TRUST_PROXY,
  };
}

/** On the embedded database, a key that is made once and kept beside the data, readable by its owner only. */
function keyBeside(databaseUrl: string | undefined, dataDir: string): Buffer {
  if (databaseUrl !== undefined) {
    throw new Error(
      'MASTER_KEY is missing. It encrypts what must not be readable in the database. Make one with: openssl rand -base64 32',
    );
  }
  const file = join(dataDir, 'master.key');
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return Buffer.from(readFileSync(file, 'utf8'), 'base64');
}
