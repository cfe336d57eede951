/** The database writes rows as JSON. What callers get is compared with the columns, as `pg` reads them. */
import { awkwardNames } from '@financial-automation/demo-data/profiles/names';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { recordsOf } from '../../test/modules/records.ts';
import { sampleOf } from '../../test/nightly.ts';
import { testService } from '../../test/service.ts';
import { allOperations, isRead, type Operation, type Schema } from '../contract/contract.ts';
import { type FieldKind, fieldOf, propertiesOf } from '../contract/fields.ts';
import { declarationsOf, referred } from '../contract/parameters.ts';
import { jsonObject } from '../entity/embed.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { visibleTo } from '../entity/field-access.ts';
import { allEntities } from '../entity/registry.ts';
import type { AnyStoredRow } from '../entity/row.ts';
import { readRows, selection } from '../entity/select.ts';

const service = await testService({ filled: 'examples' });
const { store, tenant, signIn } = service;
const admin = await signIn({ roles: ['API_ADMIN'], tenant });

/** Every character that JSON escapes, and some that look as if they had to be. */
const awkwardTexts = [
  ...awkwardNames.map((name) => name.slice(0, 200)),
  '"\\/{},[]:\' \u007f \u2028\u2029 e\u0301 \u{10ffff}',
  Array.from({ length: 31 }, (_, index) => String.fromCharCode(index + 1)).join(''),
];
const clients = awkwardTexts.slice(0, -1).map((text, index) => ({
  type: 'Client',
  systemRef: `awkward ${index}`,
  attributes: { name: text },
  metadata: { text },
  sysRefs: [{ system: 'erp', ref: [...text].slice(0, 50).join('') }],
}));
expect((await recordsOf(admin).upsert(clients)).map(({ error }) => error)).toEqual(clients.map(() => null));

/** All rows of an entity by ID, from a column for each field. */
async function rowsByColumns(entity: AnyEntity): Promise<ReadonlyMap<string, AnyStoredRow>> {
  const columns = entity.shown.map(({ name }) => sql`(${entity.value('e', name)}) as ${sql.id(name)}`);
  const rows = await store.read(tenant.id, (session) =>
    session.all<AnyStoredRow>(
      sql`select ${sql.join(columns)} from ${sql.table(entity.table)} e where ${entity.within('e', tenant.id)}`,
    ),
  );
  return new Map(rows.map((row) => [row.id, row]));
}

const entities = [...allEntities()];
const expected = new Map<string, ReadonlyMap<string, AnyStoredRow>>();
for (const entity of entities) expected.set(entity.type, await rowsByColumns(entity));

test.each(entities.map((entity) => [entity.type, entity] as const))(
  'rows of %s have the values of their columns',
  async (type, entity) => {
    const rows = await store.read(tenant.id, (session) =>
      readRows(session, sql`${selection(entity)} where ${entity.within('e', tenant.id)}`),
    );
    expect(new Map(rows.map((row) => [row.id, row]))).toEqual(expected.get(type));
  },
);

/** The entity whose rows an operation returns, as a page or alone. */
function rowsOf(operation: Operation): { readonly entity: AnyEntity; readonly isPage: boolean } | undefined {
  const isPlain = !operation.path.replace(/\/\{id\}$/, '').includes('{');
  const declared = declarationsOf(operation)[1]?.responses?.[200];
  const body = declared === undefined ? undefined : referred(declared).content?.['application/json']?.schema;
  if (!isPlain || !isRead(operation) || body === undefined) return undefined;
  const nameIn = ({ $ref }: Schema) => $ref?.split('/').at(-1);
  const items = propertiesOf(body).data?.items;
  const name = nameIn(items ?? body);
  const entity = entities.find(({ type }) => type === name);
  return entity === undefined ? undefined : { entity, isPage: items !== undefined };
}

const reads = allOperations.flatMap((operation) => {
  const found = rowsOf(operation);
  return found === undefined ? [] : [{ id: operation.id, operation, ...found }];
});

test('there are reads of most entities', () => {
  expect(new Set(reads.map(({ entity }) => entity.type)).size).toBeGreaterThan(25);
  expect(reads.filter(({ isPage }) => !isPage).length).toBeGreaterThan(15);
});

/** Of operations that require parameters. */
const queries: Readonly<Record<string, string>> = { listUnpaidInvoices: '?clientRef=C-01042' };

function someIds(rows: ReadonlyMap<string, AnyStoredRow>): readonly string[] {
  return [...rows.keys()].slice(-3);
}

describe.each(sampleOf(reads, 5))('$id', ({ operation, entity, isPage }) => {
  const { method, path, roles } = operation;

  test.each([
    ['every role', ['API_ADMIN']],
    ['one of its roles', roles.slice(0, 1)],
  ])('returns the values of the columns to a caller with %s', async (_name, held) => {
    const caller = await signIn({ roles: held, tenant });
    const holds = (required: readonly string[]) =>
      held.includes('API_ADMIN') || required.some((role) => held.includes(role));
    const known = expected.get(entity.type) ?? new Map<string, AnyStoredRow>();
    const paths = isPage
      ? [`${path}${queries[operation.id] ?? ''}`]
      : someIds(known).map((id) => path.replace('{id}', id));
    for (const one of paths) {
      const { status, body } = await caller.call<{ data: AnyStoredRow[] } & AnyStoredRow>(
        method,
        one,
        method === 'POST' ? { pageSize: 100 } : undefined,
      );
      // Some rows are hidden from callers without another role.
      if (status === 404 && !isPage) continue;
      expect(status).toBe(200);
      for (const row of isPage ? body.data : [body]) {
        const stored = known.get(row.id);
        expect(row).toEqual(stored && visibleTo(holds, entity, stored));
      }
    }
  });
});

describe('a value', () => {
  const values: Readonly<Record<FieldKind, readonly string[]>> = {
    uuid: [`'0198c0de-0000-7000-8000-000000000001'::uuid`],
    text: [],
    decimal: ['99999999999999.99', '-0.01', '0.00', '1.50', '100', '0.00000000000000000001', `trim_scale(1.500)`].map(
      (value) => `${value}::numeric`,
    ),
    integer: ['9007199254740991::bigint', '-9007199254740991::bigint', '0::integer'],
    boolean: ['true', 'false'],
    date: ['0001-01-01', '1582-10-10', '9999-12-31'].map((day) => `date '${day}'`),
    instant: [
      '0001-01-01 00:00:00',
      '1969-12-31 23:59:59.9999',
      '1883-11-18 12:03:58.5',
      '2026-10-25 01:30:00.123456',
      '9999-12-31 23:59:59.999',
    ].map((at) => `timestamptz '${at}+00'`),
    list: [
      `array['a "b" {c}', null, '']::text[]`,
      `'{}'::uuid[]`,
      `'[1.50, {"a": [null, "\\"", 1e3]}]'::jsonb`,
      `'[ 1 , 2 ]'::json`,
    ],
    object: [`'{"b": {"c": "\\\\ \\u0007 é"}, "a": 0.10}'::jsonb`, `'{"b" : 1}'::json`],
  };
  const schemas: Readonly<Record<FieldKind, Schema>> = {
    uuid: { type: 'string', format: 'uuid' },
    text: { type: 'string' },
    decimal: { type: 'string', format: 'decimal' },
    integer: { type: 'integer' },
    boolean: { type: 'boolean' },
    date: { type: 'string', format: 'date' },
    instant: { type: 'string', format: 'date-time' },
    list: { type: 'array' },
    object: { type: 'object' },
  };
  const cases = Object.entries(values).flatMap(([kind, literals]) =>
    [...literals, 'null'].map((literal) => ({ kind: kind as FieldKind, value: sql.raw(literal), name: literal })),
  );
  const texts = awkwardTexts.map((text) => ({
    kind: 'text' as const,
    value: sql`${text}::text`,
    name: JSON.stringify(text),
  }));

  test.each([...cases, ...texts])('$kind $name is written as it is read from a column', async ({ kind, value }) => {
    const object = jsonObject([[fieldOf('value', schemas[kind], undefined), value]]);
    const row = await store.read(tenant.id, (session) =>
      session.first<{ json: string; column: unknown }>(sql`select ${object}::text as json, ${value} as column`),
    );
    expect(JSON.parse(row?.json ?? '')).toEqual({ value: row?.column });
  });
});
