/** Measures every list, search and by-ID read of a large firm beside SQL that reads the bare rows; see README.md beside this file. */
import {
  type AnyEntity,
  allEntities,
  anyPageReader,
  conditionOf,
  contract,
  findById,
  orderClause,
  orderKeys,
  type PageRequest,
  propertiesOf,
  schemaOf,
} from '@financial-automation/server/bench';
import type { Session } from '@financial-automation/server/service';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { openDemoData } from './demo-data.ts';
import { inTurns, quantile } from './figures.ts';

const { values } = readOptions({
  options: {
    database: { type: 'string' },
    profile: { type: 'string', default: 'mid' },
    rounds: { type: 'string', default: '30' },
  },
});

/** A read of a page, or by ID. */
interface Read {
  readonly name: string;
  readonly entity: AnyEntity;
  readonly request: PageRequest;
  readonly id?: string;
}
type Row = Readonly<Record<string, unknown>>;

await using data = await openDemoData(values);
const { store, scope } = data;
const { tenantId } = scope;
const figures: Record<string, object> = {};
for (const read of await allReads()) {
  const [service = [], bare = []] = await inTurns(
    Number(values.rounds),
    1,
    () => store.read(tenantId, (session) => run(session, read)),
    () => store.read(tenantId, (session) => bareRows(session, read)),
  );
  figures[read.name] = {
    'p50, ms': quantile(service, 0.5).toFixed(1),
    'p99, ms': quantile(service, 0.99).toFixed(1),
    'bare rows, p50': quantile(bare, 0.5).toFixed(1),
    'bare rows, p99': quantile(bare, 0.99).toFixed(1),
  };
}
console.table(figures);

/** As its handler does it. */
function run(session: Session, { name, entity, request, id }: Read): Promise<unknown> {
  if (id !== undefined) return findById(session, scope, entity, id);
  return anyPageReader({ ...scope, name, paging: 'offset', location: 'body' }, entity, request).run(session);
}

/** Reads the rows of a page without values of other rows, as hand-written SQL does. */
function bareRows(session: Session, { entity, request, id }: Read): Promise<unknown> {
  const condition = id === undefined ? conditionOf(entity, 'e', tenantId, request.where ?? {}) : sql`e.id = ${id}`;
  const order = orderClause(entity, 'e', orderKeys(entity, request.orderBy ?? []));
  return session.all(sql`
    select e.* from ${sql.table(entity.table)} e where e.tenant_id = ${tenantId} and ${condition} order by ${order} limit 51`);
}

/** Returns every list and by-ID read, and every search by each column alone and in each order. */
async function allReads(): Promise<Read[]> {
  const reads: Read[] = [];
  for (const entity of allEntities()) {
    const sample = await sampleOf(entity);
    if (sample === undefined) continue;
    const add = (name: string, request: PageRequest) =>
      reads.push({ name: `${entity.type}: ${name}`, entity, request });
    add('list', {});
    reads.push({ name: `${entity.type}: by ID`, entity, request: {}, id: String(sample.id) });
    if (!(`${entity.type}Where` in contract.components.schemas)) continue;
    for (const [key, filter] of Object.entries(propertiesOf(schemaOf(`${entity.type}Where`))))
      for (const where of conditionsOf(key, Object.keys(propertiesOf(filter)), sample[key]))
        add(`where ${JSON.stringify(where)}`, { where });
    for (const key of Object.keys(propertiesOf(schemaOf(`${entity.type}OrderBy`))))
      for (const direction of ['asc', 'desc']) add(`order by ${key} ${direction}`, { orderBy: [{ [key]: direction }] });
  }
  return reads;
}

/** Returns a row from the middle of the table, whose values conditions match. Fields that are empty in it have the value of another row. */
async function sampleOf(entity: AnyEntity): Promise<Row | undefined> {
  for (const page of [1_000, 100, 0]) {
    const { data } = (await store.read(tenantId, (session) =>
      run(session, { name: 'sample', entity, request: { page, pageSize: 200 } }),
    )) as { readonly data: readonly Row[] };
    const isFilled = (value: unknown) => value !== null && !(Array.isArray(value) && value.length === 0);
    const keys = Object.keys(data[0] ?? {});
    if (keys.length > 0)
      return Object.fromEntries(keys.map((key) => [key, data.map((row) => row[key]).find(isFilled)]));
  }
  return undefined;
}

/** Conditions on one column: they match the row, and for a flag also its opposite. */
function conditionsOf(key: string, operators: readonly string[], value: unknown): Row[] {
  if (Array.isArray(value)) return operators.includes('_contains') ? [{ [key]: { _contains: value[0] } }] : [];
  if (key.startsWith('_') || value === undefined || typeof value === 'object') return [];
  const conditions: Row[] = [{ [key]: { _eq: value } }];
  if (operators.includes('_gte')) conditions.push({ [key]: { _gte: value } });
  if (operators.includes('_ilike')) conditions.push({ [key]: { _ilike: `%${String(value).slice(0, 12)}%` } });
  if (typeof value === 'boolean') conditions.push({ [key]: { _eq: !value } });
  return conditions;
}
