import { type RawBuilder, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { type Field, resolved } from '../contract/fields.ts';
import { type Row, selection } from '../query/read.ts';
import { type Attributes, readAttributes } from './attributes.ts';
import { refusedBy } from './constraints.ts';
import type { Entity } from './entity.ts';
import type { Draft } from './rules.ts';
import { sameValue, type UnitOfWork } from './unit-of-work.ts';
import { Violation } from './violation.ts';

/** What a write came to. */
export interface Written {
  readonly id: string;
  readonly systemRef: string;
  readonly status: 'CREATED' | 'UPDATED' | 'UNCHANGED' | 'DELETED';
}

/** The keys by which a caller finds a row. */
export type RowKey = { readonly id: string } | { readonly systemRef: string } | { readonly pmsRef: string };

/** The row with the key, locked until the transaction ends; also an inactive one. */
export async function findForUpdate(unit: UnitOfWork, entity: Entity, key: RowKey): Promise<Row | undefined> {
  const condition =
    'id' in key
      ? sql`e.id = ${key.id}`
      : 'systemRef' in key
        ? sql`e.system_ref = ${key.systemRef}`
        : sql`e.pms_ref = ${key.pmsRef}`;
  const [row] = await lockAndRead(unit, entity, condition);
  return row;
}

/**
 * Locks rows in one order, for a call that changes several: two such calls wait for each other instead of colliding. The
 * lock lets others go on to refer to the rows, which stronger ones do not.
 */
export async function lockInOrder(unit: UnitOfWork, entity: Entity, condition: RawBuilder<unknown>): Promise<void> {
  await unit.transaction.all(
    sql`select 1 from ${sql.table(entity.table)} e where ${entity.within('e', unit.tenantId)} and ${condition}
      order by e.id for no key update`,
  );
}

/**
 * A statement that has to wait for a lock reads the row anew when it gets it, but not what it computes from other rows:
 * these it would show as they were before the wait. Where there is such a thing, the lock is taken first.
 */
async function lockAndRead(unit: UnitOfWork, entity: Entity, condition: RawBuilder<unknown>): Promise<Row[]> {
  if (entity.shown.some((field) => !entity.isStored(field))) await lockInOrder(unit, entity, condition);
  return unit.transaction.all<Row>(
    sql`${selection(entity)} where ${entity.within('e', unit.tenantId)} and ${condition}
      order by e.id for no key update of e`,
  );
}

/**
 * The rows that a bulk call names by `systemRef`, locked until the transaction ends; also inactive ones. They are locked in
 * one order, so that two calls with the same rows wait for each other instead of colliding.
 */
export function findAllForUpdate(unit: UnitOfWork, entity: Entity, systemRefs: readonly string[]): Promise<Row[]> {
  return lockAndRead(unit, entity, sql`e.system_ref = any(${systemRefs})`);
}

/**
 * Makes a row.
 *
 * @param systemRef the caller's key; without one, the row's id stands there.
 * @param computed fields that callers do not write themselves, where the operation knows them.
 * @throws Violation for attributes that break the contract, the entity's rules, or what must be unique.
 */
export async function create(
  unit: UnitOfWork,
  entity: Entity,
  attributes: Attributes,
  systemRef?: string,
  computed: Attributes = {},
): Promise<Written> {
  const given = await readAttributes(unit, entity, attributes);
  const id = uuidv7();
  const values: Record<string, unknown> = { ...computed };
  for (const field of writableFields(entity))
    values[field.name] = given[field.name] ?? field.initial ?? (field.nullable ? null : undefined);
  const draft: Draft = { entity, id, previous: undefined, values, hidden: {}, given };
  await entity.rules.complete?.(unit, draft);
  for (const field of writableFields(entity)) {
    if (draft.values[field.name] === undefined)
      throw new Violation('VALIDATION_ERROR', 'It is missing.', `/${field.name}`);
  }
  const sysRefs =
    systemRef === undefined ? [] : [{ system: unit.origin.caller?.apiUserName ?? 'system', ref: systemRef }];
  const shownIn = await lockAll(unit, draft);
  const columns = {
    tenant_id: unit.tenantId,
    id,
    system_ref: systemRef ?? id,
    sys_refs: JSON.stringify(sysRefs),
    created_at: unit.now,
    updated_at: unit.now,
    ...storedColumns(draft, draft.values),
  };
  await refusedBy(entity, () =>
    unit.transaction.all(sql`
      insert into ${sql.table(entity.table)} (${sql.join(Object.keys(columns).map((name) => sql.ref(name)))})
      values (${sql.join(Object.values(columns))})`),
  );
  for (const { system, ref } of sysRefs) await claimSystemRef(unit, entity, id, system, ref);
  unit.track(entity, id, 'CREATE', undefined);
  await touchAll(unit, shownIn);
  await entity.rules.follow?.(unit, draft, true);
  return { id, systemRef: systemRef ?? id, status: 'CREATED' };
}

/**
 * Changes a row: what the attributes leave out keeps its value. An inactive row becomes active again, unless `computed`
 * says otherwise.
 *
 * @param computed fields that callers do not write themselves, where the operation knows them.
 * @throws Violation as `create` does.
 */
export async function update(
  unit: UnitOfWork,
  entity: Entity,
  previous: Row,
  attributes: Attributes,
  computed: Attributes = {},
): Promise<Written> {
  const given = await readAttributes(unit, entity, attributes, previous);
  const values: Record<string, unknown> = { ...computed };
  for (const field of writableFields(entity))
    values[field.name] = field.name in given ? given[field.name] : previous[field.name];
  const draft: Draft = { entity, id: previous.id, previous, values, hidden: {}, given };
  await entity.rules.complete?.(unit, draft);
  const changed = Object.fromEntries(
    Object.entries(draft.values).filter(
      ([name, value]) => !entity.fields.get(name)?.writeOnly && !sameValue(value, previous[name]),
    ),
  );
  const reviving = previous.active !== true && computed.active !== false;
  const result = { id: previous.id, systemRef: String(previous.systemRef) };
  if (Object.keys(changed).length === 0 && Object.keys(draft.hidden).length === 0 && !reviving) {
    return { ...result, status: 'UNCHANGED' };
  }
  const shownIn = await lockAll(unit, draft);
  await store(unit, draft, { ...storedColumns(draft, changed), ...(reviving ? { active: true } : {}) });
  unit.track(entity, previous.id, 'UPDATE', previous);
  await touchAll(unit, shownIn);
  await entity.rules.follow?.(unit, draft, true);
  return { ...result, status: 'UPDATED' };
}

/**
 * Deactivates a row. It stays readable.
 *
 * @throws Violation `INVALID_STATE` where others still need it.
 */
export async function remove(unit: UnitOfWork, entity: Entity, previous: Row): Promise<Written> {
  const draft: Draft = { entity, id: previous.id, previous, values: { ...previous }, hidden: {}, given: {} };
  await entity.rules.beforeRemoval?.(unit, draft, previous);
  const shownIn = await lockAll(unit, draft);
  await store(unit, draft, { ...draft.hidden, active: false });
  unit.track(entity, previous.id, 'DELETE', previous);
  await touchAll(unit, shownIn);
  await entity.rules.follow?.(unit, draft, false);
  return { id: previous.id, systemRef: String(previous.systemRef), status: 'DELETED' };
}

/**
 * Sets what the service computes on a row, for the rules of another entity. It is a change of that row like any other.
 */
export async function derive(unit: UnitOfWork, entity: Entity, id: string, derived: Attributes): Promise<void> {
  const previous = await findForUpdate(unit, entity, { id });
  if (previous === undefined) throw new Error(`There is no ${entity.type} ${id} to derive from.`);
  const changed = Object.fromEntries(
    Object.entries(derived).filter(([name, value]) => !sameValue(value, previous[name])),
  );
  if (Object.keys(changed).length === 0) return;
  const draft: Draft = { entity, id, previous, values: changed, hidden: {}, given: {} };
  await store(unit, draft, storedColumns(draft, changed));
  unit.track(entity, id, 'UPDATE', previous);
}

type Affected = readonly { readonly entity: Entity; readonly row: Row }[];

/** The rows whose answers show this one, as they are before it changes. */
async function lockAll(unit: UnitOfWork, draft: Draft): Promise<Affected> {
  const affected = [];
  for (const { entity, id } of draft.entity.rules.shownIn?.(draft) ?? []) {
    const row = await findForUpdate(unit, entity, { id });
    if (row !== undefined) affected.push({ entity, row });
  }
  return affected;
}

/** Gives rows a new version, because what they show of another row has changed. */
async function touchAll(unit: UnitOfWork, affected: Affected): Promise<void> {
  for (const { entity, row } of affected) {
    const draft: Draft = { entity, id: row.id, previous: row, values: {}, hidden: {}, given: {} };
    await store(unit, draft, {});
    unit.track(entity, row.id, 'UPDATE', row);
  }
}

function writableFields(entity: Entity): Field[] {
  return [...entity.fields.values()].filter((field) => !field.readOnly && !field.writeOnly);
}

async function store(unit: UnitOfWork, draft: Draft, columns: Readonly<Record<string, unknown>>): Promise<void> {
  const { entity, id } = draft;
  const assignments: RawBuilder<unknown>[] = Object.entries({ ...columns, updated_at: unit.now }).map(
    ([name, value]) => sql`${sql.ref(name)} = ${value}`,
  );
  // What a transaction does to a row is one change, however many steps it takes.
  const step = unit.hasChanged(entity, id) ? 0 : 1;
  await refusedBy(entity, () =>
    unit.transaction.all(sql`
      update ${sql.table(entity.table)} set ${sql.join(assignments)}, version = version + ${step}
      where tenant_id = ${unit.tenantId} and id = ${id}`),
  );
}

/** Values by field as values by column, as the driver takes them. */
function storedColumns(draft: Draft, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const columns: Record<string, unknown> = { ...draft.hidden };
  for (const [name, value] of Object.entries(values)) {
    const field = draft.entity.fields.get(name);
    if (field === undefined || !draft.entity.isStored(field)) continue;
    columns[field.column] = isStructure(field) && value !== null ? JSON.stringify(value) : value;
  }
  return columns;
}

/** Lists of scalars are arrays in the database; everything deeper is JSON. */
function isStructure(field: Field): boolean {
  if (field.kind === 'object') return true;
  return field.kind === 'list' && field.schema.items !== undefined && resolved(field.schema.items).type === 'object';
}

async function claimSystemRef(
  unit: UnitOfWork,
  entity: Entity,
  id: string,
  system: string,
  ref: string,
): Promise<void> {
  await refusedBy(entity, () =>
    unit.transaction.all(sql`
      insert into entity_ref (tenant_id, entity_type, system, ref, entity_id)
      values (${unit.tenantId}, ${entity.type}, ${system}, ${ref}, ${id})`),
  );
}
