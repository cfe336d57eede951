import { expect, test } from 'vitest';
import { requestExamplesOf } from '../../test/request-examples.ts';
import { allOperations, contract, type Schema } from '../contract/contract.ts';
import { propertiesOf, resolved } from '../contract/fields.ts';
import { declarationsOf } from '../contract/parameters.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { contact } from '../modules/contacts/contact.ts';
// Entities can only refer to each other once all of them are defined.
import '../app/handlers.ts';
import { checkWhere } from './check-where.ts';
import type { Where } from './clause.ts';

const costOf = (entity: AnyEntity, where: Where) => checkWhere(entity, where, () => true);
const { cost: limit, weights } = contract['x-search-limits'];
const link = { contactClients: { active: { _eq: true } } };
const values = (length: number) => Array.from({ length }, (_, index) => `v${index}`);

test.each<[string, Where, number]>([
  ['nothing', {}, 0],
  ['conditions', { email: { _eq: 'x', _neq: 'y' }, active: { _eq: true } }, 3 * weights.condition],
  ['99 values', { email: { _in: values(99) } }, weights.condition],
  ['200 values', { email: { _nin: values(200) } }, weights.condition + 2 * weights.hundredValues],
  ['patterns', { email: { _like: 'x%', _nilike: '\\%x' } }, 2 * weights.pattern],
  ['unanchored patterns', { email: { _ilike: '%x', _nlike: '_x' } }, 2 * weights.unanchoredPattern],
  ['a relation', link, weights.relation + weights.condition],
  ['a relation without conditions', { contactClients: {} }, weights.relation],
  ['a negated relation', { _not: link }, weights.negatedRelation + weights.condition],
  ['a relation that is negated twice', { _not: { _and: [{ _not: link }] } }, weights.relation + weights.condition],
  ['alternatives', { _or: [link, link, {}] }, 2 * (weights.relation + weights.condition)],
])('the cost of %s matches the contract', (_what, where, cost) => {
  expect(costOf(contact, where)).toBe(cost);
});

test('a search beyond the limit is rejected with advice and with the place where it exceeds the limit', () => {
  const alternatives = (length: number) => ({
    _or: Array.from({ length }, () => ({ contactClients: { clientRef: { _ilike: '%zz0%' } } })),
  });
  const fitting = Math.floor(limit / (weights.relation + weights.unanchoredPattern));
  expect(costOf(contact, alternatives(fitting))).toBeLessThanOrEqual(limit);
  expect(() => costOf(contact, alternatives(64))).toThrow(
    expect.objectContaining({
      code: 'SEARCH_TOO_COMPLEX',
      status: 400,
      message: expect.stringMatching(new RegExp(`costs more than ${limit}. Replace `)),
      errors: [
        expect.objectContaining({
          in: 'body',
          pointer: expect.stringMatching(new RegExp(`^/where/_or/${fitting}/contactClients`)),
        }),
      ],
    }),
  );
});

const searches = allOperations
  .filter(({ id }) => id.startsWith('search'))
  .flatMap((operation) => {
    const [, own] = declarationsOf(operation);
    const { where: schema = {} } = propertiesOf(own?.requestBody?.content['application/json']?.schema ?? {});
    return [...requestExamplesOf(operation)].map(([name, example]) => {
      const { where } = example as { readonly where?: Where };
      return [operation.id, name, entityLike(schema), where] as const;
    });
  });

/** An entity with only what the contract declares: some have no table yet. */
function entityLike(where: Schema): AnyEntity {
  const isFilter = (schema: Schema) => Object.keys(schema.properties ?? {}).some((name) => name.startsWith('_'));
  const related = Object.entries(propertiesOf(resolved(where))).filter(
    ([name, schema]) => !name.startsWith('_') && !isFilter(resolved(schema)),
  );
  const relations = Object.fromEntries(
    related.map(([name]) => [name, { to: () => ({ fields: new Map(), readRoles: [], relations: {} }) }]),
  );
  return { fields: new Map(), relations } as unknown as AnyEntity;
}

test.each(searches)('%s › the example %s costs at most half of the limit', (_id, _name, entity, where) => {
  expect(where).toBeDefined();
  expect(costOf(entity, where ?? {})).toBeLessThanOrEqual(limit / 2);
});

test('the contract has examples with relations', () => {
  const relations = searches.flatMap(([, , entity, where]) =>
    Object.keys(where ?? {}).filter((key) => entity.relations[key]),
  );
  expect(relations.length).toBeGreaterThan(5);
});
