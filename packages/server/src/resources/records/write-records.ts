import type { components } from '@financial-automation/spec';
import type { Context } from '../../context.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { Violation } from '../../entity/violation.ts';
import type { Written } from '../../entity/write.ts';
import { findByIds, type Row } from '../../query/read.ts';
import { KnownRows } from './known-rows.ts';
import type { RecordOperation, RecordType } from './record-type.ts';
import { recordTypesNamed } from './record-types.ts';
import { admit, type RecordItem, writeRecord } from './write-record.ts';

type WriteItem = components['schemas']['RecordWriteItem'];
type Result = components['schemas']['RecordWriteResult'];
type Status = WriteItem['status'];

/** What became of an item: a row of a type, or a refusal. */
type Outcome =
  | { readonly type: RecordType; readonly written: Written }
  | { readonly violation: Violation; readonly id: string | null };

/**
 * Writes the records of a call one by one, in their order; one that is refused stops no other. What is the same for many
 * is asked once: the types, the rows that are named, and at the end the rows as they are stored.
 */
export function writeRecords(
  context: Context,
  operation: RecordOperation,
  items: readonly RecordItem[],
): Promise<{ status: 200; body: Result }> {
  return context.write(async (unit) => {
    const names = items.map((item) => item.type);
    // Nobody changes the fields of a custom type while its records are written.
    const types = await recordTypesNamed(unit.transaction, unit.tenantId, names, 'share');
    const wanted = items.map((item) => ({
      item,
      type: admit(context.caller.roles, types.get(item.type), operation, item),
    }));
    const named = wanted.flatMap(({ item, type }) =>
      type instanceof Violation ? [] : [{ type, systemRef: item.systemRef }],
    );
    const rows = await KnownRows.lock(unit, named);
    const outcomes: Outcome[] = [];
    for (const { item, type } of wanted)
      outcomes.push(
        type instanceof Violation ? { violation: type, id: null } : await attempt(unit, rows, type, operation, item),
      );

    const stored = await storedRows(unit, outcomes);
    const records = outcomes.map((outcome, index) => answerOf(index, items[index], outcome, stored));
    return { status: 200, body: { summary: summaryOf(records), records } };
  });
}

async function attempt(
  unit: UnitOfWork,
  rows: KnownRows,
  type: RecordType,
  operation: RecordOperation,
  item: RecordItem,
): Promise<Outcome> {
  try {
    return { type, written: await writeRecord(unit, rows, type, operation, item) };
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    const isThere = item.systemRef !== undefined && error.code !== 'RECORD_NOT_FOUND';
    const row = isThere ? await rows.find(type, item.systemRef) : undefined;
    return { violation: error, id: row?.id ?? null };
  }
}

async function storedRows(unit: UnitOfWork, outcomes: readonly Outcome[]): Promise<Map<string, Row>> {
  const written = outcomes.filter((outcome) => 'written' in outcome);
  const stored = new Map<string, Row>();
  for (const [type, group] of Map.groupBy(written, (outcome) => outcome.type)) {
    const ids = new Set(group.map((outcome) => outcome.written.id));
    for (const row of await findByIds(unit.transaction, unit.tenantId, type.entity, [...ids])) stored.set(row.id, row);
  }
  return stored;
}

function answerOf(
  index: number,
  item: RecordItem | undefined,
  outcome: Outcome,
  stored: ReadonlyMap<string, Row>,
): WriteItem {
  if ('violation' in outcome) {
    const { violation, id } = outcome;
    const { type = '', systemRef = null } = item ?? {};
    const failed = { status: 'FAILED' as const, version: null, active: null, attributes: null };
    return { index, type, systemRef, id, ...failed, error: errorOf(index, violation) };
  }
  const { type, written } = outcome;
  const row = stored.get(written.id);
  if (row === undefined) throw new Error(`A ${type.name} was written and is not there.`);
  const { id, version, active } = row;
  return {
    index,
    type: type.name,
    systemRef: String(row.systemRef),
    id,
    status: written.status,
    version,
    active: active === true,
    attributes: type.attributesOf(row),
    error: null,
  };
}

/** The contract's bounds of a detail and of a pointer. */
const longestText = 1_000;

function errorOf(index: number, { code, message, pointer }: Violation): NonNullable<WriteItem['error']> {
  const detail = message.length > longestText ? `${message.slice(0, longestText - 1)}…` : message;
  return { code, detail, pointer: pointer === undefined ? null : fitting(`/records/${index}${pointer}`) };
}

/** A pointer to a value whose name is too long to be told leads to what holds the value. */
function fitting(pointer: string): string {
  return pointer.length <= longestText ? pointer : fitting(pointer.slice(0, pointer.lastIndexOf('/')));
}

function summaryOf(records: readonly WriteItem[]): Result['summary'] {
  const count = (status: Status) => records.filter((record) => record.status === status).length;
  return {
    total: records.length,
    created: count('CREATED'),
    updated: count('UPDATED'),
    unchanged: count('UNCHANGED'),
    deleted: count('DELETED'),
    failed: count('FAILED'),
  };
}
