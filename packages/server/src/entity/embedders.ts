import type { Field } from '../contract/fields.ts';
import { membersShown } from './embed.ts';
import type { AnyEntity, Embed } from './model.ts';
import { allEntities, fromAllEntities } from './registry.ts';
import type { AnyRow } from './row.ts';
import { isFieldChanged } from './row-changes.ts';

/** A row that others embed, before and after a change. */
interface ChangedRow {
  readonly entity: AnyEntity;
  readonly previous: AnyRow | undefined;
  readonly row: AnyRow;
}

/** Finds rows by the value of a field, as a plan sees them. */
type FindAll = (entity: AnyEntity, field: string, value: string) => readonly AnyRow[];

/** From an embedded row to the rows that embed it. */
interface Step {
  readonly embed: Embed;
  readonly embedder: AnyEntity;
}

/** How a change of an embedded row affects rows of another entity, also if these embed it through a third one. */
interface Path {
  /** The embedded fields of the changed row. */
  readonly shown: readonly Field[];
  readonly steps: readonly [Step, ...Step[]];
}

/** Finds the rows that get a new version because an embedded value has changed. */
export function* rowsThatEmbed(change: ChangedRow, findAll: FindAll): Generator<{ entity: AnyEntity; id: string }> {
  for (const { shown, steps } of pathsFrom(change.entity)) {
    const [first, ...others] = steps;
    if (!isSeen(change, first.embed, shown)) continue;
    let { embedder } = first;
    let ids = embeddingIds(first, change, findAll);
    for (const step of others) {
      const between = [...ids].flatMap((id) => findAll(embedder, 'id', id));
      const seen = step.embed.activeOnly ? between.filter(({ active }) => active) : between;
      ids = new Set(seen.flatMap((row) => [...embeddingIds(step, { previous: row, row }, findAll)]));
      embedder = step.embedder;
    }
    for (const id of ids) yield { entity: embedder, id };
  }
}

const paths = fromAllEntities(() => new WeakMap<AnyEntity, readonly Path[]>());

/**
 * The embeds of all entities that include rows of this one and change with them. No entity embeds rows of custom types.
 */
function pathsFrom(entity: AnyEntity): readonly Path[] {
  if (entity.isCustom) return [];
  return paths().getOrInsertComputed(entity, ({ key }) =>
    [...allEntities()]
      .filter(({ writable }) => writable)
      .flatMap((embedder) => [...embedder.embeds].flatMap(([field, embed]) => pathsOf(field, [{ embed, embedder }])))
      .filter(({ steps: [{ embed }] }) => embed.to().key === key),
  );
}

/** The paths through an embed, the innermost step first, and through nested embeds. */
function pathsOf(field: Field, steps: Path['steps']): Path[] {
  const [{ embed }] = steps;
  if (embed.onChange === 'label') return [];
  const target = embed.to();
  const shown: Field[] = [];
  const inner: Path[] = [];
  for (const { name, member, embed: nested } of membersShown(embed, field)) {
    const kept = target.keptFields.find((one) => one.name === name);
    if (nested !== undefined) inner.push(...pathsOf(member, [{ embed: nested, embedder: target }, ...steps]));
    else if (kept !== undefined) shown.push(kept);
    else throw new Error(`${target.type}.${name} is calculated, so its changes cannot change ${field.name}.`);
  }
  return [{ shown, steps }, ...inner];
}

/** Whether a change of the row affects the embed. */
function isSeen({ entity, previous, row }: ChangedRow, embed: Embed, shown: readonly Field[]): boolean {
  const isBack = embed.shape === 'list' || embed.shape === 'count';
  if (previous === undefined) return isBack && (row.active || !embed.activeOnly);
  if (embed.activeOnly && !previous.active && !row.active) return false;
  const linked = [...(isBack ? [embed.by] : []), ...(embed.activeOnly ? ['active'] : [])];
  return (
    linked.some((name) => previous[name] !== row[name]) ||
    shown.some((field) => isFieldChanged(entity, field, previous, row))
  );
}

function embeddingIds(
  { embed, embedder }: Step,
  { previous, row }: Pick<ChangedRow, 'previous' | 'row'>,
  findAll: FindAll,
): ReadonlySet<string> {
  const isBack = embed.shape === 'list' || embed.shape === 'count';
  if (!isBack) return new Set(findAll(embedder, embed.by, row.id).map(({ id }) => id));
  return new Set([previous?.[embed.by], row[embed.by]].filter((id) => typeof id === 'string'));
}
