import { Random } from '@financial-automation/demo-data/profiles/random';
import { hasRole, mayCall } from '@financial-automation/spec/roles';
import { expect, test } from 'vitest';
import { isNightly } from '../../test/nightly.ts';
import { testService } from '../../test/service.ts';
import { allOperations, contract, type Operation, type Schema, schemaOf } from '../contract/contract.ts';
import { propertiesOf, resolved } from '../contract/fields.ts';
import { type TypeExtension, typesWith } from '../modules/bulk/index.ts';

const { tenant, signIn } = await testService({ filled: 'examples' });
const administrator = await signIn({ roles: ['API_ADMIN'], tenant });

/** A read of all rows, or of one, with what an administrator gets. */
interface Read {
  readonly operation: Operation;
  readonly path: string;
  readonly body?: object;
  /** The roles that read the type in the path. */
  readonly typeRoles: readonly string[];
  readonly schema: Schema;
  readonly whole: unknown;
}

const pageOf = (operation: Operation): Schema =>
  Reflect.get(Object(contract.paths[operation.path]), operation.method.toLowerCase())?.responses['200']?.content?.[
    'application/json'
  ]?.schema ?? {};
const rowIn = (page: Schema) => propertiesOf(page).data?.items?.$ref;

async function read(operation: Operation, path: string, typeRoles: readonly string[], body?: object): Promise<Read> {
  const { status, body: whole } = await administrator.call(operation.method, path, body);
  expect([path, status]).toEqual([path, 200]);
  return { operation, path, typeRoles, schema: pageOf(operation), whole, ...(body && { body }) };
}

const doors: readonly (readonly [path: string, extension: TypeExtension])[] = [
  ['/api/v1/records/batch/{type}', 'x-record'],
  ['/api/v1/codes/batch/{type}', 'x-code-type'],
  ['/api/v1/entries/batch/{type}', 'x-entry-type'],
];

async function reads(): Promise<readonly Read[]> {
  const found: Read[] = [];
  const first = new Map<string, string>();
  for (const operation of allOperations) {
    const [row, isPage] = [rowIn(pageOf(operation)), /^(list|search)/.test(operation.id)];
    if (operation.method !== 'POST' || row === undefined || !isPage || operation.path.includes('{')) continue;
    const page = await read(operation, operation.path, [], { pageSize: 1000, includeTotal: true });
    const [one] = Object(page.whole).data;
    if (one !== undefined) first.set(row, one.id);
    found.push(page);
  }
  for (const operation of allOperations) {
    const id = first.get(pageOf(operation).$ref ?? '');
    if (operation.method === 'GET' && operation.path.endsWith('{id}') && id !== undefined)
      found.push(await read(operation, operation.path.replace('{id}', id), []));
  }
  for (const [path, extension] of doors)
    for (const operation of allOperations.filter((one) => one.path === path))
      for (const { name, readRoles } of typesWith(extension).values())
        found.push(await read(operation, path.replace('{type}', name), extension === 'x-record' ? readRoles : [], {}));
  return found;
}

type Holds = (roles: readonly string[]) => boolean;

/** The properties of a value, whose type says which member of a union describes it. */
function propertiesAt(schema: Schema, value: object): Readonly<Record<string, Schema>> {
  const { oneOf = [], anyOf = [], discriminator, properties } = resolved(schema);
  const named = discriminator?.mapping[String(Reflect.get(value, discriminator.propertyName))];
  const parts = discriminator === undefined ? [...oneOf, ...anyOf] : named === undefined ? oneOf : [{ $ref: named }];
  // Of a record, the first member of the union is that of standard types.
  return Object.assign({}, ...parts.map((part) => propertiesAt(part, value)).reverse(), properties);
}

/** What the contract says that a caller sees of a value. */
function visible(schema: Schema, value: unknown, holds: Holds): unknown {
  if (Array.isArray(value)) {
    const { items = {}, anyOf = [] } = resolved(schema);
    const item = [{ items }, ...anyOf.map(resolved)].find((one) => one.items !== undefined)?.items ?? {};
    const roles = Object.entries(resolved(item)['x-row-roles'] ?? {});
    const seen = value.filter((row) => roles.every(([field, of]) => holds(of[row[field]] ?? [])));
    return seen.map((one) => visible(item, one, holds));
  }
  if (typeof value !== 'object' || value === null) return value;
  const properties = propertiesAt(schema, value);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      const { 'x-read-roles': roles = [], ...own } = resolved(properties[name] ?? {});
      return [name, roles.length > 0 && !holds(roles) ? null : visible(own, part, holds)];
    }),
  );
}

const all = await reads();

test('there is a read of almost every type', () => {
  expect(new Set(all.map(({ operation }) => operation.id)).size).toBeGreaterThan(60);
  expect(all.length).toBeGreaterThan(90);
});

// Of each size, because few roles read little, and many hide little.
test.each(Array.from({ length: isNightly ? 60 : 6 }, (_, index) => index + 1))(
  'callers with several roles see together what each role shows, and nothing else: set %i',
  async (seed) => {
    const random = new Random(seed);
    const share = 0.3 + random.below(60) / 100;
    const roles = (schemaOf('Role').enum ?? []).filter((role) => role !== 'API_ADMIN' && random.chance(share));
    const [held, caller] = [new Set(roles), await signIn({ roles, tenant })];
    const holds: Holds = (required) => hasRole(held, required);
    for (const { operation, path, body, typeRoles, schema, whole } of all) {
      const response = await caller.call<object>(operation.method, path, body);
      const about = [path, `without ${(schemaOf('Role').enum ?? []).filter((role) => !held.has(role))}`];
      const isForbidden = !mayCall(operation, held) || (typeRoles.length > 0 && !holds(typeRoles));
      const row = resolved(schema)['x-row-roles'];
      const isHidden = row !== undefined && visible({ items: schema }, [whole], holds)?.toString() === '';
      expect([...about, response.status]).toEqual([...about, isForbidden ? 403 : isHidden ? 404 : 200]);
      if (response.status !== 200) continue;
      const seen = Object(visible(schema, whole, holds));
      if ('data' in seen && 'total' in seen) seen.total = seen.data.length;
      expect([...about, response.body]).toEqual([...about, seen]);
    }
  },
);
