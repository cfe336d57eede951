import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { schemaOf } from '../../contract/contract.ts';
import { invalid } from '../../contract/problem.ts';
import { type ItemRejection, Rejection } from '../../contract/rejection.ts';
import { nearest } from '../../contract/wording.ts';
import { readAttributes } from '../../entity/attributes.ts';
import type { Context } from '../../entity/context.ts';
import { visibleToWriter } from '../../entity/field-access.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import { checkVersion } from '../../entity/lock-version.ts';
import type { AnyWritten, Plan } from '../../entity/plan.ts';
import type { AnyStoredRow } from '../../entity/row.ts';
import type { ItemOutcome, UnitOfWork } from '../../entity/unit-of-work.ts';
import { matchedVersion } from '../../query/entity-tag.ts';
import { importRow } from './import-row.ts';
import { importedContents, repeatedContents, storeContents } from './imported-content.ts';
import { itemErrorOf } from './item-error.ts';
import { type RecordItem, withOwnKeys } from './own-keys.ts';
import { type ItemSchema, readItems } from './read-items.ts';
import type { RecordOperation, RecordType } from './record-type.ts';
import { schemaUrls, type TypeExtension, typesWith } from './standard-types.ts';

type WriteItem = components['schemas']['RecordWriteItem'];
type WriteResult = components['schemas']['RecordWriteResult'];

/** Finds the types that the items of a request name; unknown types are missing in the result. */
type FindTypes = (unit: UnitOfWork, names: readonly string[]) => Promise<ReadonlyMap<string, RecordType>>;

/** Processes one item of a request for an existing or a new row, instead of an upsert by attributes. */
type WriteItemOf = (plan: Plan, type: RecordType, item: RecordItem) => AnyWritten;

/** How the records of a request are written. */
interface RecordsWrite {
  readonly schema: ItemSchema;
  readonly operation: RecordOperation;
  readonly findTypes: FindTypes;
  /** Processes one item; defaults to the processing of records. */
  readonly write?: WriteItemOf;
  /** The index of the first record, if earlier ones are written before. */
  readonly first?: number;
}

/** Writes the records of a request in their order, in one transaction. One that fails changes nothing and does not affect others. */
export function writeRecords(
  context: Context,
  how: RecordsWrite,
  items: readonly RecordItem[],
): Promise<{ status: 200; body: WriteResult }> {
  return context.write(async (unit) => ({ status: 200, body: await writeRecordsIn(unit, context, how, items) }));
}

/** Writes records like `writeRecords`, in a transaction with other changes. */
export async function writeRecordsIn(
  unit: UnitOfWork,
  context: Pick<Context, 'holds' | 'ifMatch'>,
  {
    schema,
    operation,
    findTypes,
    first = 0,
    write = (plan, type, item) => writeRecord(plan, type, operation, item),
  }: RecordsWrite,
  items: readonly RecordItem[],
): Promise<WriteResult> {
  const read = readItems(schema, items);
  const names = items.map(namesOf);
  const types = await findTypes(unit, [...new Set(names.flatMap(({ type }) => type ?? []))]);
  const mustMatch = context.ifMatch === undefined ? undefined : await matchOf(unit, context, types, names);
  const imported = importedContents(read, types);
  const repeated = await repeatedContents(unit, imported);
  const outcomes = await unit.items(read, (plan, one, index) =>
    plan.at(`/records/${first + index}`, () => {
      if ('rejection' in one) throw one.rejection;
      const type = typeFor(plan, types.get(one.item.type), operation, one.item);
      mustMatch?.(plan);
      checkItemVersion(plan, type, one.item);
      const { item } = one;
      const writeItem = (of: RecordItem) => write(plan, type, of);
      if (item.source === undefined && item.instants !== undefined)
        throw invalidField('instants', 'instants are of another system: send them with the source IMPORT.');
      if (item.source === undefined) return { type, written: writeItem(item) };
      return { type, written: importRow(plan, type, item, repeated.has(index), writeItem) };
    }),
  );
  await storeContents(
    unit,
    [...imported].flatMap(([index, content]) =>
      repeated.has(index) || 'rejection' in (outcomes[index] ?? {}) ? [] : [content],
    ),
  );
  const stored = await storedRows(unit, outcomes);
  const known = await idsOfFailed(context, unit, names, outcomes, types);
  const records = outcomes.map((outcome, position): WriteItem => {
    const index = first + position;
    if ('rejection' in outcome)
      return failedItem(index, names[position], known.get(position) ?? null, outcome.rejection);
    const { type, written } = outcome.result;
    const row = stored.get(written.row.id);
    if (row === undefined) throw new Error(`A ${type.name} was written but is not stored.`);
    return writtenItem(index, type, written.status, visibleToWriter(context.holds, type.entity, row));
  });
  return { summary: summaryOf(records), records };
}

/**
 * Returns the check that `If-Match` has the tag of the only record of a call. It throws `PRECONDITION_FAILED`, after the roles were
 * checked, so that it does not reveal which rows exist.
 *
 * @throws Rejection if there are several records.
 */
async function matchOf(
  unit: UnitOfWork,
  context: Pick<Context, 'holds' | 'ifMatch'>,
  types: ReadonlyMap<string, RecordType>,
  [name = nameless, ...others]: readonly ItemNames[],
): Promise<(plan: Plan) => void> {
  if (others.length > 0) {
    const detail = 'If-Match holds for a call of one item. Send ifVersion with each of several.';
    throw invalid('/If-Match', 'NOT_SUPPORTED', detail, 'header');
  }
  const { systemRef } = name;
  const entity = types.get(name.type ?? '')?.entity;
  const id =
    entity === undefined || systemRef === null
      ? undefined
      : await unit.plan((plan) => plan.untyped.find(entity, 'systemRef', systemRef)?.id);
  const row = entity === undefined || id === undefined ? undefined : (await unit.stored(entity, [id])).get(id);
  return (plan) => {
    if (entity === undefined || row === undefined)
      throw new Rejection('PRECONDITION_FAILED', 'No row exists that If-Match could match.');
    const version = matchedVersion(context, entity, row);
    checkVersion(version, plan.untyped.findForUpdate(entity, 'systemRef', row.systemRef)?.version ?? 0);
  };
}

/** @throws Rejection `STALE_VERSION`, or `RECORD_NOT_FOUND` if there is no row. */
function checkItemVersion(plan: Plan, { entity, name }: RecordType, { systemRef, ifVersion }: RecordItem): void {
  if (ifVersion === undefined) return;
  const row = systemRef === undefined ? undefined : plan.untyped.findForUpdate(entity, 'systemRef', systemRef);
  if (row === undefined)
    throw new Rejection('RECORD_NOT_FOUND', `No ${name} with this systemRef exists.`, '/systemRef');
  if (row.version !== ifVersion)
    throw new Rejection(
      'STALE_VERSION',
      `The row has changed; its version is now ${row.version}. Read it again before you update it.`,
      '/ifVersion',
    );
}

/** The type and the key that an item names, so that its result can repeat them. */
interface ItemNames {
  readonly type: string | null;
  readonly systemRef: string | null;
}

const isTypeName = new RegExp(schemaOf('TypeName').pattern ?? '', 'u');

/** Returns what an item names, even if it is invalid. */
function namesOf(item: unknown): ItemNames {
  const { type, systemRef } =
    typeof item === 'object' && item !== null ? { type: null, systemRef: null, ...item } : nameless;
  return {
    type: typeof type === 'string' && isTypeName.test(type) ? type : null,
    systemRef: typeof systemRef === 'string' && systemRef !== '' && systemRef.length <= maxRefLength ? systemRef : null,
  };
}

const nameless: ItemNames = { type: null, systemRef: null };
const maxRefLength = schemaOf('SystemRef').maxLength ?? 0;

/** Returns the type of an item. @throws Rejection if the item cannot be processed, whatever its row is. */
function typeFor(
  plan: Plan,
  type: RecordType | undefined,
  operation: RecordOperation,
  { type: name, systemRef, source }: RecordItem,
): RecordType {
  if (type === undefined)
    throw new Rejection(
      'VALIDATION_ERROR',
      `Records of the type ${name} cannot be written here. ${wayOut(name)}`.trim(),
      '/type',
    );
  if (!type.operations.includes(operation))
    throw new Rejection('VALIDATION_ERROR', `${name} records do not support ${operation}.`, '/type');
  if (type.writeRoles.length > 0) plan.requires(type.writeRoles, `Writing ${name} records`, '/type');
  if (type.importsOnly && operation === 'UPSERT' && source === undefined)
    throw new Rejection(
      'VALIDATION_ERROR',
      `Only imports write ${name} records: send them with the source IMPORT, or use the operations of ${name}.`,
      '/source',
    );
  if (!type.active)
    throw new Rejection('INVALID_STATE', `The type ${name} is deactivated. Its records cannot be written.`, '/type');
  if (type.isCustom && systemRef === undefined)
    throw new Rejection('VALIDATION_ERROR', 'Records of custom types require a systemRef.', '/systemRef');
  return type;
}

/** Where rows of a type of the contract are written, or which type was probably meant. */
function wayOut(name: string): string {
  const extensions = Object.keys(schemaUrls) as TypeExtension[];
  const own = extensions.find((extension) => typesWith(extension).has(name));
  if (own !== undefined) return `Send them to ${schemaUrls[own].replace('/schema/', '')}.`;
  const meant = nearest(name, typesWith('x-record').keys().toArray());
  return meant === undefined ? '' : `Did you mean ${meant}?`;
}

/** Creates, updates or deactivates a record. @throws Rejection with a pointer relative to the item. */
export function writeRecord(
  plan: Plan,
  { name, entity }: RecordType,
  operation: RecordOperation,
  item: RecordItem,
): AnyWritten {
  const { systemRef, attributes = {} } = item;
  const row = systemRef === undefined ? undefined : plan.untyped.findForUpdate(entity, 'systemRef', systemRef);
  if (operation !== 'UPSERT' && row?.active !== true)
    throw new Rejection('RECORD_NOT_FOUND', `No active ${name} with this systemRef exists.`, '/systemRef');
  if (operation === 'DELETE' && row !== undefined) {
    // The source of a merged row deletes the duplicate; the row that it was merged into stays.
    if (row.systemRef !== systemRef)
      throw new Rejection(
        'RECORD_NOT_FOUND',
        `The ${name} was merged into ${row.id}, and is deleted already.`,
        '/systemRef',
      );
    return plan.untyped.remove(entity, row.id);
  }
  const own = withOwnKeys(plan, row, systemRef, item);
  return plan.at('/attributes', () => {
    const input = readAttributes(plan, entity, attributes, row);
    // Writing a deleted record again makes it active again.
    return row === undefined
      ? plan.untyped.create(entity, input, { systemRef, system: own })
      : plan.untyped.update(entity, row.id, input, { system: { active: true, ...own } });
  });
}

type Outcome = ItemOutcome<{ readonly type: RecordType; readonly written: AnyWritten }>;

async function storedRows(unit: UnitOfWork, outcomes: readonly Outcome[]): Promise<Map<string, AnyStoredRow>> {
  const written = outcomes.flatMap((outcome) => ('result' in outcome ? [outcome.result] : []));
  const rows = new Map<string, AnyStoredRow>();
  for (const [entity, group] of Map.groupBy(written, ({ type }) => type.entity)) {
    const stored = await unit.stored(entity, [...new Set(group.map((one) => one.written.row.id))]);
    for (const [id, row] of stored) rows.set(id, row);
  }
  return rows;
}

/**
 * Returns the IDs of stored rows that failed items name, by the index of the item. Callers who may not write rows of the type do not
 * learn which exist.
 */
async function idsOfFailed(
  { holds }: Pick<Context, 'holds'>,
  unit: UnitOfWork,
  names: readonly ItemNames[],
  outcomes: readonly Outcome[],
  types: ReadonlyMap<string, RecordType>,
): Promise<ReadonlyMap<number, string>> {
  const ids = new Map<number, string>();
  const failed = outcomes.flatMap((outcome, index) => {
    const { type, systemRef } = names[index] ?? nameless;
    const { entity, writeRoles = [] } = types.get(type ?? '') ?? {};
    if (!('rejection' in outcome) || systemRef === null || entity === undefined) return [];
    const isHidden = outcome.rejection.code === 'RECORD_NOT_FOUND' || (writeRoles.length > 0 && !holds(writeRoles));
    return isHidden ? [] : [{ index, entity, systemRef }];
  });
  for (const [entity, group] of Map.groupBy(failed, (one) => one.entity)) {
    const rows = await unit.transaction.all<{ id: string; systemRef: string }>(sql`
      select e.id, e.system_ref as "systemRef" from ${sql.table(entity.table)} e
      where ${entity.within('e', unit.tenantId)} and e.system_ref = any(${group.map((one) => one.systemRef)})`);
    const known = new Map(rows.map((row) => [row.systemRef, row.id]));
    for (const { index, systemRef } of group) {
      const id = known.get(systemRef);
      if (id !== undefined) ids.set(index, id);
    }
  }
  return ids;
}

/** Response validation checks that an item matches the contract's description of its type. */
function writtenItem(index: number, type: RecordType, status: WriteItem['status'], row: AnyStoredRow): WriteItem {
  const { id, systemRef, version, active } = row;
  return {
    index,
    type: type.name,
    systemRef,
    id,
    status,
    version,
    active,
    attributes: type.attributesOf(row),
    error: null,
  } as WriteItem;
}

function failedItem(
  index: number,
  names: ItemNames | undefined,
  id: string | null,
  rejection: ItemRejection,
): WriteItem {
  const { type, systemRef } = names ?? nameless;
  const error = itemErrorOf(rejection);
  return {
    index,
    type,
    systemRef,
    id,
    status: 'FAILED',
    version: null,
    active: null,
    attributes: null,
    error,
  } as WriteItem;
}

function summaryOf(records: readonly WriteItem[]): WriteResult['summary'] {
  const count = (status: WriteItem['status']) => records.filter((record) => record.status === status).length;
  return {
    total: records.length,
    created: count('CREATED'),
    updated: count('UPDATED'),
    unchanged: count('UNCHANGED'),
    deleted: count('DELETED'),
    failed: count('FAILED'),
  };
}
