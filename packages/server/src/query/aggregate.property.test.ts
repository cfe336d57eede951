import fc from 'fast-check';
import { type RawBuilder, sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { recordsOf } from '../../test/modules/records.ts';
import { testService } from '../../test/service.ts';
import { allOperations, contract, type Schema } from '../contract/contract.ts';
import { propertiesOf, resolved } from '../contract/fields.ts';
import { ledgerEntry } from '../modules/billing/ledger/ledger-entry.ts';
import { type Decimal, parseDecimal, sum, zero } from '../platform/decimal.ts';
import type { Query } from '../platform/store/session.ts';
import { aggregateReader } from './aggregate.ts';
import type { AggregateRequest, GroupBy, Measure } from './aggregate-request.ts';

/**
 * Random aggregates of every resource, compared with a computation over the rows that its search returns, on both engines.
 * AGGREGATE_RUNS sets how many are tried of each.
 */
const isSample = process.env.AGGREGATE_RUNS === undefined;
const numRuns = Number(process.env.AGGREGATE_RUNS ?? '1');
const seed = Number(process.env.AGGREGATE_SEED ?? '20261123');

const caller = await testService({ filled: 'sample' });
const { service, tenant, call } = caller;
// Money of nobody is in groups without a client.
for (const [paymentDate, amount] of [
  ['2025-06-15', '40.00'],
  ['2026-02-10', '25.00'],
])
  await recordsOf(caller).make('Payment', { clientId: null, paymentDate, amount, method: 'CHECK', source: 'MANUAL' });
const today = Temporal.Now.plainDateISO(tenant.timeZone).toString();
const monthsAgo = Temporal.PlainDate.from(today).subtract({ months: 4 }).toString();

type Row = Readonly<Record<string, unknown>>;
type Key = string | boolean | number | null;
interface Group {
  readonly key: Readonly<Record<string, Key>>;
  readonly values: Readonly<Record<string, string | null>>;
}
interface Page {
  readonly data: readonly Group[];
  readonly nextCursor: string | null;
}

interface WithBody {
  readonly post: {
    readonly requestBody: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
  };
}

/** All rows that a search returns. */
async function rowsOf(path: string, where: object): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
    const body: object = { where, pageSize: 1000, ...(cursor !== null && { cursor }) };
    const page = await call<{ data: Row[]; nextCursor: string | null }>('POST', path, body);
    if (page.status !== 200) throw new Error(JSON.stringify(page.body));
    rows.push(...page.body.data);
    cursor = page.body.nextCursor;
  }
  return rows;
}

/** What returns all rows of each type that groups can have columns of. */
const readsOfRelated: Readonly<Record<string, string>> = {
  Client: '/gql/v1/clients/search',
  Job: '/gql/v1/jobs',
  Staff: '/gql/v1/staff/search',
  Task: '/v1/tasks/search',
  TaskType: '/v1/task-types/search',
};
const known = new Map<string, Promise<ReadonlyMap<unknown, Row>>>();

/** The rows of a type by their IDs. */
function rowsById(type: string): Promise<ReadonlyMap<unknown, Row>> {
  return known.getOrInsertComputed(type, async () => {
    const path = readsOfRelated[type];
    if (path === undefined) throw new Error(`This test does not read ${type}.`);
    return new Map((await rowsOf(path, {})).map((row) => [row.id, row]));
  });
}

/** The rows with the columns of the rows that they refer to: `client.name`. */
async function withRelated(type: string, rows: readonly Row[], columns: readonly Column[]): Promise<readonly Row[]> {
  const related = contract.components.schemas[`${type}Relation`]?.['x-related'] ?? {};
  const found: Record<string, unknown>[] = rows.map((row) => ({ ...row }));
  for (const { name: column } of columns.filter(({ name }) => name.includes('.'))) {
    const [relation = '', name = ''] = column.split('.');
    const to = related[relation];
    if (to === undefined) throw new Error(`${type} has no ${relation}.`);
    const targets = await rowsById(to.type);
    for (const row of found) row[column] = targets.get(row[to.by])?.[name] ?? null;
  }
  return found;
}

type Kind = 'Day' | 'Instant' | 'Number' | 'Value';
interface Column {
  readonly name: string;
  readonly kind: Kind;
  readonly places: number | undefined;
  readonly scale: number;
}

function columnsOf(type: string): readonly Column[] {
  return (['Day', 'Instant', 'Number', 'Value'] as const).flatMap((kind) =>
    (contract.components.schemas[`${type}${kind}Column`]?.enum ?? []).map((name) => {
      const field = resolved(propertiesOf(contract.components.schemas[type] ?? {})[name] ?? {});
      const isInteger = [field.type].flat().includes('integer');
      const scale = field['x-scale'] ?? 0;
      const isFixed = isInteger || (field.pattern !== undefined && !new RegExp(field.pattern).test('0'));
      return { name, kind, scale, places: isFixed ? scale : undefined };
    }),
  );
}

/** The first day of the period that a day is in. */
function periodOf(day: Temporal.PlainDate, unit: NonNullable<GroupBy['by']>): Temporal.PlainDate {
  switch (unit) {
    case 'DAY':
      return day;
    case 'WEEK':
      return day.subtract({ days: day.dayOfWeek - 1 });
    case 'MONTH':
      return day.with({ day: 1 });
    case 'QUARTER':
      return day.with({ day: 1, month: 3 * Math.floor((day.month - 1) / 3) + 1 });
    case 'YEAR':
      return day.with({ day: 1, month: 1 });
  }
}

/** The key of a row, and what groups are ordered by. */
function keyOf(row: Row, { column, by, boundaries, daysBefore }: GroupBy, of: Column | undefined) {
  const { kind, places } = of ?? {};
  const value = row[column] ?? null;
  if (value === null) return { key: null, rank: null };
  const text = String(value);
  if (boundaries !== undefined) {
    const number =
      daysBefore === undefined
        ? parseDecimal(text)
        : parseDecimal(String(Temporal.PlainDate.from(text).until(daysBefore).total('days')));
    const index = boundaries.findLastIndex((boundary) => parseDecimal(String(boundary)).lte(number));
    return { key: String(boundaries[index] ?? 'below'), rank: index };
  }
  if (by !== undefined) {
    const day =
      kind === 'Instant' ? Temporal.Instant.from(text).toZonedDateTimeISO(tenant.timeZone).toPlainDate() : text;
    const key = periodOf(Temporal.PlainDate.from(day), by).toString();
    return { key, rank: key };
  }
  if (kind === 'Number' && typeof value === 'string') {
    const key = parseDecimal(text).toFixed(places);
    return { key, rank: parseDecimal(text) };
  }
  return { key: value as Key, rank: value as Key };
}

function figureOf(rows: readonly Row[], measure: Measure, columns: ReadonlyMap<string, Column>): string | null {
  if (measure.column === undefined) return String(rows.length);
  const { column } = measure;
  const { kind, places, scale = 0 } = columns.get(column) ?? {};
  const texts = rows.map((row) => row[column] ?? null).filter((value) => value !== null);
  const [first, ...others] = texts.map(String);
  if (first === undefined) return null;
  if (kind !== 'Number') {
    const isMore = (one: string, other: string) => (measure.function === 'MAX' ? one > other : one < other);
    return others.reduce((best, one) => (isMore(one, best) ? one : best), first);
  }
  const values = [first, ...others].map(parseDecimal);
  switch (measure.function) {
    case 'SUM':
      return sum(values).toFixed(places);
    case 'AVERAGE':
      return meanOf(values, scale + 2);
    default: {
      const isMore = (one: Decimal, other: Decimal) => (measure.function === 'MAX' ? one.gt(other) : one.lt(other));
      return values.reduce((best, one) => (isMore(one, best) ? one : best)).toFixed(places);
    }
  }
}

/** The mean in whole numbers, so that it is rounded once: half away from zero. */
function meanOf(values: readonly Decimal[], places: number): string {
  const total = sum(values);
  const shifted = BigInt(
    total
      .abs()
      .times(parseDecimal(`1${'0'.repeat(places)}`))
      .toFixed(0),
  );
  const count = BigInt(values.length);
  const digits = ((2n * shifted + count) / (2n * count)).toString().padStart(places + 1, '0');
  const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`;
  return parseDecimal(total.lt(zero) ? `-${text}` : text).toFixed(places);
}

type Rank = Key | Decimal;

/** Compares as the database does: texts by code point, nulls last unless the direction says otherwise. */
function compare(one: Rank, other: Rank, direction: string): number {
  if (one === null || other === null) {
    if (one === other) return 0;
    return (one === null) === direction.endsWith('_nulls_first') ? -1 : 1;
  }
  const sign = direction.startsWith('desc') ? -1 : 1;
  if (typeof one === 'object' && typeof other === 'object') return sign * one.cmp(other);
  if (typeof one === 'string' && typeof other === 'string')
    return sign * Buffer.compare(Buffer.from(one), Buffer.from(other));
  return sign * (Number(one) - Number(other));
}

/** The groups as they are calculated without a database. */
function expected(rows: readonly Row[], request: AggregateRequest, all: readonly Column[]): readonly Group[] {
  const { groupBy = [], measures, orderBy = [] } = request;
  const columns = new Map(all.map((column) => [column.name, column]));
  const keyed = rows.map((row) => ({
    row,
    keys: groupBy.map((one) => keyOf(row, one, columns.get(one.column))),
  }));
  const groups = [...Map.groupBy(keyed, ({ keys }) => JSON.stringify(keys.map(({ key }) => key))).values()];
  if (groupBy.length === 0 && groups.length === 0) groups.push([]);
  const ranked = groups.map((members) => {
    const own = members.map(({ row }) => row);
    const values = Object.fromEntries(
      Object.entries(measures).map(([name, one]) => [name, figureOf(own, one, columns)]),
    );
    const keys = members[0]?.keys ?? [];
    const key = Object.fromEntries(groupBy.map(({ column }, index) => [column, keys[index]?.key ?? null]));
    return { key, values, ranks: new Map(groupBy.map(({ column }, index) => [column, keys[index]?.rank ?? null])) };
  });
  const rankOf = (group: (typeof ranked)[number], measure: string | undefined, column: string): Rank => {
    if (measure === undefined) return group.ranks.get(column) ?? null;
    const value = group.values[measure] ?? null;
    const of = measures[measure];
    const isNumber = of?.column === undefined || columns.get(of.column)?.kind === 'Number';
    return value === null || !isNumber ? value : parseDecimal(value);
  };
  const order = [...orderBy, ...groupBy.map(({ column }) => ({ column, measure: undefined, direction: 'asc' }))];
  return ranked
    .toSorted((one, other) => {
      for (const { measure, column = '', direction } of order) {
        const result = compare(rankOf(one, measure, column), rankOf(other, measure, column), direction);
        if (result !== 0) return result;
      }
      return 0;
    })
    .map(({ key, values }) => ({ key, values }));
}

const unit = fc.constantFrom('DAY', 'WEEK', 'MONTH', 'QUARTER', 'YEAR');
const direction = fc.constantFrom('asc', 'desc', 'asc_nulls_first', 'desc_nulls_first', 'desc_nulls_last');
const boundaries = fc
  .uniqueArray(fc.constantFrom('-100.00', 0, '0.5', 1, 8, '30', 90, '1000.00', 250_000), { minLength: 1, maxLength: 6 })
  .map((list) => list.toSorted((one, other) => Number(one) - Number(other)));

function groupByOf({ name: column, kind }: Column): fc.Arbitrary<GroupBy> {
  const whole = fc.constant({ column });
  if (kind === 'Number')
    return fc.oneof(
      whole,
      boundaries.map((list) => ({ column, boundaries: list })),
    );
  if (kind === 'Instant')
    return fc.oneof(
      whole,
      unit.map((by) => ({ column, by })),
    );
  if (kind === 'Value') return whole;
  const daysBefore = fc.constantFrom('2026-09-30', '2024-02-29', '2026-11-23');
  const ages = fc.record({ boundaries, daysBefore }).map((age) => ({ column, ...age }));
  return fc.oneof(
    whole,
    unit.map((by) => ({ column, by })),
    ages,
  );
}

function measureOf(columns: readonly Column[]): fc.Arbitrary<Measure> {
  const numbers = columns.filter(({ kind }) => kind === 'Number').map(({ name }) => name);
  const ordered = columns.filter(({ kind }) => kind !== 'Value').map(({ name }) => name);
  return fc.oneof(
    fc.constant<Measure>({ function: 'COUNT' }),
    fc.record({ function: fc.constantFrom('SUM', 'AVERAGE'), column: fc.constantFrom(...numbers) }),
    fc.record({ function: fc.constantFrom('MIN', 'MAX'), column: fc.constantFrom(...ordered) }),
  );
}

function requestOf(columns: readonly Column[]): fc.Arbitrary<AggregateRequest> {
  const groupBy = fc
    .uniqueArray(fc.constantFrom(...columns), { maxLength: 4 })
    .chain((some) => fc.tuple(...some.map(groupByOf)));
  const measures = fc.dictionary(fc.constantFrom('a', 'b1', 'total', 'constructor', 'toString'), measureOf(columns), {
    minKeys: 1,
    noNullPrototype: true,
  });
  return fc
    .record({ groupBy, measures, keys: fc.array(fc.tuple(fc.nat(), direction), { maxLength: 3 }) })
    .map(({ groupBy: groups, measures: figures, keys }) => {
      const names = [
        ...groups.map(({ column }) => ({ column })),
        ...Object.keys(figures).map((measure) => ({ measure })),
      ];
      const orderBy = keys.map(([index, one]) => ({ ...names[index % names.length], direction: one }));
      return { groupBy: groups, measures: figures, orderBy };
    });
}

const aggregates = allOperations.filter(({ id }) => id.startsWith('aggregate'));

test('this test aggregates every resource that has a search, but for lists of people, addresses, drafts, links, mails and types', () => {
  const searches = allOperations
    .filter(({ id }) => id.startsWith('search'))
    .map(({ path }) => path.replace('/search', ''));
  const gql = [
    'contacts',
    'contact_infos',
    'staff',
    'draft_invoices',
    'draft_invoice_histories',
    'quick_payment_links',
    'mails',
  ];
  const without = ['/v1/task-types', ...gql.map((name) => `/gql/v1/${name}`)];
  expect(aggregates.map(({ path }) => path.replace('/aggregate', '')).toSorted()).toEqual(
    searches.filter((path) => !without.includes(path)).toSorted(),
  );
});

/** By day every third resource. */
const tried = aggregates
  .map(({ id, path }, index) => ({ id, path, index }))
  .filter(({ index }) => !isSample || index % 3 === 0);
describe.each(tried)('$id', (operation) => {
  const { schema } = (contract.paths[operation.path] as WithBody).post.requestBody.content['application/json'];
  const type = String(schema.$ref).split('/').at(-1)?.replace('AggregateRequest', '') ?? '';
  const columns = columnsOf(type);

  test('returns what a computation over the listed rows gives, on pages of any size', async () => {
    expect(columns.length).toBeGreaterThan(10);
    // In a sample a part of the ledger and the journal, which have many times as many rows as the others.
    const part = isSample && /^(Ledger|Journal)Entry$/.test(type) ? { businessDate: { _gte: monthsAgo } } : {};
    const wheres = [part, { ...part, active: { _eq: true } }, { createdAt: { _lt: '2000-01-01T00:00:00.000Z' } }];
    const listings = new Map<number, Promise<readonly Row[]>>();
    const search = operation.path.replace('/aggregate', '/search');
    const listed = (index: number) =>
      listings.getOrInsertComputed(index, async () =>
        withRelated(type, await rowsOf(search, wheres[index] ?? {}), columns),
      );
    await fc.assert(
      fc.asyncProperty(
        requestOf(columns),
        fc.nat(wheres.length - 1),
        fc.constantFrom(7, 1000),
        async (request, index, pageSize) => {
          const groups: Group[] = [];
          for (let cursor: string | null = null, pages = 0; pages === 0 || (cursor !== null && pages < 20); pages++) {
            const body: object = { ...request, where: wheres[index], pageSize, ...(cursor !== null && { cursor }) };
            const response = await call<Page>('POST', operation.path, body);
            if (response.status !== 200) throw new Error(JSON.stringify(response.body));
            groups.push(...response.body.data);
            cursor = response.body.nextCursor;
          }
          const rows = await listed(index);
          if (index < 2) expect(rows.length).toBeGreaterThan(0);
          const all = expected(rows, request, columns);
          expect(groups).toEqual(all.slice(0, 20 * pageSize));
        },
      ),
      // Each with another seed, so that a few runs of all of them try every kind of request.
      { numRuns, seed: seed + operation.index },
    );
  });
});

describe('aggregateLedgerEntries › balances as of a day', () => {
  const pagesOf = async (request: object): Promise<readonly Group[]> => {
    const groups: Group[] = [];
    for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
      const body: object = { ...request, ...(cursor !== null && { cursor }) };
      const page: { status: number; body: Page } = await call<Page>('POST', '/gql/v1/ledger_entries/aggregate', body);
      if (page.status !== 200) throw new Error(JSON.stringify(page.body));
      groups.push(...page.body.data);
      cursor = page.body.nextCursor;
    }
    return groups;
  };
  const measures = { open: { function: 'SUM', column: 'amount' } };

  test('are those of all entries, in every order and on pages of any size', async () => {
    const [all] = await pagesOf({
      groupBy: [],
      measures: {
        first: { function: 'MIN', column: 'businessDate' },
        last: { function: 'MAX', column: 'businessDate' },
      },
    });
    const daysFrom = (day: string, least: number, most: number) =>
      fc.integer({ min: least, max: most }).map((days) => Temporal.PlainDate.from(day).add({ days }).toString());
    // Few entries are left to add up near the first day, and to take back near the last one.
    const days = fc.oneof(
      daysFrom(today, -1_200, 20),
      daysFrom(all?.values.first ?? today, -2, 60),
      daysFrom(all?.values.last ?? today, -60, 2),
    );
    const groupBy = fc.uniqueArray(
      fc.constantFrom<GroupBy>(
        { column: 'clientId' },
        { column: 'jobId' },
        { column: 'currency' },
        { column: 'client.name' },
        { column: 'workDate', by: 'MONTH' },
        { column: 'workDate', daysBefore: today, boundaries: [0, 31, 61, 91] },
        { column: 'workDate', daysBefore: today, boundaries: ['-30.5', '200.5'] },
        { column: 'dueDate', daysBefore: today, boundaries: [1, 31, 61, 91] },
        { column: 'businessDate', daysBefore: today, boundaries: [0, 31, 61] },
      ),
      { minLength: 1, maxLength: 3, selector: ({ column }) => column },
    );
    const others = fc.constantFrom(
      { account: { _eq: 'WIP' } },
      { account: { _eq: 'WIP' }, workDate: { _gte: '2025-01-01' } },
      { account: { _eq: 'WIP' }, job: { status: { _neq: 'CLOSED' } } },
      { account: { _eq: 'RECEIVABLE' } },
      { account: { _eq: 'RECEIVABLE' }, dueDate: { _lt: today } },
      { account: { _eq: 'CREDIT' } },
      { account: { _eq: 'CREDIT' }, client: { name: { _gte: 'H' } } },
      { account: { _eq: 'RECEIVABLE' }, clientId: { _is_null: false }, currency: { _neq: 'XXX' } },
    );
    const more = fc.constantFrom(
      {},
      { entries: { function: 'COUNT' } },
      { oldest: { function: 'MIN', column: 'businessDate' } },
      { newest: { function: 'MAX', column: 'businessDate' } },
      { oldest: { function: 'MIN', column: 'workDate' } },
      { entries: { function: 'COUNT' }, newest: { function: 'MAX', column: 'workDate' } },
    );
    const having = fc.constantFrom({}, { having: { open: { _neq: '0' } } }, { having: { open: { _lte: '-0.01' } } });
    const bound = fc.constantFrom('_lte', '_lt');
    const order = fc.option(fc.tuple(fc.nat(59), direction), { nil: undefined });
    let found = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(days, bound, groupBy, others),
        fc.tuple(having, order, fc.constantFrom(3, 1_000), more),
        async ([day, operator, groups, other], [excluded, by, pageSize, more]) => {
          const where = { ...other, businessDate: { [operator]: day } };
          const all = { ...measures, ...more };
          const keys = [
            ...groups.map(({ column }) => ({ column })),
            ...Object.keys(all).map((measure) => ({ measure })),
          ];
          const orderBy = by === undefined ? [] : [{ ...keys[by[0] % keys.length], direction: by[1] }];
          const request = { groupBy: groups, measures: all, orderBy, pageSize, ...excluded };
          const read = await pagesOf({ ...request, where });
          // All entries match. The sums have no amounts of single entries, so these are read.
          expect(read).toEqual(
            await pagesOf({ ...request, pageSize: 1_000, where: { ...where, amount: { _neq: '0.00' } } }),
          );
          found += read.length;
        },
      ),
      { numRuns: 20 * numRuns, seed },
    );
    expect(found).toBeGreaterThan(100);
  });

  interface PlanNode {
    readonly 'Relation Name'?: string;
    readonly 'Index Cond'?: string;
    readonly 'Actual Loops': number;
    readonly 'Actual Rows': number;
    readonly 'Rows Removed by Filter'?: number;
    readonly Plans?: readonly PlanNode[];
  }
  const withNodesBelow = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(withNodesBelow)];

  /** The nodes of the plan of a statement that has run, with indexes and their order wherever they can be used if `byIndex`. */
  const nodesOf = async (query: Query<unknown>, byIndex = false): Promise<readonly PlanNode[]> => {
    const explain: Query<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }> = {
      compile: (compiler) => {
        const { parameters, query: node, queryId, sql: text } = query.compile(compiler);
        return { parameters, query: node, queryId, sql: `explain (analyze, format json) ${text}` };
      },
      isPlannedForValues: true,
    };
    const [row] = await service.store.write(tenant.id, async (transaction) => {
      for (const way of byIndex ? ['seqscan', 'bitmapscan', 'sort'] : [])
        await transaction.all(sql`select set_config(${`enable_${way}`}, 'off', true)`);
      return transaction.all(explain);
    });
    return row === undefined ? [] : withNodesBelow(row['QUERY PLAN'][0].Plan);
  };

  /** How many entries and sums of entries a statement reads. */
  const readBy = async (query: Query<unknown>): Promise<number> =>
    (await nodesOf(query))
      .filter((node) => node['Relation Name']?.startsWith('ledger_'))
      .reduce(
        (rows, node) => rows + node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)),
        0,
      );

  test('are read from indexes that have little else, and balances as they were known from another', async () => {
    const indexesOf = async (query: RawBuilder<unknown>) => {
      const explain = sql<{ 'QUERY PLAN': string }>`explain ${query}`;
      const lines = await service.store.read(tenant.id, (session) => session.all(explain));
      return lines
        .map((line) => line['QUERY PLAN'])
        .join('\n')
        .match(/\w+_index(?= )/g);
    };
    const open = (name: string) =>
      indexesOf(sql`select client_id, sum(amount) from ${sql.id(name)}(${tenant.id}, '2026-01-31') group by 1`);
    expect(await open('open_work')).toEqual([
      'wip_entry_unbilled_index',
      'ledger_work_relief_index',
      'ledger_work_late_relief_index',
    ]);
    const ofDocuments = ['ledger_entry_document_index', 'ledger_entry_late_index'];
    for (const name of ['open_receivables', 'open_credit'])
      expect(await open(name)).toEqual(expect.arrayContaining(ofDocuments));
    const ofJobs = sql`
      select job_id, sum(entries), min(work_date) from ledger_work where tenant_id = ${tenant.id}
        and job_id = any(array(select id from job limit 3)) and business_date <= '2026-01-31' group by 1`;
    expect(await indexesOf(ofJobs)).toContain('ledger_work_job_index');
    const ofDays = sql`
      select client_id, sum(entries) from ledger_work where tenant_id = ${tenant.id}
        and business_date >= '2026-01-01' and business_date <= '2026-01-11' group by 1`;
    expect(await indexesOf(ofDays)).toEqual(['ledger_work_day_index']);
    const ofClients = sql`
      select client_id, min(business_date) from ledger_entry where tenant_id = ${tenant.id} and account = 'CREDIT'
        and client_id = any(array(select id from client limit 3)) and business_date <= '2026-01-31' group by 1`;
    expect(await indexesOf(ofClients)).toContain('ledger_entry_client_document_index');
    const known = sql`
      select client_id, currency, due_date, sum(amount), count(*) from ledger_entry where tenant_id = ${tenant.id} and account = 'RECEIVABLE'
        and business_date <= '2026-01-31' and recorded_at <= now() group by 1, 2, 3`;
    expect(await indexesOf(known)).toEqual(['ledger_entry_document_index']);
  });

  test('are added up for the clients or jobs of the page alone, in the order of these', async () => {
    const statements: Query<unknown>[] = [];
    const aggregate = (request: AggregateRequest) =>
      service.store.read(tenant.id, (session) => {
        const all = <Row>(query: Query<Row>) => {
          statements.push(query);
          return session.all(query);
        };
        const scope = { tenantId: tenant.id, holds: () => true, vault: service.vault, name: 'aggregateLedgerEntries' };
        return aggregateReader(scope, ledgerEntry, request)({ ...session, all });
      });
    const where = { businessDate: { _lte: today } };
    const [work, credit] = [{ account: { _eq: 'WIP' } }, { account: { _eq: 'CREDIT' } }];
    const [client, job] = [{ column: 'clientId' }, { column: 'jobId' }];
    const age = { column: 'workDate', daysBefore: today, boundaries: [0, 31] };
    const sums: AggregateRequest['measures'] = { open: { function: 'SUM', column: 'amount' } };
    const first: AggregateRequest['measures'] = { ...sums, first: { function: 'MIN', column: 'businessDate' } };
    const requests: readonly AggregateRequest[] = [
      { where: { ...where, ...work }, groupBy: [client, age], measures: sums },
      { where: { ...where, ...work }, groupBy: [client], measures: sums, orderBy: [{ ...client, direction: 'desc' }] },
      {
        where: { ...where, ...work },
        groupBy: [job],
        measures: sums,
        with: ['job.name'],
        orderBy: [{ column: 'job.name', direction: 'asc' }],
      },
      { where: { ...where, ...credit }, groupBy: [client], measures: first },
      { where: { ...where, ...work }, groupBy: [{ column: 'currency' }, client, age], measures: sums },
    ];
    for (const request of requests) {
      statements.length = 0;
      const { nextCursor } = await aggregate({ ...request, pageSize: 2 });
      await aggregate({ ...request, pageSize: 2, cursor: nextCursor ?? '' });
      await aggregate({ ...request, pageSize: 1_000 });
      const read = await Promise.all(statements.map(readBy));
      expect(Math.max(...read.slice(0, 2)), JSON.stringify(request)).toBeLessThan((read.at(-1) ?? 0) / 2);
    }
    // From the lowest amount, the groups of zero come first, and are those of the page.
    const total = async () => (await Promise.all(statements.map(readBy))).reduce((sum, rows) => sum + rows, 0);
    for (const [groupBy, account] of [[[job], work] as const, [[client], credit] as const]) {
      const orderBy = [{ measure: 'open', direction: 'asc' as const }];
      const request = { where: { ...where, ...account }, groupBy, measures: sums, orderBy };
      const read: number[] = [];
      let cursor = '';
      for (const pageSize of [2, 2, 1_000]) {
        statements.length = 0;
        const page = await aggregate({ ...request, pageSize, ...(cursor !== '' && pageSize === 2 && { cursor }) });
        cursor = page.nextCursor ?? '';
        read.push(await total());
      }
      expect(Math.max(...read.slice(0, 2)), JSON.stringify(request)).toBeLessThan((read.at(-1) ?? 0) / 2);
    }
    // In other orders, all groups are added up: from sums, also of the days that are no whole months.
    statements.length = 0;
    const entries: AggregateRequest['measures'] = { entries: { function: 'COUNT' } };
    const orderBy = [{ measure: 'entries', direction: 'desc' as const }];
    await aggregate({ where: { ...where, ...work }, groupBy: [client], measures: entries, orderBy });
    const tables = (await Promise.all(statements.map((one) => nodesOf(one))))
      .flat()
      .map((node) => node['Relation Name']);
    expect(tables).toContain('ledger_work');
    expect(tables).not.toContain('ledger_entry');
    // What does not decide which groups are on the page is not added up for the others: months have no first day.
    statements.length = 0;
    const byAge = { column: 'workDate', direction: 'asc' as const };
    await aggregate({
      where: { ...where, ...work },
      groupBy: [job, age],
      measures: first,
      orderBy: [byAge],
      pageSize: 2,
    });
    const ofAll = (await Promise.all(statements.map((one) => nodesOf(one)))).flat();
    expect(ofAll.map((node) => node['Relation Name'])).toContain('ledger_work_month');
    // Months have the first and the last business date, by which groups are sorted.
    for (const [end, groupBy] of [['MIN', [client]] as const, ['MAX', [client, job, age]] as const]) {
      statements.length = 0;
      const measures = { last: { function: end, column: 'businessDate' } } as const;
      const orderBy = [{ measure: 'last', direction: 'desc' as const }];
      const inPast = { businessDate: { _lt: monthsAgo } };
      await aggregate({ where: { ...inPast, ...work }, groupBy, measures, orderBy, pageSize: 2 });
      const read = (await Promise.all(statements.map((one) => nodesOf(one)))).flat();
      expect(read.map((node) => node['Relation Name'])).toContain('ledger_work_month');
    }
    // The second page from the last ID: an index begins where it begins, and has its order.
    statements.length = 0;
    const fromLast = { ...requests[1], measures: sums, pageSize: 2 };
    const { nextCursor } = await aggregate(fromLast);
    await aggregate({ ...fromLast, cursor: nextCursor ?? '' });
    const [, second] = statements;
    const owners = (second === undefined ? [] : await nodesOf(second, true)).filter(
      (node) => node['Relation Name'] === 'client',
    );
    expect(owners).toEqual([expect.objectContaining({ 'Index Cond': expect.stringMatching(/\bid <= /) })]);
    expect(owners[0]?.['Actual Rows']).toBeLessThan(6);
  });

  test('are read from what is open, where groups of zero are not required', async () => {
    // At the end of a month, all open work of a client can be of one month.
    const request = {
      where: { account: { _eq: 'WIP' }, businessDate: { _lte: today } },
      groupBy: [{ column: 'clientId' }, { column: 'workDate', by: 'DAY' }],
    };
    const notZero = { having: { open: { _neq: '0' } } };
    const counted = { ...notZero, measures: { ...measures, entries: { function: 'COUNT' } } };
    const orderBy = [{ measure: 'open', direction: 'desc' }];
    const groupsOf = (more: object) => pagesOf({ ...request, measures, pageSize: 1_000, ...more });
    const before = await Promise.all([notZero, counted, {}, { orderBy }].map(groupsOf));
    const clients = Map.groupBy(
      before[0]?.filter(({ values }) => !values.open?.startsWith('-')) ?? [],
      ({ key }) => key.clientId,
    );
    // A page of one group is full.
    const [only] = [...clients].find(([, groups]) => groups.length > 1) ?? [];
    expect(only).toBeTypeOf('string');
    await service.store.ownerStatements(`
      alter function open_work rename to open_work_of_all;
      create function open_work(tenant integer, day date)
      returns table (tenant_id integer, account text, business_date date, work_date date, client_id uuid, job_id uuid, currency text, amount numeric)
      language sql stable as $$ select * from open_work_of_all(tenant, day) where client_id = '${only}' $$`);
    const ofClient = (groups: readonly Group[] = []) => groups.filter(({ key }) => key.clientId === only);
    expect(await Promise.all([notZero, counted, {}].map(groupsOf))).toEqual([
      ofClient(before[0]),
      ofClient(before[1]),
      before[2],
    ]);
    const { body } = await call<Page>('POST', '/gql/v1/ledger_entries/aggregate', {
      ...request,
      measures,
      orderBy,
      pageSize: 1,
    });
    expect(body.data).toEqual(ofClient(before[3]).slice(0, 1));
    expect(ofClient(before[1]).length).toBeLessThan(before[1]?.length ?? 0);
  });
});
