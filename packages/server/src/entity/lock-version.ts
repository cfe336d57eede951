import { Rejection } from '../contract/rejection.ts';
import { checkVersion } from '../http/headers.ts';
import type { Entity } from './model.ts';
import type { Plan } from './plan.ts';
import type { EntityType, Row } from './row.ts';

/**
 * Returns the row with the ID, locked, for an operation that changes one row.
 *
 * @param ifMatch the versions that `If-Match` accepts; undefined accepts any.
 * @throws Rejection `NOT_FOUND` or `PRECONDITION_FAILED`
 */
export function lockVersion<Type extends EntityType>(
  plan: Plan,
  entity: Entity<Type>,
  id: string,
  ifMatch: readonly number[] | undefined,
): Row<Type> {
  const row = plan.getForUpdate(entity, id);
  if (row === undefined) throw new Rejection('NOT_FOUND', `Your tenant has no ${entity.type} with this ID.`);
  checkVersion(ifMatch, row.version);
  return row;
}
