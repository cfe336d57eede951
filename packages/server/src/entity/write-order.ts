import { membersOf } from '../contract/fields.ts';
import type { AnyEntity } from './model.ts';
import { allEntities, entityOf, fromAllEntities } from './registry.ts';

const ranks = fromAllEntities(
  (): ReadonlyMap<string, number> => new Map(orderOfAll().map(({ key }, rank) => [key, rank])),
);

/**
 * Sorts entities so that referenced rows are written before those that refer to them. In cycles of references, the
 * constraint of a reference to a later row is deferred to the commit.
 */
export function inWriteOrder(entities: Iterable<AnyEntity>): readonly AnyEntity[] {
  const known = ranks();
  // Rows of custom types come last: they refer to others without a constraint.
  const rankOf = ({ key }: AnyEntity) => known.get(key) ?? known.size;
  return [...entities].sort((one, other) => rankOf(one) - rankOf(other));
}

function orderOfAll(): readonly AnyEntity[] {
  const ordered = new Set<AnyEntity>();
  const visited = new Set<AnyEntity>();
  const visit = (entity: AnyEntity): void => {
    if (visited.has(entity)) return;
    visited.add(entity);
    for (const field of entity.keptFields) {
      for (const { references } of [field, ...membersOf(field)]) {
        const target = references === undefined ? undefined : entityOf(references);
        if (target !== undefined) visit(target);
      }
    }
    ordered.add(entity);
  };
  for (const entity of [...allEntities()].sort((one, other) => (one.key < other.key ? -1 : 1))) visit(entity);
  return [...ordered];
}
