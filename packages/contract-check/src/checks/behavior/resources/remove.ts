import type { Operation, Parameter } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { lastParameter } from '../../../run/names.ts';
import { unknownId } from '../../../run/unknown-id.ts';
import { readCollection } from './collection.ts';
import { isGone } from './create.ts';
import { type Difference, type Observation, text } from './probe.ts';
import type { Resource, ResourceHarness } from './resource-harness.ts';
import { resourceIn } from './resource-in.ts';
import { createdAndRead, untouched } from './update.ts';
import { declaredFlag } from './vocabulary.ts';

/** Checks that a deleted resource is gone or marked as deleted, and that no other resource is affected. */
export function removed(harness: ResourceHarness): Observation {
  const { remove, read, lists } = harness.resourceType;
  return async (label) => {
    const created = await createdAndRead(harness, label);
    const other = await createdAndRead(harness, `${label} other`);
    if (remove === undefined || read === undefined || created === undefined) return undefined;
    const list = lists.find((one) => one.path === harness.resourceType.collection);
    const before = list === undefined ? undefined : await harness.list(list);
    const response = await harness.remove(created.resource);
    if (response === undefined || !isSuccess(response) || response.response.status === 202) return undefined;
    const after = await harness.read(created.resource);
    if (after === undefined) return undefined;
    const differences: Difference[] = [];
    const isSoft = declaredFlag(remove, 'softDelete');
    if (isSuccess(after) && (isSoft === false || isUnchanged(created.exchange, after)))
      differences.push({
        check: 'delete-lost',
        operation: remove,
        about: '',
        title: `A resource deleted by ${remove.id} is unchanged`,
        expected: '404 or 410, or a resource that is marked as deleted',
        actual: `${after.response.status} ${after.response.text.slice(0, 160)}`,
        fix: 'Delete the resource, or mark it as deleted.',
        exchanges: [response, after],
      });
    const gone = isGone(after);
    const filter = read.parameters.find(isOfDeleted);
    if (isSuccess(after) && filter !== undefined && filter.schema.default !== true && differences.length === 0)
      differences.push({
        check: 'deleted-shown',
        operation: read,
        about: remove.id,
        title: `A resource deleted by ${remove.id} is returned without ${filter.name}`,
        expected: `404 without ${filter.name}`,
        actual: `${after.response.status} ${after.response.text.slice(0, 160)}`,
        node: filter.node,
        fix: `Return deleted resources only with ${filter.name}.`,
        exchanges: [response, after],
      });
    if (gone && isSoft === true)
      differences.push({
        check: 'deleted-hidden',
        operation: read,
        about: remove.id,
        title: `A resource deleted by ${remove.id} can no longer be read`,
        expected: `${text(created.resource.id)}, marked as deleted, because the contract declares softDelete`,
        actual: `${after.response.status} ${after.response.text.slice(0, 120)}`,
        fix: 'Return deleted resources, marked as deleted.',
        exchanges: [response, after],
      });
    if (gone && list !== undefined && before !== undefined) {
      const now = await harness.list(list);
      const previous = before.rows.find((row) => harness.isOf(created.resource, row));
      const is = now?.rows.find((row) => harness.isOf(created.resource, row));
      // A row marked as deleted may remain, unless such rows must be requested with a parameter.
      const isRequested = list.parameters.some((one) => isOfDeleted(one) && one.schema.default !== true);
      if (previous !== undefined && is !== undefined && (isRequested || isSameRow(previous, is)))
        differences.push({
          check: 'delete-listed',
          operation: list,
          about: remove.id,
          title: `${list.id} still lists a resource deleted by ${remove.id}`,
          expected: `no row with ${text(created.resource.id)}`,
          actual: text(is),
          fix: 'Exclude deleted resources from the list.',
          exchanges: [response, now?.exchanges.at(-1)],
        });
    }
    if (gone)
      differences.push(
        ...(await hidden(harness, remove, created.resource)),
        ...(await beneath(harness, remove, created.resource)),
      );
    const again = await harness.remove(created.resource);
    differences.push(...(await untouched(harness, remove, other, again ?? response)));
    if (isGone(after) && typeof created.resource.id === 'string' && created.resource.id.length > 7)
      harness.session.pool.forget(created.resource.id);
    return differences;
  };
}

/** Whether a parameter includes deleted resources. */
function isOfDeleted({ in: place, name, schema }: Parameter): boolean {
  const isNamed = /^(?:include|with|show|and)[-_]?(?:deleted|removed|trashed|archived)$/i.test(name);
  return place === 'query' && isNamed && [schema.type].flat().includes('boolean');
}

/** Checks that deleted resources are returned if they are requested. */
async function hidden(harness: ResourceHarness, remove: Operation, resource: Resource): Promise<Difference[]> {
  const { read, lists } = harness.resourceType;
  const differs = (by: Operation, { name, node }: Parameter, exchange: Exchange | undefined): Difference => ({
    check: 'deleted-hidden',
    operation: by,
    about: name,
    title: `A resource deleted by ${remove.id} is not in ${by.id} with ${name}`,
    expected: `${text(resource.id)}, marked as deleted`,
    actual: `${exchange?.response.status} ${exchange?.response.text.slice(0, 120) ?? ''}`,
    node,
    fix: `Return deleted resources with ${name}, or remove the parameter from the contract.`,
    exchanges: [exchange],
  });
  const found: Difference[] = [];
  const ofRead = read?.parameters.find(isOfDeleted);
  const call = read === undefined ? undefined : harness.callOn(read, resource);
  if (read !== undefined && ofRead !== undefined && call !== undefined) {
    const exchange = await harness.session.send({ ...call, query: { ...call.query, [ofRead.name]: true } });
    if (isGone(exchange)) found.push(differs(read, ofRead, exchange));
    else if (isSuccess(exchange)) {
      const row = resourceIn(exchange);
      const mark = Object.keys(row).find((name) => /^(?:deleted|removed|archived)[-_]?(?:at|on|date)?$/i.test(name));
      if (mark !== undefined && (row[mark] === null || row[mark] === false))
        found.push({
          ...differs(read, ofRead, exchange),
          about: mark,
          title: `A resource deleted by ${remove.id} has no ${mark}`,
          expected: `${mark}: a value`,
          actual: `${mark}: ${text(row[mark])}`,
        });
    }
  }
  for (const list of lists.filter(({ path }) => path === harness.resourceType.collection)) {
    const ofList = list.parameters.find(isOfDeleted);
    if (ofList === undefined) continue;
    const all = await readCollection(harness.context, list, resource.call.path, { [ofList.name]: true });
    if (all?.isComplete === true && !all.rows.some((row) => harness.isOf(resource, row)))
      found.push(differs(list, ofList, all.exchanges.at(-1)));
  }
  return found;
}

/** Checks that nested reads return 404 for a deleted parent, if they do so for an unknown one. */
async function beneath(harness: ResourceHarness, remove: Operation, resource: Resource): Promise<Difference[]> {
  const { read } = harness.resourceType;
  const { operations } = harness.session;
  const found: Difference[] = [];
  const readers = operations.filter(
    (one) =>
      one.method === 'GET' &&
      read !== undefined &&
      one.path.startsWith(`${read.path}/`) &&
      !one.path.slice(read.path.length).includes('{') &&
      one.responses.some(({ status }) => status === '404'),
  );
  for (const reader of readers.slice(0, 4)) {
    const call = harness.callOn(reader, resource);
    if (call === undefined) continue;
    const after = await harness.session.send(call);
    if (!isSuccess(after)) continue;
    if (!(await isGoneForUnknownId(harness, call))) continue;
    found.push({
      check: 'deleted-parent',
      operation: reader,
      about: remove.id,
      title: `${reader.id} succeeds below a resource deleted by ${remove.id}`,
      expected: '404, as for an unknown id',
      actual: `${after.response.status} ${after.response.text.slice(0, 120)}`,
      fix: 'Return 404 below deleted resources.',
      exchanges: [after],
    });
  }
  return found;
}

/** Whether an operation returns 404 for an unknown ID. */
async function isGoneForUnknownId({ session }: ResourceHarness, call: Call): Promise<boolean> {
  const name = lastParameter(call.operation.path) ?? '';
  const parameter = call.operation.parameters.find((one) => one.in === 'path' && one.name === name);
  const seed = session.seedFor('nobody, never');
  const id = parameter === undefined ? undefined : unknownId(session, parameter.schema, call.path[name], seed);
  return id !== undefined && isGone(await session.send({ ...call, path: { ...call.path, [name]: id } }));
}

function isUnchanged(before: Exchange, after: Exchange): boolean {
  return JSON.stringify(before.response.json?.value) === JSON.stringify(after.response.json?.value);
}

function isSameRow(one: JsonObject, other: JsonObject): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
