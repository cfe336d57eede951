import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Draft } from '../../entity/rules.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { Violation } from '../../entity/violation.ts';
import type { CustomField } from './custom-field.ts';
import { identityOf } from './custom-values.ts';

/**
 * Keeps the table of unique values in step with a record that was stored: an active record holds the values of its unique
 * fields, an inactive one none. Two transactions that want the same value wait for each other at the table's key.
 *
 * @throws Violation `DUPLICATE_REF` where another active record holds a value.
 */
export async function holdUniqueValues(
  unit: UnitOfWork,
  fields: readonly CustomField[],
  { entity, id, previous, values }: Draft,
  active: boolean,
): Promise<void> {
  const unique = fields.filter((field) => field.unique && field.active);
  if (unique.length === 0) return;
  const before = previous?.active === true ? digestsOf(unique, previous.attributes) : new Map<string, string>();
  const after = active ? digestsOf(unique, values.attributes) : new Map<string, string>();
  const given = [...before.keys()].filter((name) => before.get(name) !== after.get(name));
  const taken = [...after.keys()].filter((name) => before.get(name) !== after.get(name));
  if (given.length > 0) {
    await unit.transaction.all(sql`
      delete from custom_record_value where tenant_id = ${unit.tenantId} and record_id = ${id} and field = any(${given})`);
  }
  if (taken.length === 0) return;
  const wanted = taken.map((field) => ({ field, digest: after.get(field) }));
  const held = await unit.transaction.all<{ field: string }>(sql`
    insert into custom_record_value (tenant_id, type, field, digest, record_id)
    select ${unit.tenantId}, ${entity.type}, field, digest, ${id}
    from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as wanted (field text, digest text)
    order by field
    on conflict do nothing returning field`);
  const refused = taken.find((name) => !held.some(({ field }) => field === name));
  if (refused === undefined) return;
  throw new Violation('DUPLICATE_REF', `Another active ${entity.type} has this ${refused} already.`, `/${refused}`);
}

/** Forgets the values of fields that are unique no longer. */
export async function dropUniqueValues(unit: UnitOfWork, type: string, fields: readonly string[]): Promise<void> {
  if (fields.length === 0) return;
  await unit.transaction.all(sql`
    delete from custom_record_value where tenant_id = ${unit.tenantId} and type = ${type} and field = any(${fields})`);
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
