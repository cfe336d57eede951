import type { Session } from '../../store/store.ts';
import { findCustomTypes, recordTypeOf } from './custom-type.ts';
import type { RecordType } from './record-type.ts';
import { standardTypes } from './standard-types.ts';

/** The record types with these names, of the service and of the tenant; names that are of neither are left out. */
export async function recordTypesNamed(
  session: Session,
  tenantId: number,
  names: Iterable<string>,
  lock?: 'share',
): Promise<Map<string, RecordType>> {
  const found = new Map<string, RecordType>();
  const others: string[] = [];
  for (const name of new Set(names)) {
    const standard = standardTypes().get(name);
    if (standard === undefined) others.push(name);
    else found.set(name, standard);
  }
  if (others.length === 0) return found;
  for (const row of await findCustomTypes(session, tenantId, others, lock)) {
    found.set(row.name, recordTypeOf(tenantId, row));
  }
  return found;
}

/** The record type with the name, or undefined. */
export async function recordTypeNamed(
  session: Session,
  tenantId: number,
  name: string,
): Promise<RecordType | undefined> {
  return (await recordTypesNamed(session, tenantId, [name])).get(name);
}
