import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';
import { contract } from '../../contract/contract.ts';
import type { Field, FieldKind } from '../../contract/fields.ts';
import { resolved } from '../../contract/fields.ts';
import { allEntities, entityOf } from '../../entity/registry.ts';
import '../../app/handlers.ts';

const { store } = await testStore();

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  /** Null in a view, whose columns have the constraints of its tables. */
  readonly nullable: boolean | null;
}
const columns = await store.system((transaction) =>
  transaction.all<Column>(sql`
    select table_name as table, column_name as name, case data_type when 'ARRAY' then udt_name else data_type end as type,
      case when t.table_type <> 'VIEW' then is_nullable = 'YES' end as nullable
    from information_schema.columns join information_schema.tables t using (table_schema, table_name) where table_schema = 'public'`),
);
const checks = await store.system((transaction) =>
  transaction.all<{ name: string; text: string }>(sql`
    select conname as name, pg_get_constraintdef(oid) as text from pg_constraint where contype = 'c' and conname like '%\_enum'`),
);

/** Database types that exactly represent a kind of value of the contract. */
const types: Readonly<Record<FieldKind, readonly string[]>> = {
  uuid: ['uuid'],
  text: ['text'],
  decimal: ['numeric'],
  integer: ['integer', 'bigint'],
  boolean: ['boolean'],
  date: ['date'],
  instant: ['timestamp with time zone'],
  list: ['_text', '_uuid', 'jsonb', 'json'],
  object: ['jsonb', 'json'],
};

/** The enum values of a field, or of the elements of a list. */
function valuesOf({ schema }: Field): readonly string[] | undefined {
  const outer = resolved(schema);
  const one = outer.items === undefined ? outer : resolved(outer.items);
  const branches = [one, ...(one.anyOf ?? []).map(resolved)];
  return branches.map((branch) => branch.enum).find((values) => values !== undefined);
}

const entities = [...allEntities()];

test('each type of records, codes and entries of the contract has an entity', () => {
  const kinds = ['x-record', 'x-code-type', 'x-entry-type'] as const;
  const types = Object.entries(contract.components.schemas).flatMap(([name, schema]) =>
    kinds.some((kind) => schema[kind] !== undefined) ? [schema['x-type'] ?? name] : [],
  );
  expect(types.length).toBeGreaterThan(15);
  expect(types.filter((type) => entityOf(type) === undefined)).toEqual([]);
});

describe.each(entities.map((entity) => [entity.type, entity] as const))('%s', (_type, entity) => {
  const own = new Map(columns.filter((column) => column.table === entity.table).map((column) => [column.name, column]));
  const stored = entity.shown.filter((field) => entity.isStored(field));

  test('has a table with a column of a suitable type for every stored field', () => {
    expect(own.size).toBeGreaterThan(0);
    const wrong = stored.flatMap((field) => {
      const column = own.get(field.column);
      // If nothing writes the entity yet, some of its columns may not exist yet.
      if (column === undefined) return entity.writable ? [`${field.name}: no column ${field.column}`] : [];
      if (!types[field.kind].includes(column.type))
        return [`${field.name}: ${field.kind} in a column of ${column.type}`];
      // Null for callers who may not see the value.
      const nullable = field.nullable && field.readRoles.length === 0;
      if (column.nullable === null) return [];
      if (column.nullable !== field.nullable && column.nullable !== nullable)
        return [`${field.name}: nullable in ${field.nullable ? 'the contract' : 'the table'} alone`];
      return [];
    });
    expect(wrong).toEqual([]);
  });

  test('accepts exactly the values of its enums', () => {
    for (const field of stored) {
      const values = valuesOf(field);
      if (values === undefined || field.kind === 'boolean' || own.get(field.column)?.nullable === null) continue;
      const check = checks.find(({ name }) => name === `${entity.table}_${field.column}_enum`);
      const taken = [...(check?.text ?? '').matchAll(/'([^']*)'/g)].map(([, value]) => value);
      expect({ field: field.name, taken: taken.toSorted() }).toEqual({ field: field.name, taken: [...values].sort() });
    }
  });
});
