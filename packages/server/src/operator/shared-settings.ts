import { sql } from 'kysely';
import {
  isSharedSetting,
  readSharedSettings,
  type SharedValues,
  sharedSettings,
} from '../platform/process/shared-settings.ts';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import type { Operator } from './operator.ts';

export interface SharedSettingChange {
  readonly name: string;
  readonly value: string;
}

/** Changes a setting of all processes. @throws Error with a sentence */
export async function setSharedSetting(
  { service: { store } }: Operator,
  { name, value }: SharedSettingChange,
): Promise<SharedValues> {
  if (!isSharedSetting(name)) throw new Error(`The setting is one of ${Object.keys(sharedSettings).join(', ')}.`);
  const { pattern, values } = sharedSettings[name];
  if (!pattern.test(value)) throw new Error(`${name} must be ${values}.`);
  if (store.engine === 'pglite')
    throw new Error('The embedded database has one process: set it in the environment of that.');
  return store.system(async (transaction) => {
    const before = (await readSharedSettings(transaction))[name] ?? null;
    await transaction.all(sql`
      insert into shared_setting (name, value) values (${name}, ${value})
      on conflict (name) do update set value = excluded.value`);
    await recordOperatorAct(transaction, { operation: 'setting set', subject: name, details: { before, value } });
    return readSharedSettings(transaction);
  });
}

export function listSharedSettings({ service: { store } }: Operator): Promise<SharedValues> {
  return store.system(readSharedSettings);
}
