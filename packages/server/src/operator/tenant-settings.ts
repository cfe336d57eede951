import { sql } from 'kysely';
import { type OperatorSettings, parseSetting, readTenantSettings } from '../admission/tenant-settings.ts';
import { DatabaseError } from '../platform/store/errors.ts';
import { storeOfTenant } from './databases/index.ts';
import { noTenant, type Operator } from './operator.ts';

export interface SettingChange {
  readonly tenant: string;
  readonly setting: string;
  /** As written on the command line. */
  readonly value: string;
}

/** These commands need the database only. */
type SettingsOperator = { readonly service: Pick<Operator['service'], 'directory'> };

interface StoredTenant {
  readonly id: number;
  readonly currency: string;
  readonly timeZone: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/**
 * Changes one setting of a tenant. It takes effect within seconds in every process.
 *
 * @throws Error with a sentence if the tenant or the setting does not exist, or the value is invalid.
 */
export async function setTenantSetting(
  { service }: SettingsOperator,
  change: SettingChange,
): Promise<OperatorSettings> {
  const { currency, timeZone, ...others } = parseSetting(change.setting, change.value);
  const store = await storeOfTenant({ service }, change.tenant);
  return store.system(async (transaction) => {
    if (timeZone !== undefined) {
      // The database has its own list of time zones.
      await transaction.all(sql`select now() at time zone ${timeZone}`).catch((error) => {
        if (!(error instanceof DatabaseError) || error.sqlState !== '22023') throw error;
        throw new Error(`The database does not support the time zone ${timeZone}. Set another one.`);
      });
    }
    const stored = await transaction.first(sql<StoredTenant>`
      update tenant set currency = coalesce(${currency ?? null}, currency),
        time_zone = coalesce(${timeZone ?? null}, time_zone), settings = settings || ${JSON.stringify(others)}::jsonb
      where name = ${change.tenant} returning id, currency, time_zone as "timeZone", settings`);
    return settingsOf(stored, change.tenant);
  });
}

/** All settings of a tenant, including defaults. @throws Error with a sentence if the tenant does not exist. */
export async function showTenantSettings({ service }: SettingsOperator, tenant: string): Promise<OperatorSettings> {
  const store = await storeOfTenant({ service }, tenant);
  const stored = await store.system((transaction) =>
    transaction.first(sql<StoredTenant>`
      select id, currency, time_zone as "timeZone", settings from tenant where name = ${tenant}`),
  );
  return settingsOf(stored, tenant);
}

function settingsOf(stored: StoredTenant | undefined, name: string): OperatorSettings {
  if (stored === undefined) throw new Error(noTenant(name));
  const { currency, timeZone, settings } = stored;
  return { currency, timeZone, ...readTenantSettings(settings) };
}
