import { sql } from 'kysely';
import { Rejection } from '../contract/rejection.ts';
import { DatabaseError } from '../platform/store/errors.ts';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import type { Transaction } from '../platform/store/session.ts';
import type { Store } from '../platform/store/store.ts';
import { type OperatorSettings, parseSetting, readTenantSettings } from './tenant-settings.ts';

export interface SettingChange {
  readonly tenant: string;
  readonly setting: string;
  /** As it is entered. */
  readonly value: string;
  /** The administrator who changes it; undefined for the operator. */
  readonly by?: { readonly apiUserId: string; readonly actor: string; readonly requestId: string };
}

/**
 * Changes one setting in the database of its tenant. Afterwards, the directory must forget the tenant.
 *
 * @param check throws if the tenant must not have such settings
 * @throws Rejection `VALIDATION_ERROR` if the setting does not exist or the value is invalid; Error if the tenant does not exist.
 */
export async function changeTenantSetting(
  store: Store,
  { tenant, setting, value, by }: SettingChange,
  check: (settings: OperatorSettings) => void = () => undefined,
): Promise<OperatorSettings> {
  const { currency, timeZone, ...others } = parseSetting(setting, value);
  return store.system(async (transaction) => {
    if (timeZone !== undefined) {
      // The database has its own list of time zones.
      await transaction.all(sql`select now() at time zone ${timeZone}`).catch((error) => {
        if (!(error instanceof DatabaseError) || error.sqlState !== '22023') throw error;
        const detail = `The database does not support the time zone ${timeZone}. Set another one.`;
        throw new Rejection('VALIDATION_ERROR', detail);
      });
    }
    const before = await settingsOfTenant(transaction, tenant);
    await transaction.all(sql`
      update tenant set currency = coalesce(${currency ?? null}, currency),
        time_zone = coalesce(${timeZone ?? null}, time_zone), settings = settings || ${JSON.stringify(others)}::jsonb
      where name = ${tenant}`);
    const settings = await settingsOfTenant(transaction, tenant);
    check(settings);
    const values = { before: Reflect.get(before, setting), value: Reflect.get(settings, setting) };
    const details = { setting, ...values, ...(by !== undefined && { by }) };
    await recordOperatorAct(transaction, { operation: 'tenant set', subject: tenant, details });
    return settings;
  });
}

/** All settings of a tenant, including defaults. @throws Error with a sentence if the tenant does not exist. */
export async function settingsOfTenant(transaction: Transaction, name: string): Promise<OperatorSettings> {
  const stored = await transaction.first<Pick<OperatorSettings, 'currency' | 'timeZone'> & { settings: unknown }>(sql`
    select currency, time_zone as "timeZone", settings from tenant where name = ${name}`);
  if (stored === undefined) throw new Error(`There is no tenant ${name}.`);
  const { currency, timeZone, settings } = stored;
  return { currency, timeZone, ...readTenantSettings(settings) };
}
