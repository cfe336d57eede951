import { hash } from 'node:crypto';
import { Rejection } from '../contract/rejection.ts';
import { serialize } from '../contract/serialized.ts';
import type { Context } from '../entity/context.ts';
import type { AnyEntity, Entity } from '../entity/entity.ts';
import { visibleTo, visibleToWriter } from '../entity/field-access.ts';
import type { AnyStoredRow, EntityType, StoredRow } from '../entity/row.ts';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import { hasStrongTag } from '../wire/headers.ts';

/**
 * Returns the strong entity tag (RFC 9110) of a row as a read by ID returns it to this caller: a digest of the returned values, then
 * the version. The values can change without a new version: names of other rows, values that depend on the day, fields that require a
 * role.
 */
export function entityTag(row: { readonly version: number }): string {
  const digest = hash('sha256', serialize(row), 'hex').slice(0, 16);
  return `"${digest}-${row.version}"`;
}

/** Returns a row that an operation has written, as the caller may see it, and the tag of what a read by ID returns. */
export async function writtenRow<Type extends EntityType>(
  unit: UnitOfWork,
  { holds }: Reader,
  entity: Entity<Type>,
  id: string,
): Promise<{ readonly row: StoredRow<Type>; readonly tag: string }> {
  const stored = await unit.storedRow(entity, id);
  return { row: visibleToWriter(holds, entity, stored), tag: entityTag(visibleTo(holds, entity, stored)) };
}

/**
 * Returns the version of the row with the ID if `If-Match` has its tag; undefined if any version matches, or there is no row. Whoever
 * then locks the row compares the version, because another request can change it in between.
 *
 * @throws Rejection `PRECONDITION_FAILED`
 */
export async function versionToMatch(
  unit: UnitOfWork,
  context: Reader,
  entity: AnyEntity,
  id: string,
): Promise<number | undefined> {
  if (context.ifMatch === undefined) return undefined;
  const row = (await unit.stored(entity, [id])).get(id);
  return row === undefined ? undefined : matchedVersion(context, entity, row);
}

/**
 * Returns the version of the row if `If-Match` has the tag of what the caller reads of it; undefined if it accepts any.
 *
 * @throws Rejection `PRECONDITION_FAILED`
 */
export function matchedVersion(
  { ifMatch = '*', holds }: Reader,
  entity: AnyEntity,
  row: AnyStoredRow,
): number | undefined {
  if (ifMatch.trim() === '*') return undefined;
  if (hasStrongTag(ifMatch, entityTag(visibleTo(holds, entity, row)))) return row.version;
  throw new Rejection(
    'PRECONDITION_FAILED',
    `What you read has changed, or the tag is of another row; the version of the row is now ${row.version}. Read it again before you update it.`,
  );
}

type Reader = Pick<Context, 'ifMatch' | 'holds'>;
