import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { Rejection } from '../../contract/rejection.ts';
import type { Lookup } from '../../entity/loaded-rows.ts';
import type { Plan } from '../../entity/plan.ts';
import type { PendingChange } from '../../entity/rules.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import type { CustomField } from './custom-field.ts';
import { identityOf } from './custom-values.ts';

const table = 'custom_record_value';

/** The key of a unique value: the columns of the table's primary key. */
interface ValueKey {
  readonly [column: string]: string;
  readonly type: string;
  readonly field: string;
  readonly digest: string;
}

/** The record with a unique value, by the value's key as JSON. */
const holders: Lookup<string> = {
  name: 'holders of unique values',
  async load(transaction, tenantId, keys) {
    const rows = await transaction.all<ValueKey & { id: string }>(sql`
      select v.type, v.field, v.digest, v.record_id as id
      from custom_record_value v
      join jsonb_to_recordset(${`[${keys.join()}]`}::jsonb) as wanted (type text, field text, digest text)
        using (type, field, digest)
      where v.tenant_id = ${tenantId}`);
    return new Map(rows.map(({ type, field, digest, id }) => [keyText({ type, field, digest }), id]));
  },
};

/**
 * Updates the table of unique values for a record: an active record holds the values of its unique fields, an inactive
 * one none. Two transactions that write the same value wait for each other at the table's primary key.
 *
 * @throws Rejection `DUPLICATE_REF` if another active record has a value.
 */
export function holdUniqueValues(
  plan: Plan,
  fields: readonly CustomField[],
  { entity, id, previous, values }: PendingChange<'CustomRecordRow'>,
): void {
  const unique = fields.filter((field) => field.unique && field.active);
  const before = previous?.active === true ? digestsOf(unique, previous.attributes) : new Map<string, string>();
  const after = values.active ? digestsOf(unique, values.attributes) : new Map<string, string>();
  plan.each(unique, ({ name }) => {
    const [released, taken] = [before.get(name), after.get(name)];
    if (released === taken) return;
    if (released !== undefined)
      plan.deletePlain({ entity, table, key: { type: entity.type, field: name, digest: released } });
    if (taken !== undefined) take(plan, { type: entity.type, field: name, digest: taken }, id, entity);
  });
}

function take(plan: Plan, key: ValueKey, id: string, entity: PendingChange<'CustomRecordRow'>['entity']): void {
  const planned = plan.plainRow(table, key);
  const holder = planned === undefined ? plan.lookup(holders, keyText(key)) : planned?.record_id;
  if (holder !== undefined && holder !== null && holder !== id) {
    const detail = `Another active ${key.type} already has this ${key.field}.`;
    throw new Rejection('DUPLICATE_REF', detail, `/${key.field}`);
  }
  plan.insertPlain({ entity, table, key, columns: { record_id: id } });
}

/** Deletes the values of fields that are no longer unique. */
export async function dropUniqueValues(unit: UnitOfWork, type: string, fields: readonly string[]): Promise<void> {
  if (fields.length === 0) return;
  await unit.transaction.all(sql`
    delete from custom_record_value where tenant_id = ${unit.tenantId} and type = ${type} and field = any(${fields})`);
}

function keyText({ type, field, digest }: ValueKey): string {
  return JSON.stringify({ type, field, digest });
}

function digestsOf(fields: readonly CustomField[], attributes: unknown): Map<string, string> {
  const values = new Map(Object.entries((attributes ?? {}) as object));
  const digests = new Map<string, string>();
  for (const field of fields) {
    const value: unknown = values.get(field.name) ?? null;
    if (value === null) continue;
    digests.set(field.name, createHash('sha256').update(identityOf(field, value)).digest('base64url'));
  }
  return digests;
}
