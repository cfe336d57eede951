import { changeTenantSetting, type SettingChange, settingsOfTenant } from '../admission/change-setting.ts';
import type { OperatorSettings } from '../admission/tenant-settings.ts';
import { storeOfTenant } from './databases/index.ts';
import type { OperatorOf } from './operator.ts';

/**
 * Changes one setting of a tenant. It takes effect at once in this process, and within seconds in every other one.
 *
 * @throws Error with a sentence if the tenant or the setting does not exist, or the value is invalid.
 */
export async function setTenantSetting(
  { service }: OperatorOf<'directory'>,
  change: SettingChange,
): Promise<OperatorSettings> {
  const store = await storeOfTenant({ service }, change.tenant);
  const changed = await changeTenantSetting(store, change);
  service.directory.forget(change.tenant);
  return changed;
}

/** All settings of a tenant, including defaults. @throws Error with a sentence if the tenant does not exist. */
export async function showTenantSettings(
  { service }: OperatorOf<'directory'>,
  tenant: string,
): Promise<OperatorSettings> {
  const store = await storeOfTenant({ service }, tenant);
  return store.system((transaction) => settingsOfTenant(transaction, tenant));
}
