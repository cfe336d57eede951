import type { Field } from '../contract/fields.ts';
import { zero } from '../platform/decimal.ts';
import { writtenMembers } from './embed.ts';
import type { AnyEntity } from './model.ts';
import type { AnyInput } from './row.ts';
import { perEntity } from './select.ts';
import { normalized } from './values.ts';

/**
 * Converts provided fields to the form of rows. Undefined values are omitted, and owned rows have all of their members.
 */
export function readInput(entity: AnyEntity, input: AnyInput): AnyInput {
  const values = normalized(inputFields(entity), withoutUndefined(input));
  if (entity.owned.size === 0) return values;
  const completed: Record<string, unknown> = { ...values };
  for (const [field, owned] of entity.owned) {
    const rows = completed[field.name];
    if (!Array.isArray(rows)) continue;
    const empty = emptyValues(writtenMembers(owned, field));
    completed[field.name] = rows.map((row) => ({ ...empty, ...withoutUndefined(row) }));
  }
  return completed;
}

const inputFields = perEntity(({ fields }) => [...fields.values()]);

function withoutUndefined(object: AnyInput): AnyInput {
  const entries = Object.entries(object);
  const provided = entries.filter(([, value]) => value !== undefined);
  return provided.length === entries.length ? object : Object.fromEntries(provided);
}

/** Returns the provided fields that responses include: rules store the others themselves. */
export function shownAmong(entity: AnyEntity, provided: AnyInput): AnyInput {
  const unseen = neverShown(entity);
  if (unseen.size === 0) return provided;
  return Object.fromEntries(Object.entries(provided).filter(([name]) => !unseen.has(name)));
}

const neverShown = perEntity(
  ({ fields }) => new Set([...fields.values()].flatMap(({ name, writeOnly }) => (writeOnly ? [name] : []))),
);

/**
 * The default values of a new row: defaults of the contract, the initial state, zero for aggregates, and otherwise null.
 */
export const emptyRow = perEntity((entity): AnyInput => {
  const { machine, shown } = entity;
  const kept = shown.filter((field) => field.readOnly && entity.isStored(field));
  const state = machine === undefined ? {} : { [machine.field]: machine.initial[0] };
  return { ...Object.fromEntries(kept.map((field) => [field.name, startOf(field)])), ...state, ...emptyValues(shown) };
});

function emptyValues(fields: readonly Field[]): AnyInput {
  const values = fields.flatMap(({ name, initial, nullable }) => {
    if (initial !== undefined) return [[name, initial] as const];
    return nullable ? [[name, null] as const] : [];
  });
  return normalized(fields, Object.fromEntries(values));
}

function startOf({ kind }: Field): unknown {
  if (kind === 'decimal') return zero;
  return kind === 'integer' ? 0 : undefined;
}
