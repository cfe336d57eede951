import { Rejection } from '../contract/rejection.ts';
import type { Entity } from './model.ts';
import type { Plan } from './plan.ts';
import type { EntityType, Row } from './row.ts';

/**
 * Returns the row with the ID, locked, for an operation that changes one row.
 *
 * @param version that the row must have; undefined accepts any.
 * @throws Rejection `NOT_FOUND` or `PRECONDITION_FAILED`
 */
export function lockVersion<Type extends EntityType>(
  plan: Plan,
  entity: Entity<Type>,
  id: string,
  version: number | undefined,
): Row<Type> {
  const row = plan.getForUpdate(entity, id);
  if (row === undefined) throw new Rejection('NOT_FOUND', `Your tenant has no ${entity.type} with this ID.`);
  checkVersion(version, row.version);
  return row;
}

/** @throws Rejection `PRECONDITION_FAILED` if the row has another version than the expected one. */
export function checkVersion(expected: number | undefined, version: number): void {
  if (expected === undefined || expected === version) return;
  throw new Rejection(
    'PRECONDITION_FAILED',
    `The row has changed; its version is now ${version}. Read it again before you update it.`,
  );
}
