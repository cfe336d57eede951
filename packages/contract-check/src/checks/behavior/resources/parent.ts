import type { Operation } from '../../../document/operation.ts';
import { isSuccess } from '../../../http/call.ts';
import { itemOf, pathNames, singularKey, wordsOf } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import { hasOwnIds, Listing } from '../lists/listing.ts';
import { type BehaviorCheck, differ, need, needs, valued } from '../observe.ts';
import { resourceIn } from './compare.ts';
import type { ResourceHarness } from './resource.ts';
import { isRead } from './resource-types.ts';

/** Checks of a resource that belongs to another one: `/vehicles/{vehicleId}/trips`. */
type ParentCheck = BehaviorCheck<ResourceHarness>;

export const ofParent: ParentCheck = {
  name: 'parent',
  describe: 'A resource that is created below one parent is not listed below another one.',
  applies: ({ resourceType: { list } }) => pathNames(list?.path ?? '').length > 0,
  async run(harness, label) {
    const { context, session, resourceType } = harness;
    const list = need(resourceType.list);
    const resource = need(await harness.create(label));
    const name = need(pathNames(list.path).at(-1));
    const own = resource.call.path[name];
    const { likely } = session.pool.forParameter(list, name, false);
    const other = need(likely.find((one) => String(one) !== String(own)));
    const all = need(await Listing.of(context, list, { ...resource.call.path, [name]: other })?.walk());
    needs(resource.id !== undefined && hasOwnIds(all.rows));
    if (!all.rows.some((row) => harness.isOf(resource, row))) return [];
    const facts = { ...valued(name, own, other), exchanges: [resource.created, all.exchange] };
    return [differ('list-leaks', list, name, facts)];
  },
};

/** The read of a parent, and its property that counts the resources: `tripsCount`. */
function counterOf({
  document,
  session,
  resourceType,
}: ResourceHarness): { read: Operation; name: string } | undefined {
  const { collection, kind } = resourceType;
  const path = collection.slice(0, collection.lastIndexOf('/'));
  const read = session.operations.find((one) => one.path === path && isRead(document, one));
  const isCount = (name: string) => {
    const words = wordsOf(name);
    const rest = words.filter((word) => !/^(?:count|number|num|of|total)$/.test(word));
    return rest.length < words.length && singularKey(rest) === kind;
  };
  const name = View.ofResponse(document, read).names.find(isCount);
  return read === undefined || name === undefined || itemOf(path) === undefined ? undefined : { read, name };
}

export const countedInParent: ParentCheck = {
  name: 'count',
  describe: 'The count in a parent follows what is created and deleted below it.',
  applies: (harness) => counterOf(harness) !== undefined,
  async run(harness, label) {
    const { create, remove } = harness.resourceType;
    const { read, name } = need(counterOf(harness));
    const known = need(harness.context.requests.of(read)).call;
    const first = need(await harness.create(`${label} first`));
    const look = async () => {
      const path = Object.fromEntries(pathNames(read.path).map((one) => [one, first.call.path[one]]));
      const exchange = await harness.session.send({ ...known, path });
      const count = resourceIn(exchange)[name];
      needs(isSuccess(exchange) && typeof count === 'number');
      return { exchange, count: Number(count) };
    };
    const before = await look();
    const resource = need(await harness.create(label));
    needs(pathNames(read.path).every((one) => resource.call.path[one] === first.call.path[one]));
    const after = await look();
    const exchanges = [before.exchange, resource.created, after.exchange];
    if (after.count !== before.count + 1)
      return [differ('count-wrong', create, name, { ...valued(name, before.count + 1, after.count), exchanges })];
    const removal = remove && (await harness.remove(resource));
    if (removal === undefined || !isSuccess(removal)) return [];
    const last = await look();
    if (last.count === before.count) return [];
    const facts = { ...valued(name, before.count, last.count), exchanges: [after.exchange, removal, last.exchange] };
    return [differ('count-wrong', need(remove), name, facts)];
  },
};
