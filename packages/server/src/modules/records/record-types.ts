import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import type { Session } from '../../platform/store/store.ts';
import type { RecordType } from '../bulk/index.ts';
import { findCustomTypes, recordTypeOf } from './custom-type.ts';
import { standardTypes } from './standard-types.ts';

/** Returns the record type with the name, of the service or of the tenant, or undefined. */
export async function recordTypeNamed(
  session: Session,
  tenantId: number,
  name: string,
): Promise<RecordType | undefined> {
  return (await recordTypesNamed(session, tenantId, [name])).get(name);
}

/** Returns the record types with these names. The fields of custom types cannot change until the transaction ends. */
export function recordTypesForWriting(
  { transaction, tenantId }: UnitOfWork,
  names: readonly string[],
): Promise<ReadonlyMap<string, RecordType>> {
  return recordTypesNamed(transaction, tenantId, names, 'share');
}

async function recordTypesNamed(
  session: Session,
  tenantId: number,
  names: readonly string[],
  lock?: 'share',
): Promise<ReadonlyMap<string, RecordType>> {
  const found = new Map<string, RecordType>();
  const others: string[] = [];
  for (const name of names) {
    const standard = standardTypes().get(name);
    if (standard === undefined) others.push(name);
    else found.set(name, standard);
  }
  if (others.length === 0) return found;
  for (const row of await findCustomTypes(session, tenantId, others, lock))
    found.set(row.name, recordTypeOf(tenantId, row));
  return found;
}
