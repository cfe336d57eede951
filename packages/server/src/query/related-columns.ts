import type { RawBuilder } from 'kysely';
import type { Field } from '../contract/fields.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { anyEntityNamed } from '../entity/registry.ts';

/** A column of the row, or of the one row that a relation leads to: `client.name`. */
export function columnNamed(entity: AnyEntity, row: string, column: string) {
  const [relation = '', name] = column.split('.');
  if (name === undefined)
    return { field: fieldOf(entity, column), value: entity.value(row, column), isRelated: false, target: undefined };
  const target = joinsTo(entity, row, relation).at(-1)?.target;
  if (target === undefined) throw new Error(`${entity.type} has no ${column}.`);
  return { field: fieldOf(target, name), value: target.value(relation, name), isRelated: true, target };
}

/** A row that is joined to another by its ID. */
interface Join {
  readonly target: AnyEntity;
  readonly alias: string;
  /** SQL of the ID. */
  readonly id: RawBuilder<unknown>;
}

/** The joins to the row of a relation, which has the name of the relation as its alias. */
export function joinsTo(entity: AnyEntity, row: string, name: string, alias = name): Join[] {
  const relation = entity.relations[name];
  const field = [...entity.fields.values()].find((one) => one.name === relation?.by);
  if (relation === undefined || relation.many || field?.references === undefined) return [];
  const { onward } = relation;
  const target = anyEntityNamed(field.references);
  const id = entity.value(row, relation.by);
  if (onward === undefined) return [{ target, alias, id }];
  const via = `${alias}_via`;
  return [{ target, alias: via, id }, ...joinsTo(target, via, onward, alias)];
}

export function fieldOf(entity: AnyEntity, column: string): Field {
  const field = entity.fields.get(column);
  if (field === undefined) throw new Error(`${entity.type} has no ${column}.`);
  return field;
}
