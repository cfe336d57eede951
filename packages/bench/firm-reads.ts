import { contract, schemaOf } from '@financial-automation/server/contract/contract';
import { propertiesOf } from '@financial-automation/server/contract/fields';
import type { AnyEntity } from '@financial-automation/server/entity/entity';
import { allEntities } from '@financial-automation/server/entity/registry';
import '@financial-automation/server/app/handlers';
import type { Session } from '@financial-automation/server/platform/store/session';
import type { PageRequest, PageScope } from '@financial-automation/server/query/page';
import { anyPageReader, findById } from '@financial-automation/server/query/read';

/** A read of the API, as its handler does it. */
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

/** Returns every list and by-ID read, and every search by each column alone and in each order. */
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
      run: (one) => findById(one, scope, entity, String(sample.id)),
    });
    if (`${entity.type}Where` in contract.components.schemas) reads.push(...searchesOf(scope, entity, sample));
  }
  return reads;
}

/** Returns a row from the middle of the table, whose values conditions match. */
async function sampleOf(session: Session, scope: Scope, entity: AnyEntity): Promise<Row | undefined> {
  for (const offset of [1_000, 100, 0]) {
    const { run } = anyPageReader({ ...scope, name: 'sample' }, entity, { page: offset, pageSize: 200 });
    const { data } = await run(session);
    const [first, ...others] = data as Row[];
    if (first === undefined) continue;
    // Fields that are empty in it have the value of another row.
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

/** Conditions on one column: they match the row, and for a flag also its opposite. */
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
