import { sql } from 'kysely';
import { type OperatorSettings, parseSetting, readTenantSettings } from '../admission/tenant-settings.ts';
import { DatabaseError } from '../platform/store/errors.ts';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import type { Transaction } from '../platform/store/session.ts';
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
 * Changes one setting of a tenant. It takes effect at once in this process, and within seconds in every other one.
 *
 * @throws Error with a sentence if the tenant or the setting does not exist, or the value is invalid.
 */
export async function setTenantSetting(
  { service }: SettingsOperator,
  change: SettingChange,
): Promise<OperatorSettings> {
  const { currency, timeZone, ...others } = parseSetting(change.setting, change.value);
  const store = await storeOfTenant({ service }, change.tenant);
  const changed = await store.system(async (transaction) => {
    if (timeZone !== undefined) {
      // The database has its own list of time zones.
      await transaction.all(sql`select now() at time zone ${timeZone}`).catch((error) => {
        if (!(error instanceof DatabaseError) || error.sqlState !== '22023') throw error;
        throw new Error(`The database does not support the time zone ${timeZone}. Set another one.`);
      });
    }
    const before = await storedTenant(transaction, change.tenant);
    const stored = await transaction.first(sql<StoredTenant>`
      update tenant set currency = coalesce(${currency ?? null}, currency),
        time_zone = coalesce(${timeZone ?? null}, time_zone), settings = settings || ${JSON.stringify(others)}::jsonb
      where name = ${change.tenant} returning id, currency, time_zone as "timeZone", settings`);
    const settings = settingsOf(stored, change.tenant);
    const details = {
      setting: change.setting,
      before: Reflect.get(settingsOf(before, change.tenant), change.setting),
      value: Reflect.get(settings, change.setting),
    };
    await recordOperatorAct(transaction, { operation: 'tenant set', subject: change.tenant, details });
    return settings;
  });
  service.directory.forget(change.tenant);
  return changed;
}

/** All settings of a tenant, including defaults. @throws Error with a sentence if the tenant does not exist. */
export async function showTenantSettings({ service }: SettingsOperator, tenant: string): Promise<OperatorSettings> {
  const store = await storeOfTenant({ service }, tenant);
  return settingsOf(await store.system((transaction) => storedTenant(transaction, tenant)), tenant);
}

function storedTenant(transaction: Transaction, name: string): Promise<StoredTenant | undefined> {
  return transaction.first(sql<StoredTenant>`
    select id, currency, time_zone as "timeZone", settings from tenant where name = ${name}`);
}

function settingsOf(stored: StoredTenant | undefined, name: string): OperatorSettings {
  if (stored === undefined) throw new Error(noTenant(name));
  const { currency, timeZone, settings } = stored;
  return { currency, timeZone, ...readTenantSettings(settings) };
}
