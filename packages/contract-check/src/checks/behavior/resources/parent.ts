import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import { isSuccess } from '../../../http/call.ts';
import { pathNames, singularKey, wordsOf } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import { type Differences, differ, need, needs, text, valued } from '../../observe.ts';
import { hasOwnIds, Listing } from '../lists/listing.ts';
import { resourceIn } from './compare.ts';
import type { Resource, ResourceHarness } from './resource.ts';
import { isRead } from './resource-types.ts';

/** Checks of a resource that belongs to another one: `/vehicles/{vehicleId}/trips`. */

/** A resource that is created below one parent is neither read nor listed below another one. */
export async function* ofParent(harness: ResourceHarness, label: string): Differences {
  const { context, session, resourceType } = harness;
  const { list, read } = resourceType;
  const name = pathNames(list?.path ?? '').at(-1);
  if (list === undefined || name === undefined) return;
  const resource = need(await harness.create(label));
  const own = resource.call.path[name];
  const { likely } = session.pool.forParameter(list, name, false);
  const other = need(likely.find((one) => String(one) !== String(own)));
  const isBelow = read !== undefined && pathNames(read.path).slice(0, -1).includes(name);
  const there = isBelow ? await harness.read({ ...resource, path: { ...resource.path, [name]: other } }) : undefined;
  if (read && there && isSuccess(there) && harness.isOf(resource, resourceIn(there))) {
    const facts = { expected: `404 below ${text(other)}`, actual: responseText(there) };
    yield differ('read-unknown', read, name, { ...facts, exchanges: [resource.created, there] });
  }
  const all = need(await Listing.of(context, list, { ...resource.call.path, [name]: other })?.walk());
  needs(resource.id !== undefined && hasOwnIds(all.rows));
  if (!all.rows.some((row) => harness.isOf(resource, row))) return;
  yield differ('list-leaks', list, name, { ...valued(name, own, other), exchanges: [resource.created, all.exchange] });
}

/** The read of a parent, and its property that counts the resources: `tripsCount`. */
function counterOf({
  document,
  session,
  resourceType,
}: ResourceHarness): { read: Operation; name: string } | undefined {
  const { collection, kind } = resourceType;
  // `/orders/{id}/` is the parent of `/orders/{order_pk}/proofs/`.
  const placeOf = (path: string) => path.replaceAll(/\{[^}]+\}/g, '{}').replace(/\/$/, '');
  const place = placeOf(collection).replace(/\/[^/]*$/, '');
  const read = session.operations.find((one) => placeOf(one.path) === place && isRead(document, one));
  const isCount = (name: string) => {
    const words = wordsOf(name);
    const rest = words.filter((word) => !/^(?:count|number|num|of|total)$/.test(word));
    return rest.length < words.length && singularKey(rest) === kind;
  };
  const name = View.ofResponse(document, read).names.find(isCount);
  return read === undefined || name === undefined || !place.endsWith('}') ? undefined : { read, name };
}

/** The count in a parent follows what is created and deleted below it. */
export async function* countedInParent(harness: ResourceHarness, label: string): Differences {
  const { create, remove } = harness.resourceType;
  const { read, name } = need(counterOf(harness));
  const known = need(harness.context.requests.of(read)).call;
  const first = need(await harness.create(`${label} first`));
  const parents = ({ call }: Resource) => pathNames(call.operation.path).map((one) => call.path[one]);
  const look = async () => {
    const path = Object.fromEntries(pathNames(read.path).map((one, index) => [one, parents(first)[index]]));
    const exchange = await harness.session.send({ ...known, path });
    const count = resourceIn(exchange)[name];
    needs(isSuccess(exchange) && typeof count === 'number');
    return { exchange, count: Number(count) };
  };
  const before = await look();
  const resource = need(await harness.create(label));
  needs(isDeepStrictEqual(parents(resource), parents(first)));
  const after = await look();
  const exchanges = [before.exchange, resource.created, after.exchange];
  if (after.count !== before.count + 1)
    return yield differ('count-wrong', create, name, { ...valued(name, before.count + 1, after.count), exchanges });
  const removal = remove && (await harness.remove(resource));
  if (remove === undefined || removal === undefined || !isSuccess(removal)) return;
  const last = await look();
  const facts = { ...valued(name, before.count, last.count), exchanges: [after.exchange, removal, last.exchange] };
  if (last.count !== before.count) yield differ('count-wrong', remove, name, facts);
}
