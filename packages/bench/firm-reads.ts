import { schemaOf } from '../server/src/contract/contract.ts';
import { propertiesOf } from '../server/src/contract/fields.ts';
import type { AnyEntity } from '../server/src/entity/entity.ts';
import { allEntities, entityNamed } from '../server/src/entity/registry.ts';
import '../server/src/app/handlers.ts';
import type { Session } from '../server/src/platform/store/session.ts';
import { anyPageReader, findById, type PageRequest, type PageScope } from '../server/src/query/read.ts';

/** A read of the product, as its handler does it. */
export interface FirmRead {
  readonly name: string;
  readonly kind: 'list' | 'search' | 'order' | 'by ID' | 'deep page';
  readonly entity: AnyEntity;
  /** Of a page. */
  readonly request: PageRequest;
  /** Of a by-ID read. */
  readonly id?: string;
  run(session: Session): Promise<unknown>;
}

type Scope = Omit<PageScope, 'name'>;
type Row = Readonly<Record<string, unknown>>;

/** The types that have searches, by the schema of their conditions. */
const searched = [
  'Client',
  'Contact',
  'Project',
  'Staff',
  'Task',
  'TaskType',
  'WipEntry',
  'TimeEntry',
  'ExpenseEntry',
  'Invoice',
  'Payment',
  'DraftInvoiceHistory',
  'Engagement',
];

/** Every list and by-ID read, and every search by each column alone, by each of its orders, and with rows of a relation. */
export async function readsOf(session: Session, scope: Scope): Promise<FirmRead[]> {
  const reads: FirmRead[] = [];
  for (const entity of allEntities()) {
    const sample = await sampleOf(session, scope, entity);
    if (sample === undefined) continue;
    reads.push(page('list', `${entity.type}: list`, entity, scope, {}));
    reads.push({
      name: `${entity.type}: by ID`,
      kind: 'by ID',
      entity,
      request: {},
      id: String(sample.id),
      run: (one) => findById(one, scope, entityNamed(entity.type) as never, String(sample.id)),
    });
    if (searched.includes(entity.type)) reads.push(...searchesOf(scope, entity, sample));
  }
  return reads;
}

/** A row from the middle of the table, for values that conditions match. */
async function sampleOf(session: Session, scope: Scope, entity: AnyEntity): Promise<Row | undefined> {
  for (const offset of [1_000, 100, 0]) {
    const { run } = anyPageReader({ ...scope, name: 'sample' }, entity, { page: offset, pageSize: 200 });
    const { data } = await run(session);
    const [first, ...others] = data as Row[];
    if (first === undefined) continue;
    // Of each field a value that it has somewhere.
    return Object.fromEntries(
      Object.keys(first).map((key) => [
        key,
        [first, ...others]
          .map((row) => row[key])
          .find((value) => value !== null && !(Array.isArray(value) && value.length === 0)),
      ]),
    );
  }
  return undefined;
}

function* searchesOf(scope: Scope, entity: AnyEntity, sample: Row): Generator<FirmRead> {
  for (const [key, filter] of Object.entries(propertiesOf(schemaOf(`${entity.type}Where`)))) {
    if (key.startsWith('_')) continue;
    const operators = Object.keys(propertiesOf(filter));
    for (const where of conditionsOf(key, operators, sample[key]))
      yield page('search', `${entity.type}: where ${JSON.stringify(where)}`, entity, scope, { where });
  }
  for (const key of Object.keys(propertiesOf(schemaOf(`${entity.type}OrderBy`))))
    for (const direction of ['asc', 'desc'])
      yield page('order', `${entity.type}: order by ${key} ${direction}`, entity, scope, {
        orderBy: [{ [key]: direction }],
      });
}

/** Conditions on one column that match some row, and one that matches none. */
function conditionsOf(key: string, operators: readonly string[], value: unknown): Row[] {
  if (value === undefined || typeof value === 'object') {
    if (Array.isArray(value) && operators.includes('_contains')) return [{ [key]: { _contains: value[0] } }];
    return [];
  }
  const conditions: Row[] = [{ [key]: { _eq: value } }];
  if (operators.includes('_gte')) conditions.push({ [key]: { _gte: value } });
  if (operators.includes('_ilike')) conditions.push({ [key]: { _ilike: `%${String(value).slice(0, 12)}%` } });
  if (typeof value === 'boolean') conditions.push({ [key]: { _eq: !value } });
  return conditions;
}

export function page(
  kind: FirmRead['kind'],
  name: string,
  entity: AnyEntity,
  scope: Scope,
  request: PageRequest,
): FirmRead {
  return { name, kind, entity, request, run: anyPageReader({ ...scope, name }, entity, request).run };
}
