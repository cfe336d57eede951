import type { components, Readable } from '@financial-automation/spec';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { Problem } from '../../http/problem.ts';
import type { Session } from '../../store/store.ts';
import { type CustomTypeRow, findCustomTypes } from './custom-type.ts';

/** A custom type as it is answered; what the row holds is checked where answers are validated. */
export function answerOf(row: CustomTypeRow): Readable<components['schemas']['CustomRecordType']> {
  return row as unknown as Readable<components['schemas']['CustomRecordType']>;
}

/** The custom type with the name, also an inactive one. @throws Problem `NOT_FOUND`. */
export async function customTypeNamed(session: Session, tenantId: number, name: string): Promise<CustomTypeRow> {
  return found(name, await findCustomTypes(session, tenantId, [name]));
}

/** The same, locked: nobody writes records of the type until the transaction ends. */
export async function customTypeForUpdate(unit: UnitOfWork, name: string): Promise<CustomTypeRow> {
  return found(name, await findCustomTypes(unit.transaction, unit.tenantId, [name], 'update'));
}

function found(name: string, [row]: readonly CustomTypeRow[]): CustomTypeRow {
  if (row === undefined) throw new Problem('NOT_FOUND', `Your tenant has no custom record type ${name}.`);
  return row;
}
