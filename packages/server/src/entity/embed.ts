import { type RawBuilder, sql } from 'kysely';
import { columnOf, type Field, membersOf } from '../contract/fields.ts';
import type { Embed, OnChange, Owned } from './model.ts';
import { anyEntityNamed } from './registry.ts';
import type { EntityType, StoredRow } from './row.ts';

type FieldName<Type extends EntityType> = keyof StoredRow<Type> & string;

interface EmbedOptions {
  readonly onChange: OnChange;
  readonly embeds?: Readonly<Record<string, Embed>>;
}

/** Embeds the row that the field `by` refers to, as an object. */
export function embedOne<Type extends EntityType>(
  type: Type,
  by: string,
  { onChange, embeds = {} }: EmbedOptions,
): Embed {
  return { to: () => anyEntityNamed(type), by, shape: 'object', activeOnly: false, onChange, embeds };
}

/** Embeds one field of the row that the field `by` refers to. */
export function embedValue<Type extends EntityType>(
  type: Type,
  by: string,
  field: FieldName<Type>,
  { onChange }: Pick<EmbedOptions, 'onChange'>,
): Embed {
  return { to: () => anyEntityNamed(type), by, shape: 'value', field, activeOnly: false, onChange, embeds: {} };
}

/**
 * Embeds the rows whose field `by` refers to this one, as a list in the order of creation. If there are more than the
 * contract allows, it includes the newest; `embedCount` shows the number of all.
 */
export function embedMany<Type extends EntityType>(
  type: Type,
  by: FieldName<Type>,
  { onChange, embeds = {}, activeOnly = false }: EmbedOptions & { readonly activeOnly?: boolean },
): Embed {
  return { to: () => anyEntityNamed(type), by, shape: 'list', activeOnly, onChange, embeds };
}

/** Embeds the number of rows whose field `by` refers to this one. */
export function embedCount<Type extends EntityType>(
  type: Type,
  by: FieldName<Type>,
  { onChange, activeOnly = false }: Pick<EmbedOptions, 'onChange'> & { readonly activeOnly?: boolean },
): Embed {
  return { to: () => anyEntityNamed(type), by, shape: 'count', activeOnly, onChange, embeds: {} };
}

/** A field of the other entity that an embed includes. */
interface ShownMember {
  readonly name: string;
  readonly member: Field;
  /** Set if the field embeds rows of a third entity. */
  readonly embed: Embed | undefined;
}

/** Returns the fields of the other entity that the embed includes. */
export function membersShown(embed: Embed, field: Field): readonly ShownMember[] {
  if (embed.shape === 'count') return [];
  const shown: (readonly [string, Field])[] =
    embed.field === undefined ? membersOf(field).map((member) => [member.name, member]) : [[embed.field, field]];
  const { embeds } = embed.to();
  return shown.map(([name, member]) => {
    const own = [...embeds].find(([one]) => one.name === name)?.[1];
    return { name, member, embed: embed.embeds[name] ?? own };
  });
}

/** SQL of an embed as a field of the row with the alias. */
export function embedded(embed: Embed, field: Field, row: string): RawBuilder<unknown> {
  const other = `${row}_${columnOf(field.name)}`;
  const { table } = embed.to();
  const isBack = embed.shape === 'list' || embed.shape === 'count';
  const link = isBack
    ? sql`${sql.ref(`${other}.${columnOf(embed.by)}`)} = ${sql.ref(`${row}.id`)}`
    : sql`${sql.ref(`${other}.id`)} = ${sql.ref(`${row}.${columnOf(embed.by)}`)}`;
  const active = embed.activeOnly ? sql` and ${sql.ref(`${other}.active`)}` : sql``;
  const rows = sql`from ${sql.table(table)} ${sql.id(other)}
    where ${sql.ref(`${other}.tenant_id`)} = ${sql.ref(`${row}.tenant_id`)} and ${link}${active}`;
  switch (embed.shape) {
    case 'value':
      return sql`(select ${embed.to().value(other, embed.field ?? '')} ${rows})`;
    case 'count':
      return sql`(select count(*)::integer ${rows})`;
    case 'object':
      return sql`(select ${objectOf(embed, field, other)} ${rows})`;
    case 'list':
      return sql`(select coalesce(json_agg(${objectOf(embed, field, other)} order by ${sql.ref(`${other}.id`)}), '[]')
        from (select * ${rows} order by ${sql.ref(`${other}.id`)} desc limit ${mostEmbedded(field)}) ${sql.id(other)})`;
  }
}

/** SQL of the number of rows that a list includes: the newest ones, as many as the contract allows. */
export function mostEmbedded({ name, schema }: Field): RawBuilder<unknown> {
  if (schema.maxItems === undefined) throw new Error(`The contract does not limit the list ${name}.`);
  return sql.lit(schema.maxItems);
}

function objectOf(embed: Embed, field: Field, row: string): RawBuilder<unknown> {
  const entity = embed.to();
  return jsonObject(
    membersOf(field).map((member) => {
      const inner = embed.embeds[member.name];
      return [member, inner === undefined ? entity.value(row, member.name) : embedded(inner, member, row)];
    }),
  );
}

/** SQL of owned rows as a list in the field of the row with the alias. */
export function ownedRows(owned: Owned, field: Field, row: string): RawBuilder<unknown> {
  const { table, owner } = owned;
  const child = `${row}_${columnOf(field.name)}`;
  const object = jsonObject(membersOf(field).map((member) => [member, ownedMember(owned, member, child)]));
  return sql`(select coalesce(json_agg(${object} order by ${sql.ref(`${child}.position`)}), '[]')
    from ${sql.table(table)} ${sql.id(child)}
    where ${sql.ref(`${child}.tenant_id`)} = ${sql.ref(`${row}.tenant_id`)}
      and ${sql.ref(`${child}.${owner}`)} = ${sql.ref(`${row}.id`)})`;
}

/** The members of owned rows that are written with them: others are embedded or calculated when they are read. */
export function writtenMembers({ embeds = {}, computed = {} }: Owned, field: Field): readonly Field[] {
  return membersOf(field).filter(({ name }) => embeds[name] === undefined && computed[name] === undefined);
}

function ownedMember(
  { links = {}, embeds = {}, computed = {} }: Owned,
  member: Field,
  child: string,
): RawBuilder<unknown> {
  const embed = embeds[member.name];
  if (embed !== undefined) return embedded(embed, member, child);
  const compute = computed[member.name];
  if (compute !== undefined) return compute(child);
  const link = links[member.name];
  if (link === undefined) return sql.ref(`${child}.${member.column}`);
  return sql`(select coalesce(json_agg(l.${sql.ref(link.column)} order by l.position), '[]') from ${sql.table(link.table)} l
    where l.tenant_id = ${sql.ref(`${child}.tenant_id`)} and l.${sql.ref(link.owner)} = ${sql.ref(`${child}.id`)})`;
}

/** SQL of an object of fields, each in the format of responses. */
export function jsonObject(members: readonly (readonly [Field, RawBuilder<unknown>])[]): RawBuilder<unknown> {
  const values = members.map(([field, value]) => sql`${jsonValue(field, value)} as ${sql.id(field.name)}`);
  return sql`(select row_to_json(shown) from (select ${sql.join(values)}) shown)`;
}

/** JSON of PostgreSQL uses numbers where the contract has decimal strings, and another format for instants. */
function jsonValue({ kind }: Field, value: RawBuilder<unknown>): RawBuilder<unknown> {
  if (kind === 'decimal') return sql`(${value})::text`;
  if (kind === 'instant') return sql`to_char((${value}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  return value;
}
