import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { isNightly } from '../../test/nightly.ts';
import { insertClients, insertContacts, insertLinks, insertPartners } from '../../test/party-rows.ts';
import { sharedService } from '../../test/service.ts';
import { matches, type Where } from '../../test/where-in-memory.ts';
import type { Searchable } from '../entity/entity.ts';
import { client } from '../modules/clients/client.ts';
import { contact } from '../modules/contacts/contact.ts';
import { checkWhere } from './check-where.ts';
import { conditionOf } from './where.ts';

const { call, store, tenant } = await sharedService();

type Row = Readonly<Record<string, unknown>> & { readonly id: string };
interface Found {
  readonly data: readonly Row[];
  readonly total: number;
}

// Letters with case folding, characters that are special in patterns and SQL, and equal rows.
const texts = [
  'Ab',
  'aB',
  'éa',
  'Éa',
  'Жб',
  'жБ',
  '%',
  '_',
  '\\',
  "a'b",
  'a%b',
  'a_b',
  'a\\b',
  '𝒜',
  '$1',
  'Straße',
  'σίσυφος',
  'Zoë ﬁ',
  'O’Brien',
  "O'Brien",
  'OxBrien',
  'Yves–Luc',
];
const instants = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z', '2025-06-30T23:59:59.999Z'];
const roles = ['PREFERRED', 'BILLING', 'SECONDARY', 'SIGNER', 'OTHER'];
const text = fc.constantFrom(...texts);
const sample = <T>(one: fc.Arbitrary<T>, numRuns: number) => fc.sample(one, { numRuns, seed: 20_261_121 });

const contactIds = await insertContacts(
  store,
  tenant.id,
  sample(
    fc.record({
      firstName: fc.option(text),
      lastName: fc.option(text),
      email: fc.constantFrom(null, 'a@x.co', 'b@x.co'),
      portalEnabled: fc.boolean(),
      active: fc.boolean(),
      createdAt: fc.constantFrom(...instants),
    }),
    40,
  ).map((contact, index) => ({ ...contact, lastName: texts[index] ?? contact.lastName })),
);
const clientIds = await insertClients(
  store,
  tenant.id,
  sample(
    fc.record({
      name: text,
      legalName: fc.option(text),
      status: fc.constantFrom('PROSPECT', 'ACTIVE', 'INACTIVE'),
      outstandingBalance: fc.constantFrom('0.00', '9.00', '10.00', '10.50'),
      onboardedAt: fc.option(fc.constantFrom(...instants)),
      fiscalYearEndMonth: fc.option(fc.constantFrom(1, 6, 12)),
    }),
    40,
  ),
);
const pairs = contactIds.flatMap((contactId, index) =>
  [0, 1].map((step) => ({ contactId, clientId: clientIds[(index + step * 7) % 12] ?? '' })),
);
const rolesOfLinks = fc.constantFrom(['SIGNER'], ['OTHER'], ['OTHER', 'SIGNER'], ['SIGNER', 'OTHER']);
const links = sample(fc.record({ active: fc.boolean(), roles: rolesOfLinks }), pairs.length).map(
  ({ active, roles }, index) => {
    const pair = pairs[index];
    if (pair === undefined) throw new Error('There are as many links as pairs.');
    return { ...pair, active, roles: [...roles] };
  },
);
await insertLinks(store, tenant.id, links);
await insertPartners(
  store,
  tenant.id,
  new Map(
    sample(fc.record({ firstName: text }), 12).flatMap((partner, index) =>
      clientIds.slice(2 * index, 2 * index + 1).map((clientId) => [clientId, partner] as const),
    ),
  ),
);

async function all(path: string): Promise<readonly Row[]> {
  return (await call<Found>('POST', path, { pageSize: 1000 })).body.data;
}
const [contacts, clients, contactClients, staff] = await Promise.all(
  ['contacts', 'clients', 'contact_clients', 'staff'].map((name) => all(`/gql/v1/${name}`)),
);
const staffById = new Map((staff ?? []).map((one) => [one.id, one]));
const refs = new Map((clients ?? []).map((client) => [client.id, client.clientRef]));
const linked = (contactClients ?? []).map((link) => ({ ...link, clientRef: refs.get(String(link.clientId)) }));

/** Rows with their relation as a list, for the evaluation in memory. */
const withLinks = (rows: readonly Row[] | undefined, by: string) =>
  (rows ?? []).map((row) => ({
    ...row,
    contactClients: linked.filter((link) => link[by as 'id'] === row.id),
    partner: staffById.get(String(row.partnerId)),
  }));

function operators(names: readonly string[], value: fc.Arbitrary<unknown>): fc.Arbitrary<Where> {
  const operand = (name: string) =>
    name === '_is_null' ? fc.boolean() : name.endsWith('in') ? fc.array(value, { maxLength: 3 }) : value;
  const one = fc.constantFrom(...names).chain((name) => operand(name).map((given) => ({ [name]: given })));
  return fc.array(one, { minLength: 1, maxLength: 2 }).map((some) => Object.assign({}, ...some));
}

const forAll = ['_eq', '_neq', '_in', '_nin', '_is_null'];
const ordered = ['_gt', '_gte', '_lt', '_lte'];
const piece = fc.constantFrom('%', '_', '\\%', '\\_', '\\\\', 'a', 'B', 'é', 'É', 'ж', 'Б', "'", '𝒜', '$1', '\\a');
const pattern = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(''));
const onText = fc.oneof(
  operators([...forAll, ...ordered], text),
  operators(['_like', '_nlike', '_ilike', '_nilike'], pattern),
  operators(
    ['_search'],
    fc.constantFrom(
      'AB',
      'e',
      'Éa',
      'жб',
      '%',
      '_',
      '\\',
      'STRASSE',
      'ΣΊΣΥΦΟΣ',
      'σισυφοσ',
      'zoe fi',
      '𝒜',
      '$1',
      'O‘B',
      'n-l',
    ),
  ),
);
const onUuid = (ids: readonly string[]) => operators(forAll, fc.constantFrom(...ids));
const onInstant = operators([...forAll, ...ordered], fc.constantFrom(...instants, '2026-01-01T01:00:00+01:00'));
const onFlag = operators(forAll, fc.boolean());
const onRoles = fc.oneof(
  operators(['_contains'], fc.constantFrom(...roles)),
  operators(forAll, fc.oneof(rolesOfLinks, fc.constantFrom(['PREFERRED'], ['SIGNER', 'SIGNER'], []))),
);

const onLink = clauses({
  contactId: onUuid(contactIds),
  clientId: onUuid(clientIds),
  clientRef: operators([...forAll, '_like'], fc.constantFrom(...clientIds)),
  roles: onRoles,
  active: onFlag,
});
const columns = {
  contacts: {
    firstName: onText,
    lastName: onText,
    displayName: onText,
    email: onText,
    portalEnabled: onFlag,
    active: onFlag,
    createdAt: onInstant,
    id: onUuid(contactIds),
    contactClients: onLink,
  },
  clients: {
    name: onText,
    legalName: onText,
    status: operators(forAll, fc.constantFrom('PROSPECT', 'ACTIVE', 'INACTIVE', 'ARCHIVED')),
    outstandingBalance: operators([...forAll, ...ordered], fc.constantFrom('0.00', '9.00', '10.00', '10', '10.5')),
    fiscalYearEndMonth: operators([...forAll, ...ordered], fc.constantFrom(1, 6, 7, 12)),
    onboardedAt: onInstant,
    partnerId: onUuid([...staffById.keys()]),
    contactClients: onLink,
    partner: clauses({ firstName: onText, active: onFlag, terminationDate: operators(['_is_null'], fc.boolean()) }),
  },
};

/** Up to two columns in one clause. */
function clauses(of: Readonly<Record<string, fc.Arbitrary<Where>>>): fc.Arbitrary<Where> {
  const one = fc
    .constantFrom(...Object.entries(of))
    .chain(([name, conditions]) => conditions.map((where) => ({ [name]: where })));
  return fc.array(one, { maxLength: 2 }).map((some) => Object.assign({}, ...some));
}

function wheres(leaf: fc.Arbitrary<Where>): fc.Arbitrary<Where> {
  return fc.letrec<{ where: Where }>((tie) => ({
    where: fc.oneof(
      { depthSize: 'medium', maxDepth: 4 },
      leaf,
      fc.record({ _and: fc.array(tie('where'), { maxLength: 3 }) }),
      fc.record({ _or: fc.array(tie('where'), { maxLength: 3 }) }),
      fc.record({ _not: tie('where') }),
      fc.tuple(leaf, tie('where')).map(([beside, inner]) => ({ ...beside, _not: inner })),
    ),
  })).where;
}

/** Whether a clause is within the cost limit of a search. */
function isAllowed(entity: Searchable, where: Where): boolean {
  try {
    checkWhere(entity, where, () => true);
    return true;
  } catch {
    return false;
  }
}

describe.each([
  ['contacts', contact, withLinks(contacts, 'contactId'), wheres(clauses(columns.contacts))],
  ['clients', client, withLinks(clients, 'clientId'), wheres(clauses(columns.clients))],
] as const)('a search of %s', (name, entity, rows, where) => {
  test('finds exactly the rows that the clause describes, and counts them', async () => {
    expect(rows.length).toBe(40);
    await fc.assert(
      fc.asyncProperty(where, async (clause) => {
        fc.pre(isAllowed(entity, clause));
        const body = { where: clause, pageSize: 1000, includeTotal: true };
        const response = await call<Found>('POST', `/gql/v1/${name}/search`, body);
        expect(response.status).toBe(200);
        const expected = rows.filter((row) => matches(row, clause));
        expect(response.body.data.map((row) => row.id)).toEqual(expected.map((row) => row.id));
        expect(response.body.total).toBe(expected.length);
      }),
      { numRuns: isNightly ? 150 : 10 },
    );
  });

  test('is planned without a sub-select for each row, however the clause is nested', async () => {
    await fc.assert(
      fc.asyncProperty(where, async (clause) => {
        const matching = conditionOf(entity, 'e', tenant.id, clause);
        const plan = await store.read(tenant.id, (session) =>
          session.all(sql`explain (format json) select e.id from ${sql.table(entity.table)} e
            where ${entity.within('e', tenant.id)} and ${matching} order by e.id limit 51`),
        );
        expect(JSON.stringify(plan)).not.toContain('SubPlan');
      }),
      { numRuns: isNightly ? 150 : 10 },
    );
  });
});

test.each([
  ['%é%', ['éa', 'Éa']],
  ['É_', ['éa', 'Éa']],
  ['ЖБ', ['Жб', 'жБ']],
  ['ab', ['Ab', 'aB']],
  ['\\%', ['%']],
])('_ilike %s finds letters of either case, also beyond ASCII', async (like, expected) => {
  const { body } = await call<Found>('POST', '/gql/v1/contacts/search', { where: { lastName: { _ilike: like } } });
  expect(new Set(body.data.map((row) => row.lastName))).toEqual(new Set(expected));
  const { body: not } = await call<Found>('POST', '/gql/v1/contacts/search', {
    where: { lastName: { _nilike: like } },
  });
  const others = texts.filter((one) => !expected.includes(one));
  expect(new Set(not.data.map((row) => row.lastName))).toEqual(new Set(others));
});

test.each([
  ['ea', ['éa', 'Éa']],
  ['zoe fi', ['Zoë ﬁ']],
  ['ΣΊΣΥΦΟΣ', ['σίσυφος']],
  ['sisyphos', []],
  ['STRASSE', ['Straße']],
  ['%', ['%', 'a%b']],
  ['\\', ['\\', 'a\\b']],
  ["o'brien", ['O’Brien', "O'Brien"]],
  ['O‘B', ['O’Brien', "O'Brien"]],
  ['yves-luc', ['Yves–Luc']],
])('_search %s finds parts of texts without case and accents', async (part, expected) => {
  const { body } = await call<Found>('POST', '/gql/v1/contacts/search', { where: { lastName: { _search: part } } });
  expect(new Set(body.data.map((row) => row.lastName))).toEqual(new Set(expected));
});
