import { describe, expect, test } from 'vitest';
import { sampleOf } from '../../test/nightly.ts';
import { sharedService } from '../../test/service.ts';
import { allOperations, contract, type Operation, readRolesOf, type Schema, schemaOf } from '../contract/contract.ts';
import { propertiesOf } from '../contract/fields.ts';
import { declarationsOf } from '../contract/parameters.ts';
import type { AnyEntity, Relation, Searchable } from '../entity/entity.ts';
import { allEntities } from '../entity/registry.ts';

const service = await sharedService();

/** A relation that a search or an aggregate filters by. */
interface RelationFilter {
  readonly operation: Operation;
  readonly relation: string;
  /** The role of the operation. */
  readonly own: string;
  /** The roles of which one is required to read the related rows; none if they belong to the row. */
  readonly roles: readonly string[];
}

/** The relations of a where clause, with the type of the related rows. */
function relationsOf(where: Schema): [relation: string, type: string][] {
  return Object.entries(propertiesOf(where)).flatMap(([name, { $ref = '' }]): [string, string][] => {
    const [, type] = /(\w+)RelationWhere$/.exec($ref) ?? [];
    // Keys in other systems belong to the row, and have no columns of a row.
    return type === undefined || type === 'SysRef' ? [] : [[name, type]];
  });
}

const searches = allOperations.flatMap((operation): [Operation, Schema][] => {
  const [, own] = declarationsOf(operation);
  const { where } = propertiesOf(own?.requestBody?.content['application/json']?.schema ?? {});
  return where === undefined ? [] : [[operation, where]];
});
const filters = searches.flatMap(([operation, where]) =>
  relationsOf(where).map(([relation, type]): RelationFilter => {
    const roles = (readRolesOf(type) ?? []).filter((role) => role !== 'REF_R');
    return { operation, relation, own: operation.roles[0] ?? '', roles };
  }),
);
const ofOtherTypes = filters.filter(({ own, roles }) => roles.length > 0 && !roles.includes(own));
const named = (list: readonly RelationFilter[]) =>
  list.map((filter) => [filter.operation.id, filter.relation, filter] as const);

/** Requests that filter by a relation, at any depth. */
function requestsOf({ operation, relation }: RelationFilter): object[] {
  const condition = { [relation]: { id: { _is_null: false } } };
  const clauses = [
    condition,
    { [relation]: {} },
    { _not: condition },
    { _and: [{ _or: [{ active: { _eq: true } }, condition] }] },
  ];
  return clauses.map((where) =>
    operation.id.startsWith('aggregate') ? { where, measures: { rows: { function: 'COUNT' } } } : { where },
  );
}

test('the contract has searches and aggregates that filter by rows of other types', () => {
  expect(new Set(filters.map(({ operation }) => operation.id.replace(/[A-Z].*/, '')))).toEqual(
    new Set(['search', 'aggregate']),
  );
  expect(ofOtherTypes.length).toBeGreaterThan(40);
});

describe.each(sampleOf(named(ofOtherTypes), 4))('%s › a condition on %s', (_operation, relation, filter) => {
  const { operation, own, roles } = filter;

  test('is rejected without the role that reads its type, wherever it is', async () => {
    const caller = await service.signIn({ roles: [own] });
    for (const request of requestsOf(filter)) {
      const response = await caller.call(operation.method, operation.path, request);
      const pointer = expect.stringMatching(new RegExp(`^/where/.*${relation}$|^/where/${relation}$`));
      expect(response).toMatchObject({ status: 403, body: { code: 'FORBIDDEN', errors: [{ in: 'body', pointer }] } });
    }
  });

  test('is accepted with that role', async () => {
    for (const role of roles) {
      const caller = await service.signIn({ roles: [own, role] });
      for (const request of requestsOf(filter))
        expect(await caller.call(operation.method, operation.path, request)).toMatchObject({ status: 200 });
    }
  });
});

test.each(sampleOf(named(filters.filter((filter) => !ofOtherTypes.includes(filter))), 4))(
  '%s › a condition on %s requires no other role',
  async (_operation, _relation, filter) => {
    const caller = await service.signIn({ roles: [filter.own] });
    const [request] =
      filter.relation === 'allocations'
        ? [{ where: { allocations: {} }, measures: { rows: { function: 'COUNT' } } }]
        : requestsOf(filter);
    const { measures: _measures, ...search } = Object(request);
    const body = filter.operation.id.startsWith('aggregate') ? request : search;
    expect(await caller.call(filter.operation.method, filter.operation.path, body)).toMatchObject({ status: 200 });
  },
);

/** The columns that filter by values which only some readers of the row see, with the roles of which one is required. */
const restricted = searches.flatMap(([operation, where]) => {
  const [, type = ''] = /(\w+)Where$/.exec(where.$ref ?? '') ?? [];
  return Object.entries(propertiesOf(contract.components.schemas[type] ?? {})).flatMap(([column, field]) => {
    const roles = field['x-read-roles'] ?? [];
    const { $ref = '' } = propertiesOf(where)[column] ?? {};
    return roles.length > 0 && $ref.endsWith('Filter') ? [[operation.id, column, roles, operation] as const] : [];
  });
});

test('the contract has searches and aggregates that filter by rates', () => {
  expect(restricted.map(([operation, column]) => `${operation} ${column}`)).toEqual(
    expect.arrayContaining(['searchTimeEntries billingRate', 'aggregateTimeEntries billingRate']),
  );
});

test.each(sampleOf(restricted, 3))(
  '%s › a condition on %s requires the role that reads it',
  async (_id, column, roles, operation) => {
    const condition = { [column]: { _gt: '1.00' } };
    const own = operation.roles[0] ?? '';
    for (const where of [condition, { _not: condition }, { _or: [{ active: { _eq: true } }, condition] }]) {
      const body = operation.id.startsWith('aggregate')
        ? { where, measures: { rows: { function: 'COUNT' } } }
        : { where };
      const without = await service.signIn({ roles: [own] });
      const pointer = expect.stringMatching(new RegExp(`^/where/(.*/)?${column}$`));
      expect(await without.call(operation.method, operation.path, body)).toMatchObject({
        status: 403,
        body: { code: 'FORBIDDEN', errors: [{ in: 'body', pointer }] },
      });
      for (const role of roles) {
        const reader = await service.signIn({ roles: [own, role] });
        expect(await reader.call(operation.method, operation.path, body)).toMatchObject({ status: 200 });
      }
    }
  },
);

const whereOf = ({ schema }: AnyEntity): Schema | undefined =>
  contract.components.schemas[`${schema}Where`] ?? contract.components.schemas[`${schema}RelationWhere`];
const targetOf = ({ to, onward }: Relation): Searchable => {
  const next = onward === undefined ? undefined : to().relations[onward];
  return next === undefined ? to() : targetOf(next);
};
const searched = [...allEntities()].filter((entity) => whereOf(entity) !== undefined);

test.each(searched.map((entity) => [entity.type, entity] as const))(
  '%s › relations lead to the types that the contract names',
  (_type, entity) => {
    for (const [relation, type] of relationsOf(whereOf(entity) ?? {})) {
      const to = entity.relations[relation];
      if (to === undefined) throw new Error(`${entity.type} has no relation ${relation}.`);
      expect([relation, targetOf(to).readRoles]).toEqual([
        relation,
        targetOf(to).readRoles?.length === 0 ? [] : readRolesOf(type),
      ]);
    }
  },
);

test.each(searched.map((entity) => [entity.type, entity] as const))(
  '%s › no column finds out more of other rows than their keys',
  (_type, entity) => {
    const keys = schemaOf('ReferenceKey').enum ?? [];
    for (const column of Object.keys(propertiesOf(whereOf(entity) ?? {}))) {
      const related = entity.relatedField(column);
      if (related === undefined || related.relation.to().readRoles?.length === 0) continue;
      expect([column, keys.includes(related.field)]).toEqual([column, true]);
    }
  },
);
