import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '../../../document/operation.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { itemOf, keyOfName, kindOfPath, kindOfReference, pathNames, singularKey, wordsOf } from '../../../run/names.ts';
import { ifSent } from '../../../run/parallel.ts';
import { View } from '../../../schema/view.ts';
import { type BehaviorCheck, type Differences, differ, differIn, need, needs, text } from '../../observe.ts';
import { hasOwnIds, Listing } from '../lists/listing.ts';
import { isGone, resourceIn } from './compare.ts';
import { type Resource, ResourceHarness } from './resource.ts';
import { isRead, resourceTypesOf } from './resource-types.ts';
import { Updating } from './update.ts';

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
  const isBelow = read !== undefined && pathNames(read.path).slice(0, -1).includes(name);
  for (const other of likely.filter((one) => String(one) !== String(own)).slice(0, 12)) {
    const path = { ...resource.path, [name]: other };
    const all = await Listing.of(context, list, path)?.walk();
    // It can be deleted.
    if (all === undefined) continue;
    const there = isBelow ? await harness.read({ ...resource, path }) : undefined;
    const facts = { expected: `404 below ${text(other)}`, exchanges: [resource.created, there] };
    if (read && there && isSuccess(there) && harness.isOf(resource, resourceIn(there)))
      yield differ('read-unknown', read, name, facts);
    needs(resource.id !== undefined && hasOwnIds(all.rows));
    if (all.rows.some((row) => harness.isOf(resource, row)))
      yield differIn('list-leaks', list, name, [own, other], [resource.created, all.exchange]);
    return;
  }
}

interface Descendant {
  readonly own: ResourceHarness;
  readonly resource: Resource;
}

/** Creates one resource of each type below another one, and below these. */
export async function descendantsOf(harness: ResourceHarness, above: Resource, label: string): Promise<Descendant[]> {
  const { context, session, resourceType } = harness;
  const all: Descendant[] = [];
  for (const type of resourceTypesOf(session)) {
    const { length } = resourceType.read?.path ?? '';
    const [start, rest] = [type.create.path.slice(0, length), type.create.path.slice(length)];
    const known = context.requests.of(type.create);
    if (start !== resourceType.read?.path || !/^\/[^{]+$/.test(rest) || known === undefined) continue;
    const path = Object.fromEntries(pathNames(start).map((name) => [name, above.path[name]]));
    const own = new ResourceHarness(context, type, { ...known, call: { ...known.call, path } });
    const resource = await ifSent(() => own.create(label));
    if (resource === undefined || !isDeepStrictEqual(resource.call.path, path)) continue;
    all.push({ own, resource }, ...(await descendantsOf(own, resource, label)));
  }
  return all;
}

/** What is below a resource cannot be read once it is deleted. */
export async function* leftBelow(harness: ResourceHarness, label: string): Differences {
  const { remove, read } = harness.resourceType;
  if (remove === undefined || read === undefined) return;
  const { resource } = await harness.createAndRead(label);
  const below = await descendantsOf(harness, resource, label);
  needs(below.length > 0);
  const removal = await harness.remove(resource);
  const after = need(isSuccess(removal) ? await harness.read(resource) : undefined);
  for (const { own, resource: one } of isGone(after) ? below : []) {
    const by = own.resourceType.read;
    const there = by?.path.startsWith(`${read.path}/`) ? await own.read(one) : undefined;
    if (by && there && isSuccess(there)) yield differ('delete-below', by, '', { exchanges: [removal, after, there] });
  }
}

/** A property that counts resources, of those with a word: in what is read of their parent, of what they refer to, or of all. */
interface Counter {
  readonly read: Operation;
  readonly name: string;
  readonly word?: string;
}

/** The checks of each property that counts the resources: `tripsCount`, `comments`, `open_issues_count`. */
export function countChecks({ document, session, resourceType }: ResourceHarness): BehaviorCheck<ResourceHarness>[] {
  const { kind, read: own } = resourceType;
  const reads = session.operations.filter((one) => one !== own && isRead(document, one));
  const counters = reads.flatMap((read) => {
    const view = View.ofResponse(document, read);
    return view.names.flatMap((name): Counter[] => {
      const words = wordsOf(name);
      const [word = '', ...rest] = words.filter((one) => !/^(?:count|number|num|of|total)$/.test(one));
      const isInteger = view.member(name).parts.some(({ type }) => type === 'integer');
      if (rest.length + 1 === words.length && (!isInteger || keyOfName(name) === kind)) return [];
      if (singularKey([word, ...rest]) === kind) return [{ read, name }];
      return rest.length > 0 && singularKey(rest) === kind ? [{ read, name, word }] : [];
    });
  });
  return counters.slice(0, 4).map((counter) => (harness, label) => counted(harness, counter, label));
}

/** Where a counter is read for a resource, and whether that is above its own path. */
function placeFor({ read }: Counter, { call, sent }: Resource) {
  // `/orders/{id}/` is the parent of `/orders/{order_pk}/proofs/`.
  const bare = (path: string) => path.replaceAll(/\{[^}]+\}/g, '{}');
  const [names, values] = [pathNames(read.path), pathNames(call.operation.path).map((one) => call.path[one])];
  const isAbove = names.length > 0 && bare(call.operation.path).startsWith(bare(read.path).replace(/[^}]*$/, ''));
  const kind = kindOfPath(itemOf(read.path)?.collection ?? '');
  const own = isAbove ? values : Object.keys(sent).flatMap((one) => (kindOfReference(one) === kind ? [sent[one]] : []));
  needs(own.length >= names.length && (isAbove || names.length < 2));
  return { isAbove, path: Object.fromEntries(names.map((one, index) => [one, own[index]])) };
}

/** A count follows what is created and deleted, and what gets another word. */
async function* counted(harness: ResourceHarness, counter: Counter, label: string): Differences {
  const { create, remove, updates } = harness.resourceType;
  const { read, name, word } = counter;
  const known = need(harness.context.requests.of(read)).call;
  const { isAbove, path } = placeFor(counter, need(await harness.create(`${label} ${name} first`)));
  const look = async () => {
    const exchange = await harness.session.send({ ...known, path });
    const count = resourceIn(exchange)[name];
    needs(isSuccess(exchange) && typeof count === 'number');
    return { exchange, count: Number(count) };
  };
  const before = await look();
  const created = await harness.createAndRead(`${label} ${name}`);
  const { resource, row, view } = created;
  const property = word && view.names.find((one) => view.member(one).words.includes(word));
  needs(isDeepStrictEqual(placeFor(counter, resource).path, path) && row[property ?? ''] === word);
  const after = await look();
  const differs = (by: Operation, expected: number, { count, exchange }: typeof after, ...trail: Exchange[]) =>
    differIn('count-wrong', by, `${read.id} ${name}`, [expected, count], [...trail, exchange]);
  // What is elsewhere can count only some, such as what is paid.
  if (after.count !== before.count + 1)
    return yield* isAbove ? [differs(create, before.count + 1, after, before.exchange, resource.created)] : [];
  const by = property ? need(updates[0]) : need(remove);
  const updating = new Updating(harness, by);
  const others = property ? view.member(property).words.filter((one) => one !== word) : [];
  const response = property
    ? await updating.send(resource, need(updating.bodiesWith(created, property, others)[0]))
    : await harness.remove(resource);
  needs(isSuccess(response) && (!property || (await harness.shown(resource))?.row[property] !== word));
  const last = await look();
  if (last.count !== before.count) yield differs(by, before.count, last, after.exchange, response);
}
