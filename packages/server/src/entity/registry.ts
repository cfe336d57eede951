import type { AnyEntity, Entity } from './entity.ts';
import type { EntityType } from './row.ts';

const entities = new Map<string, AnyEntity>();

/** Lets other entities refer to this one by its type. */
export function register(entity: AnyEntity): void {
  entities.set(entity.type, entity);
}

/** The entity of a type of the contract, or undefined where the type has no table yet. */
export function entityOf(type: string): AnyEntity | undefined {
  return entities.get(type);
}

/**
 * The entity of a type. Rules of entities that relate in circles find each other by it, where an import would be a cycle.
 *
 * @throws Error where no entity of this type is defined.
 */
export function entityNamed<Type extends EntityType>(type: Type): Entity<Type>;
export function entityNamed(type: string): AnyEntity;
export function entityNamed(type: string): AnyEntity {
  const entity = entities.get(type);
  if (entity === undefined) throw new Error(`No entity ${type} is defined.`);
  return entity;
}

/** Keeps what follows from all entities. It is found again when more were defined since: files are loaded in any order. */
export function fromAllEntities<Value>(find: () => Value): () => Value {
  let found: { readonly value: Value; readonly count: number } | undefined;
  return () => {
    if (found?.count !== entities.size) found = { value: find(), count: entities.size };
    return found.value;
  };
}

export function allEntities(): Iterable<AnyEntity> {
  return entities.values();
}
