import type { Operation } from '../../../document/operation.ts';
import type { JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import type { Collection } from './collection.ts';
import { type Difference, type Observation, text } from './probe.ts';
import type { Resource, ResourceHarness } from './resource-harness.ts';

/** Checks that a created resource appears in the list with a new ID, and that the total counts it. */
export function listed(harness: ResourceHarness, list: Operation): Observation {
  const { create, kind } = harness.resourceType;
  return async (label) => {
    const before = await harness.list(list);
    if (before === undefined || !(await isSameKind(harness, list, before))) return undefined;
    const resource = await harness.create(label);
    if (resource === undefined || resource.id === undefined || resource.created.response.status === 202)
      return undefined;
    const after = await harness.list(list);
    if (after === undefined) return undefined;
    const exchanges = [resource.created, after.exchanges.at(-1)];
    const isIn = after.rows.some((row) => harness.isOf(resource, row));
    if (before.rows.some((row) => harness.isOf(resource, row))) return [sameId(harness, resource, exchanges)];
    if (!isIn && after.isComplete && !mayBeHidden((await harness.shown(resource))?.row ?? resource.body, list, before))
      return [
        {
          check: 'create-not-listed',
          operation: create,
          about: list.id,
          title: `A resource created by ${create.id} is not in ${list.id}`,
          expected: `a row with the ${kind} ${text(resource.id)}`,
          actual: `${after.rows.length} rows, none with it`,
          node: list.node,
          fix: 'Include created resources in the list, or declare which resources it excludes.',
          exchanges,
        },
      ];
    if (
      before.total === undefined ||
      after.total === undefined ||
      !isIn ||
      after.total !== before.total ||
      before.total > 5000
    )
      return [];
    return [
      {
        check: 'create-total',
        operation: list,
        about: create.id,
        title: `The total of ${list.id} does not count a created resource`,
        expected: String(before.total + 1),
        actual: String(after.total),
        fix: 'Count all rows of the list.',
        exchanges: [before.exchanges.at(-1), ...exchanges],
      },
    ];
  };
}

function sameId(harness: ResourceHarness, resource: Resource, exchanges: Difference['exchanges']): Difference {
  return {
    check: 'create-same-id',
    operation: harness.resourceType.create,
    about: '',
    title: `${harness.resourceType.create.id} returns the id of an existing resource`,
    expected: 'a new id for each resource',
    actual: text(resource.id),
    fix: 'Assign a new id to each resource.',
    exchanges,
  };
}

/**
 * Whether the rows can be read by ID as resources of this type. A list at the path of the create operation always
 * qualifies.
 */
async function isSameKind(harness: ResourceHarness, list: Operation, { rows }: Collection): Promise<boolean> {
  const { collection, read } = harness.resourceType;
  if (list.path === collection) return true;
  const [row] = rows;
  // Without a read, the type of the rows is unknown.
  if (read === undefined || row === undefined || !harness.isReadable) return false;
  const id = row.id ?? row[Object.keys(row).find((key) => /^_?(?:id|uuid)$/i.test(key)) ?? ''];
  const resource = await harness.create('of the same kind');
  if (resource === undefined || id === undefined) return false;
  const name = Object.keys(resource.address).at(-1) ?? '';
  const other = await harness.read({ ...resource, id, address: { ...resource.address, [name]: id } });
  return other !== undefined && isSuccess(other);
}

/** Whether a list may exclude the resource because of a filter with a default, or of a status or flag that no row has. */
function mayBeHidden(row: JsonObject, { parameters }: Operation, { rows, rowSchema }: Collection): boolean {
  const isFiltered = parameters.some(
    ({ in: place, name, schema }) =>
      place === 'query' && schema.default !== undefined && Object.hasOwn(row, name) && row[name] !== schema.default,
  );
  if (isFiltered) return true;
  if (rowSchema === undefined) return false;
  return Object.entries(row).some(
    ([name, value]) =>
      (typeof value === 'boolean' || /status|state|visib|publish|archiv|deleted/i.test(name)) &&
      rows.every((other) => JSON.stringify(other[name]) !== JSON.stringify(value)),
  );
}
