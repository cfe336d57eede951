import { extensionOf, lastSegment, type Operation, type Parameter, readAt } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isScalar, type JsonObject, jsonText } from '../../../json.ts';
import { withUnknownId } from '../../../run/ids.ts';
import {
  isVersionName,
  keyOfName,
  kindOfReference,
  kindsOfSchema,
  lastParameter,
  rowsOf,
  withoutContainer,
} from '../../../run/names.ts';
import { responseSchema, View } from '../../../schema/view.ts';
import { type Differences, differ, differIn, need, needs, text } from '../../observe.ts';
import { lacking } from '../../scopes.ts';
import { longestWord } from '../lists/filters.ts';
import { shown } from '../lists/listing.ts';
import { isGone, isSame, isServerOwned, resourceIn } from './compare.ts';
import { staleTag } from './conditions.ts';
import { ResourceHarness } from './resource.ts';
import { conditionOf, declares, resourceTypesOf } from './resource-types.ts';
import { machineOf } from './states.ts';

/** A deleted resource is gone or marked as deleted. With the ETag of another version, a delete is rejected. */
export async function* removed(harness: ResourceHarness, label: string): Differences {
  const { remove, read } = harness.resourceType;
  if (remove === undefined || read === undefined) return;
  const { resource, exchange, row } = await harness.createAndRead(label);
  const condition = declares(remove, 412) ? conditionOf(remove) : undefined;
  const { etag } = exchange.response.headers;
  const stale = condition && (await harness.remove(resource, { 'if-match': staleTag(etag) }));
  if (stale !== undefined && isSuccess(stale))
    return yield differ('if-match-ignored', remove, 'If-Match', { exchanges: [exchange, stale] });
  const version = remove.parameters.find(({ in: place, name }) => place === 'query' && isVersionName(name));
  const old = version && staleTag(String(row[version.name]));
  const call = version && harness.callOn(remove, resource);
  const late = call && (await harness.session.send({ ...call, query: { ...call.query, [version.name]: old } }));
  if (version !== undefined && late !== undefined && isSuccess(late))
    return yield differ('if-match-ignored', remove, version.name, { node: version.node, exchanges: [exchange, late] });
  const belonging = await missedBelow(harness, read);
  const response = await harness.remove(resource, conditionOf(remove) && etag ? { 'if-match': etag } : {});
  if (response.response.status === 412)
    return yield differ('if-match-rejected', remove, 'current', { exchanges: [exchange, response] });
  needs(isSuccess(response) && response.response.status !== 202);
  const after = need(await harness.read(resource));
  const again = await harness.remove(resource);
  if (isSuccess(again) && isGone(after) && declares(remove, 404))
    yield differ('change-unknown', remove, 'again', { expected: '404', exchanges: [response, after, again] });
  if (isGone(after) && typeof resource.id === 'string' && resource.id.length > 7)
    harness.session.pool.forget(resource.id);
  const { softDelete } = extensionOf(remove.node);
  const isSameBody = jsonText(exchange.response.json) === jsonText(after.response.json);
  const filter = read.parameters.find(isOfDeleted);
  const exchanges = [response, after];
  if (isSuccess(after) && (softDelete === false || isSameBody))
    return yield differ('delete-lost', remove, '', { expected: '404, 410, or a mark that it is deleted', exchanges });
  if (isSuccess(after) && filter !== undefined && filter.schema.default !== true)
    return yield differ('deleted-shown', read, remove.id, { node: filter.node, exchanges });
  if (!isGone(after)) return;
  if (filter !== undefined && !/archived/i.test(filter.name)) {
    const hidden = (about: string, there: Exchange) => {
      const expected = `the resource with ${about}`;
      return differ('deleted-hidden', read, about, { expected, node: filter.node, exchanges: [response, there] });
    };
    const shown = need(await harness.read(resource, {}, 'caller', { [filter.name]: true }));
    if (isGone(shown)) return yield hidden(`${filter.name}=true`, shown);
    const marked = resourceIn(shown);
    const time = Object.keys(marked).find((name) => /^(?:deleted|removed)[-_]?(?:at|on)$/i.test(name));
    if (time !== undefined && marked[time] === null) return yield hidden(time, shown);
  }
  for (const { operation, exchange: there } of await harness.readEach(belonging, resource))
    if (isSuccess(there)) return yield differ('delete-below', operation, '', { exchanges: [response, after, there] });
  if (softDelete === true)
    return yield differ('deleted-hidden', read, remove.id, { expected: 'a resource marked as deleted', exchanges });
}

/** How many filters and words are tried that can find a resource. */
const maxFindings = 4;

/**
 * Of what is deleted, no list has a row, whatever filter or search found it, but with a parameter that asks for it, and no
 * total counts it. What restores it, does.
 */
export async function* unlisted(harness: ResourceHarness, label: string): Differences {
  const { list, remove } = harness.resourceType;
  if (list === undefined || remove === undefined) return;
  const created = await harness.createAndRead(label);
  const { resource, row } = created;
  const { listing, look } = need(harness.finder(list, resource));
  const before = need(await look());
  const byName = new Map(Object.entries(row).map(([name, value]) => [keyOfName(name), value]));
  const settings = listing.slots
    .filter(({ place }) => place === 'query')
    .flatMap((slot) => {
      const value = byName.get(keyOfName(withoutContainer(slot.words)));
      const values = slot === listing.controls.search ? Object.values(row).flatMap(longestWord) : [value];
      return values.filter((one) => isScalar(one) && one !== null).map((one) => [slot, one] as const);
    });
  const finding: (typeof settings)[number][] = [];
  for (const setting of settings.slice(0, maxFindings)) if ((await look(setting))?.row) finding.push(setting);
  const response = await harness.remove(resource);
  needs(isSuccess(response) && response.response.status !== 202);
  const [after, now] = [await harness.read(resource), need(await look())];
  const differs = (check: CheckName, about: string, actual: string, ...exchanges: Exchange[]) =>
    differ(check, list, about, { actual, exchanges: [response, ...exchanges] });
  const slot = listing.slots.find(({ source }) =>
    list.parameters.some((one) => one.node === source && isOfDeleted(one)),
  );
  const isHidden = slot !== undefined && slot.default !== true;
  const isSame = after !== undefined && isGone(after) && jsonText(before.row) === jsonText(now.row);
  // A row marked as deleted may remain, unless such rows must be requested with a parameter.
  if (now.row && before.row && (isHidden || isSame))
    return yield differs('delete-listed', remove.id, text(now.row), now.exchange);
  if (now.row !== undefined) return;
  for (const setting of finding) {
    const there = await look(setting);
    if (there?.row) yield differs('delete-listed', `${remove.id} ${setting[0].name}`, text(there.row), there.exchange);
  }
  needs(after !== undefined && (isGone(after) || isHidden));
  const [all, left] = [before, now].map(({ pages: [page] }) => page?.metadata.totals[0]);
  const isCounted = before.isComplete && now.isComplete && all?.value === before.rows.length;
  if (left && isCounted && left.value !== now.rows.length)
    yield differIn('page-total', list, left.name, [now.rows.length, left.value], [response, now.exchange]);
  if (slot === undefined || !isHidden || /archived/i.test(slot.name)) return;
  const marked = await look([slot, true]);
  if (marked?.isComplete && marked.row === undefined)
    yield differs('list-hides', slot.name, `none with ${slot.name}=true`, marked.exchange);
  const size = Math.ceil((marked?.rows.length ?? 0) / 3);
  const some = [...listing.widest, [slot, true] as const, ...listing.sized(size)];
  const pages = marked?.isComplete && size > 0 ? await listing.pages(some, 5, 'linked') : [];
  const paged = pages.flatMap(({ rows }) => rows.map((one) => marked?.keyOf(one)));
  const lost = marked?.keys.filter((key) => !paged.includes(key)) ?? [];
  if (pages.length > 1 && lost.length > 0)
    yield differs('page-lost', slot.name, `without ${shown(lost)}`, ...pages.map(({ exchange }) => exchange));
}

/** What is deleted is in the trash, and what restores it brings it back as it was, and out of the trash. */
export async function* restored(harness: ResourceHarness, label: string): Differences {
  const { session, document, resourceType } = harness;
  const { remove, read } = resourceType;
  const kinds = kindsOfSchema(document, read && responseSchema(read));
  const isOf = (schema: JsonObject | undefined) => kindsOfSchema(document, schema).some((one) => kinds.includes(one));
  const trash = session.operations.find(
    (one) =>
      readAt(session.operations, one.path) === one && isTrash.test(one.path) && isOf(rowsOf(document, one)?.schema),
  );
  const restore = session.operations.find(
    (one) =>
      /[/:](?:undelete|restore|recover)$/i.test(one.path) && lastParameter(one.path) && isOf(responseSchema(one)),
  );
  if (remove === undefined || read === undefined || (trash ?? restore) === undefined) return;
  const created = await harness.createAndRead(label);
  const { resource, row } = created;
  const removal = await harness.remove(resource);
  const gone = need(isSuccess(removal) ? await harness.read(resource) : undefined);
  const exchanges = [removal, gone];
  const differs = (check: CheckName, by: Operation, actual: string, ...more: readonly (Exchange | undefined)[]) =>
    differ(check, by, lastSegment(trash?.path ?? ''), { actual, exchanges: [...exchanges, ...more] });
  const found = await harness.finder(trash, resource)?.look();
  if (trash && found?.isComplete && found.row === undefined)
    return yield differs('list-hides', trash, 'not in the trash', found.exchange);
  if (restore === undefined) return;
  for (const { who, identity } of lacking(harness.session, restore)) {
    const by = await harness.change(restore, resource, undefined, {}, identity);
    if (isSuccess(by))
      return yield differ('missing-permission', restore, who, { expected: '403', exchanges: [...exchanges, by] });
  }
  const by = await harness.change(restore, resource, harness.bodyOf(restore));
  needs(isSuccess(by));
  const after = need(await harness.read(resource));
  if (isGone(after)) return yield differs('action-lost', restore, 'it is still deleted', by, after);
  const left = await harness.finder(trash, resource)?.look();
  if (trash && left?.row) yield differs('list-leaks', trash, 'still in the trash', by, left.exchange);
  const marks = Object.entries(resourceIn(gone)).filter(([name, value]) => !isSame(value, row[name]));
  const is = resourceIn(after);
  const names = [...marks.map(([name]) => name), ...Object.keys(resource.sent)].filter((name) => !isServerOwned(name));
  const isPlain = (value: unknown) => value === null || isScalar(value);
  const name = names.find((one) => isPlain(is[one]) && !isSame(is[one], row[one], { name: one }));
  if (name === undefined) return;
  yield differIn('action-lost', restore, name, [row[name], is[name]], [...exchanges, by, after]);
}

const isTrash = /\/(?:trash|bin|recycle-?bin|trashed|deleted)$/i;

/** What others refer to cannot be deleted, where only that can be the conflict that a deletion declares. */
export async function* inUse(harness: ResourceHarness, label: string): Differences {
  const { context, session, document, resourceType } = harness;
  const { remove, kind, updates } = resourceType;
  const isVersioned = updates.some((one) => session.versions.nameIn(one) !== undefined);
  const hasOthers = isVersioned || machineOf(harness).moves.length > 0;
  if (remove === undefined || !declares(remove, 409) || conditionOf(remove) !== undefined || hasOthers) return;
  for (const type of resourceTypesOf(session).filter((one) => one.kind !== kind && one.read !== undefined)) {
    const name = View.ofRequest(document, type.create).names.find((one) => kindOfReference(one) === kind);
    const known = context.requests.of(type.create);
    if (name === undefined || known === undefined) continue;
    const { resource } = await harness.createAndRead(`${label} ${name}`);
    const own = new ResourceHarness(context, type, known);
    const call = need(await own.callTo(`${label} ${name}`));
    const created = await session.send({ ...call, body: { ...Object(call.body), [name]: resource.id } });
    needs(isSuccess(created));
    const response = await harness.remove(resource);
    const left = isSuccess(response) ? await own.read(own.resourceOf(call, created)) : undefined;
    // What refers to it can be deleted with it.
    if (left && isSuccess(left) && Object.values(resourceIn(left)).includes(resource.id))
      yield differ('delete-used', remove, name, { expected: '409', exchanges: [created, response, left] });
    return;
  }
}

/** Operations that read what belongs to a resource, and return 404 below a resource that does not exist. */
async function missedBelow({ session, context }: ResourceHarness, read: Operation): Promise<Operation[]> {
  const found: Operation[] = [];
  for (const operation of session.operations) {
    const isBelow = operation.method === 'GET' && operation.path.startsWith(`${read.path}/`);
    const known = isBelow && !operation.path.endsWith('}') ? context.requests.of(operation)?.call : undefined;
    const call = known && withUnknownId(session, known, session.seedFor(`nobody ${read.id}`));
    if (call !== undefined && isGone(await session.send(call))) found.push(operation);
  }
  return found.filter(({ path }) => !/history|version|revision|audit|event|log/i.test(lastSegment(path)));
}

function isOfDeleted({ in: place, name, schema }: Parameter): boolean {
  const isNamed = /^(?:include|with|show|and)[-_]?(?:deleted|removed|trashed|archived)$/i.test(name);
  return place === 'query' && isNamed && [schema.type].flat().includes('boolean');
}
