import { sql } from 'kysely';
import { pasteable } from '../operator-command.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Config } from './config.ts';

/** Settings that must be the same in all processes of a database, with their values and what a process has that names none. */
export const sharedSettings = {
  AUDIT_LOG_YEARS: {
    of: ({ auditYears }) => auditYears?.toString(),
    pattern: /^(0|[1-9]\d{0,3})$/,
    values: 'a whole number of years, or 0 to keep all',
  },
  PUBLIC_URL: {
    of: ({ isPublicUrlSet, publicUrl }) => (isPublicUrlSet ? publicUrl : undefined),
    pattern: /^https?:\/\/[^\s/]\S*[^\s/]$/,
    values: 'a URL without a slash at its end',
  },
  PAYMENT_PROCESSOR: {
    of: ({ payments }) => payments?.processor ?? 'none',
    pattern: /^(stripe|sandbox|none)$/,
    values: 'stripe, sandbox or none',
  },
  S3_BUCKET: {
    of: ({ s3 }) => s3?.bucket ?? 'none',
    pattern: /^\S+$/,
    values: 'the name of a bucket, or none for DATA_DIR',
  },
} as const satisfies Record<
  string,
  { of(config: Config): string | undefined; readonly pattern: RegExp; readonly values: string }
>;

export type SharedSetting = keyof typeof sharedSettings;
export type SharedValues = Readonly<Partial<Record<SharedSetting, string>>>;

export function isSharedSetting(name: string): name is SharedSetting {
  return Object.hasOwn(sharedSettings, name);
}

/**
 * Compares the settings of this process with those of the database. What no process has set so far is stored.
 *
 * @returns the settings with those that only the database has
 * @throws Error with a sentence if one differs
 */
export async function withSharedSettings(config: Config, store: Store): Promise<Config> {
  const own = Object.entries(sharedSettings).flatMap(([name, { of }]) => {
    const value = of(config);
    return value === undefined ? [] : [{ name, value }];
  });
  const stored = await store.system(async (transaction) => {
    // The embedded database has no other process.
    const conflict =
      store.engine === 'pglite' ? sql`(name) do update set value = excluded.value` : sql`(name) do nothing`;
    await transaction.all(sql`
      insert into shared_setting (name, value) select name, value
      from jsonb_to_recordset(${JSON.stringify(own)}::jsonb) given (name text, value text) order by name on conflict ${conflict}`);
    return readSharedSettings(transaction);
  });
  for (const { name, value } of own) {
    const shared = isSharedSetting(name) ? stored[name] : undefined;
    if (shared === undefined || shared === value) continue;
    const change = pasteable(`operator setting set ${name} '${value}'`);
    throw new Error(
      `${name} is ${value} here, and ${shared} in the database, for all processes. Set it to ${shared}, or run: ${change}`,
    );
  }
  return store.engine === 'pglite' ? config : { ...config, publicUrl: stored.PUBLIC_URL ?? config.publicUrl };
}

export async function readSharedSettings(transaction: Transaction): Promise<SharedValues> {
  const rows = await transaction.all<{ name: string; value: string }>(
    sql`select name, value from shared_setting order by name`,
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

/** How long the audit log is kept if nobody has set it, in years. */
const standardAuditYears = '7';

/** How long rows of the audit log are kept, as an interval of SQL; null keeps all. */
export async function keptAuditLog(home: Store): Promise<string | null> {
  const { AUDIT_LOG_YEARS: years = standardAuditYears } = await home.system(readSharedSettings);
  return years === '0' ? null : `${years} years`;
}
