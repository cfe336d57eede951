import type { Attributes } from '../../entity/attributes.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { Violation } from '../../entity/violation.ts';
import { create, findForUpdate, remove, update, type Written } from '../../entity/write.ts';
import type { KnownRows } from './known-rows.ts';
import { isAdmitted, type RecordOperation, type RecordType } from './record-type.ts';
import { isStandardType } from './standard-types.ts';

/** One record of a request; without attributes, where it is to be deleted. */
export interface RecordItem {
  readonly type: string;
  readonly systemRef?: string;
  readonly attributes?: Attributes;
}

/** The type of the item, or why it is refused before any row is looked at; the pointer is from the item. */
export function admit(
  roles: ReadonlySet<string>,
  type: RecordType | undefined,
  operation: RecordOperation,
  item: RecordItem,
): RecordType | Violation {
  if (type === undefined) {
    const detail = isStandardType(item.type)
      ? `Records of the type ${item.type} cannot be written yet.`
      : `There is no record type ${item.type}.`;
    return new Violation('VALIDATION_ERROR', detail, '/type');
  }
  const { name } = type;
  if (!type.operations.includes(operation))
    return new Violation('VALIDATION_ERROR', `The type ${name} does not have ${operation}.`, '/type');
  if (!isAdmitted(roles, type.writeRoles)) {
    const detail = `Writing records of the type ${name} needs the role ${type.writeRoles.join(' or ')}.`;
    return new Violation('FORBIDDEN', detail, '/type');
  }
  if (!type.active)
    return new Violation(
      'INVALID_STATE',
      `The type ${name} is deactivated; its records are kept as they are.`,
      '/type',
    );
  if (type.isCustom && item.systemRef === undefined)
    return new Violation('VALIDATION_ERROR', 'A record of a custom type needs a systemRef.', '/systemRef');
  return type;
}

/**
 * Does what the item asks for, by itself: where it is refused, nothing of it stays.
 *
 * @throws Violation with a pointer from the item.
 */
export async function writeRecord(
  unit: UnitOfWork,
  rows: KnownRows,
  type: RecordType,
  operation: RecordOperation,
  { systemRef, attributes = {} }: RecordItem,
): Promise<Written> {
  const { entity } = type;
  if (systemRef === undefined) return unit.item(() => onAttributes(() => create(unit, entity, attributes)));
  const row = await rows.find(type, systemRef);
  if (operation !== 'UPSERT' && row?.active !== true)
    throw new Violation('RECORD_NOT_FOUND', `There is no active ${type.name} with this systemRef.`, '/systemRef');
  const written = await (row === undefined
    ? make(unit, type, systemRef, attributes)
    : unit.item(() =>
        operation === 'DELETE' ? remove(unit, entity, row) : onAttributes(() => update(unit, entity, row, attributes)),
      ));
  rows.touch(type, systemRef);
  return written;
}

async function make(
  unit: UnitOfWork,
  { entity }: RecordType,
  systemRef: string,
  attributes: Attributes,
): Promise<Written> {
  try {
    return await unit.item(() => onAttributes(() => create(unit, entity, attributes, systemRef)));
  } catch (error) {
    const isTaken =
      error instanceof Violation && error.code === 'DUPLICATE_REF' && error.pointer === '/attributes/systemRef';
    // Another call has made the record since this one read its rows: now it is there to be changed.
    const made = isTaken ? await findForUpdate(unit, entity, { systemRef }) : undefined;
    if (made === undefined) throw error;
    return unit.item(() => onAttributes(() => update(unit, entity, made, attributes)));
  }
}

/** Tells a violation as one of a value in `attributes`. */
async function onAttributes<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Violation && error.pointer !== undefined ? error.under('/attributes') : error;
  }
}
