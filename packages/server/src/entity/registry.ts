import { contract } from '../contract/contract.ts';
import type { AnyEntity, Entity } from './model.ts';
import type { EntityType } from './row.ts';

const entities = new Map<string, AnyEntity>();

/** Registers an entity, so that others can refer to it by its type. */
export function register(entity: AnyEntity): void {
  entities.set(entity.type, entity);
}

/** Returns the entity of a type of the contract, or undefined if the type has no table yet. */
export function entityOf(type: string): AnyEntity | undefined {
  return entities.get(type);
}

/**
 * Returns the entity of a type. Rules of entities that depend on each other use it instead of a cyclic import.
 *
 * @throws Error if no entity of this type is defined.
 */
export function entityNamed<Type extends EntityType>(type: Type): Entity<Type> {
  const entity = anyEntityNamed(type);
  if (!isOf(type, entity)) throw new Error(`The entity ${type} has the rows of ${entity.schema}.`);
  return entity;
}

/** The same for a type that is only known at run time. */
export function anyEntityNamed(type: string): AnyEntity {
  const entity = entities.get(type);
  if (entity === undefined) throw new Error(`The entity ${type} is not defined.`);
  return entity;
}

function isOf<Type extends EntityType>(type: Type, entity: AnyEntity): entity is Entity<Type> {
  return entity.schema === type;
}

/**
 * Caches a value derived from all entities. It is calculated again after further definitions, because files are loaded in
 * any order.
 */
export function fromAllEntities<Value>(find: () => Value): () => Value {
  let found: { readonly value: Value; readonly count: number } | undefined;
  return () => {
    if (found?.count !== entities.size) found = { value: find(), count: entities.size };
    return found.value;
  };
}

let areAllDefined = false;

/**
 * Checks that the modules of all types with events are loaded: each may have rules for the rows of others, so a change without
 * them could do a part of its work.
 *
 * @throws Error that names the types that no module has defined
 */
export function checkAllDefined(): void {
  if (areAllDefined) return;
  const types = new Set(Object.values(contract.webhooks).map(({ post }) => post['x-event'].entityType));
  // Tenants define the types of these records.
  types.delete('CustomRecord');
  const missing = [...types].filter((type) => !entities.has(type));
  if (missing.length > 0) throw new Error(`Import app/handlers.ts. No loaded module defines ${missing.join(', ')}.`);
  areAllDefined = true;
}

export function allEntities(): Iterable<AnyEntity> {
  return entities.values();
}
