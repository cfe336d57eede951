import { extensionOf, lastSegment, type Operation, type Parameter } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isScalar, jsonText } from '../../../json.ts';
import { withUnknownId } from '../../../run/ids.ts';
import { isVersionName, keyOfName, withoutContainer } from '../../../run/names.ts';
import { type Differences, differ, need, needs, text, valued } from '../../observe.ts';
import { lacking } from '../../scopes.ts';
import { longestWord } from '../lists/filters.ts';
import { type FullList, Listing, type Settings } from '../lists/listing.ts';
import { isGone, isSame, isServerOwned, resourceIn } from './compare.ts';
import { staleTag } from './conditions.ts';
import type { Created, ResourceHarness } from './resource.ts';
import { conditionOf, declares } from './resource-types.ts';

/** A deleted resource is gone or marked as deleted. With the ETag of another version, a delete is rejected. */
export async function* removed(harness: ResourceHarness, label: string): Differences {
  const { remove, read } = harness.resourceType;
  if (remove === undefined || read === undefined) return;
  const { resource, exchange, row } = await harness.createAndRead(label);
  const condition = declares(remove, 412) ? conditionOf(remove) : undefined;
  const { etag } = exchange.response.headers;
  const stale = condition && (await harness.remove(resource, { 'if-match': staleTag(etag) }));
  if (stale !== undefined && isSuccess(stale)) {
    const facts = { actual: responseText(stale), node: condition?.node, exchanges: [exchange, stale] };
    return yield differ('if-match-ignored', remove, 'If-Match', facts);
  }
  const version = remove.parameters.find(({ in: place, name }) => place === 'query' && isVersionName(name));
  const old = version && staleTag(String(row[version.name]));
  const call = version && harness.callOn(remove, resource);
  const late = call && (await harness.session.send({ ...call, query: { ...call.query, [version.name]: old } }));
  if (late !== undefined && isSuccess(late)) {
    const facts = { actual: responseText(late), node: version?.node, exchanges: [exchange, late] };
    return yield differ('if-match-ignored', remove, version?.name ?? '', facts);
  }
  const belonging = await missedBelow(harness, read, label);
  const response = await harness.remove(resource, conditionOf(remove) && etag ? { 'if-match': etag } : {});
  if (response.response.status === 412) {
    const facts = { actual: responseText(response), exchanges: [exchange, response] };
    return yield differ('if-match-rejected', remove, 'current', facts);
  }
  needs(isSuccess(response) && response.response.status !== 202);
  const after = need(await harness.read(resource));
  const again = await harness.remove(resource);
  if (isSuccess(again) && isGone(after) && declares(remove, 404)) {
    const facts = { expected: '404', actual: responseText(again), exchanges: [response, after, again] };
    yield differ('change-unknown', remove, 'again', facts);
  }
  if (isGone(after) && typeof resource.id === 'string' && resource.id.length > 7)
    harness.session.pool.forget(resource.id);
  const { softDelete } = extensionOf(remove.node);
  const isSameBody = jsonText(exchange.response.json) === jsonText(after.response.json);
  const filter = read.parameters.find(isOfDeleted);
  const facts = { actual: responseText(after), exchanges: [response, after] };
  if (isSuccess(after) && (softDelete === false || isSameBody))
    return yield differ('delete-lost', remove, '', {
      ...facts,
      expected: '404 or 410, or a resource that is marked as deleted',
    });
  if (isSuccess(after) && filter !== undefined && filter.schema.default !== true)
    return yield differ('deleted-shown', read, remove.id, {
      ...facts,
      expected: `404 without ${filter.name}`,
      node: filter.node,
    });
  if (!isGone(after)) return;
  if (filter !== undefined && !/archived/i.test(filter.name)) {
    const hidden = (about: string, actual: string, there: Exchange) => {
      const expected = `the resource with ${about}`;
      return differ('deleted-hidden', read, about, {
        expected,
        actual,
        node: filter.node,
        exchanges: [response, there],
      });
    };
    const shown = need(await harness.read(resource, {}, 'caller', { [filter.name]: true }));
    if (isGone(shown)) return yield hidden(`${filter.name}=true`, responseText(shown), shown);
    const marked = resourceIn(shown);
    const time = Object.keys(marked).find((name) => /^(?:deleted|removed)[-_]?(?:at|on)$/i.test(name));
    if (time !== undefined && marked[time] === null) return yield hidden(time, `${time}: null`, shown);
  }
  for (const { operation, exchange: there } of await harness.readEach(belonging, resource))
    if (isSuccess(there)) {
      const found = { actual: responseText(there), exchanges: [response, after, there] };
      return yield differ('delete-below', operation, '', found);
    }
  if (softDelete === true)
    return yield differ('deleted-hidden', read, remove.id, { ...facts, expected: 'a resource marked as deleted' });
}

/** Of what is deleted, no list has a row, but with a parameter that asks for it, and no total counts it. What restores it, does. */
export async function* unlisted(harness: ResourceHarness, label: string): Differences {
  const { list, remove, read, actions } = harness.resourceType;
  const listing = list && Listing.of(harness.context, list);
  if (list === undefined || listing === undefined || remove === undefined || read === undefined) return;
  const created = await harness.createAndRead(label);
  const { resource } = created;
  const walk = (...settings: Settings) => {
    const own = Listing.of(harness.context, list, resource.call.path);
    return own?.walk([...own.widest, ...settings]);
  };
  const before = need(await walk());
  const response = await harness.remove(resource);
  needs(isSuccess(response) && response.response.status !== 202);
  const [after, now] = [need(await harness.read(resource)), need(await walk())];
  const slot = listing.slots.find(({ source }) =>
    list.parameters.some((one) => one.node === source && isOfDeleted(one)),
  );
  const isHidden = slot !== undefined && slot.default !== true;
  needs(isGone(after) || isHidden);
  const rowIn = (all: FullList | undefined) => all?.rows.find((one) => harness.isOf(resource, one));
  const [previous, is] = [rowIn(before), rowIn(now)];
  // A row marked as deleted may remain, unless such rows must be requested with a parameter.
  if (is && previous && (isHidden || jsonText(previous) === jsonText(is)))
    return yield differ('delete-listed', list, remove.id, { actual: text(is), exchanges: [response, now.exchange] });
  if (is !== undefined) return;
  const [all, left] = [before, now].map(({ pages: [page] }) => page?.metadata.totals[0]);
  if (
    left &&
    before.isComplete &&
    now.isComplete &&
    all?.value === before.rows.length &&
    left.value !== now.rows.length
  )
    yield differ('page-total', list, remove.id, {
      ...valued(left.name, now.rows.length, left.value),
      exchanges: [response, now.exchange],
    });
  if (slot === undefined || !isHidden || /archived/i.test(slot.name)) return;
  const marked = await walk([slot, true]);
  if (marked?.isComplete && rowIn(marked) === undefined) {
    const actual = `none with ${slot.name}=true`;
    yield differ('list-hides', list, slot.name, { actual, exchanges: [response, marked.exchange] });
  }
  const restore = actions.find(({ path }) => /^(?:undelete|restore|recover)$/i.test(lastSegment(path)));
  if (restore !== undefined) yield* restored(harness, restore, created, [response, after]);
}

async function* restored(
  harness: ResourceHarness,
  restore: Operation,
  { resource, row }: Created,
  exchanges: readonly [Exchange, Exchange],
): Differences {
  for (const { who, identity } of lacking(harness.session, restore)) {
    const by = await harness.change(restore, resource, undefined, {}, identity);
    const facts = { expected: '403', actual: responseText(by), exchanges: [...exchanges, by] };
    if (isSuccess(by)) return yield differ('missing-permission', restore, who, facts);
  }
  const by = await harness.change(restore, resource, harness.bodyOf(restore));
  const shown = isSuccess(by) ? await harness.shown(resource) : undefined;
  const marks = Object.entries(resourceIn(exchanges[1])).filter(
    ([name, value]) => !isServerOwned(name) && !isSame(value, row[name]),
  );
  const [name, value] = marks.find(([one]) => shown !== undefined && !isSame(shown.row[one], row[one])) ?? [];
  if (shown === undefined || name === undefined) return;
  const facts = { ...valued(name, row[name], value), exchanges: [...exchanges, by, shown.exchange] };
  yield differ('action-lost', restore, name, facts);
}

/** How many filters and words are tried that can find a resource. */
const maxFindings = 4;

/** A list without what is deleted leaves it out with each filter and search that found it. */
export async function* foundDeleted(harness: ResourceHarness, label: string): Differences {
  const { list, remove } = harness.resourceType;
  const { resource, row } = await harness.createAndRead(label);
  const listing = list && Listing.of(harness.context, list, resource.call.path);
  if (list === undefined || remove === undefined || listing === undefined) return;
  const found = async (settings: Settings) => {
    const all = need(await listing.walk([...listing.widest, ...settings]));
    return { exchange: all.exchange, row: all.rows.find((one) => harness.isOf(resource, one)) };
  };
  const byName = new Map(Object.entries(row).map(([name, value]) => [keyOfName(name), value]));
  const settings = listing.slots
    .filter(({ place }) => place === 'query')
    .flatMap((slot) => {
      const value = byName.get(keyOfName(withoutContainer(slot.words)));
      const values = slot === listing.controls.search ? Object.values(row).flatMap(longestWord) : [value];
      return values.filter((one) => isScalar(one) && one !== null).map((one) => [slot, one] as const);
    });
  const finding: (typeof settings)[number][] = [];
  for (const setting of settings.slice(0, maxFindings))
    if ((await found([setting])).row !== undefined) finding.push(setting);
  needs(finding.length > 0);
  const response = await harness.remove(resource);
  needs(isSuccess(response) && response.response.status !== 202 && (await found([])).row === undefined);
  for (const [slot, value] of finding) {
    const after = await found([[slot, value]]);
    const facts = { actual: text(after.row), node: slot.source, exchanges: [response, after.exchange] };
    if (after.row !== undefined) yield differ('delete-listed', list, `${remove.id} ${slot.name}`, facts);
  }
}

/** Operations that read what belongs to a resource, and return 404 below a resource that does not exist. */
async function missedBelow(
  { session, context }: ResourceHarness,
  read: Operation,
  label: string,
): Promise<Operation[]> {
  const found: Operation[] = [];
  for (const operation of session.operations) {
    const isBelow = operation.method === 'GET' && operation.path.startsWith(`${read.path}/`);
    const known = isBelow && !operation.path.endsWith('}') ? context.requests.of(operation)?.call : undefined;
    const call = known && withUnknownId(session, known, session.seedFor(`nobody ${label}`));
    if (call !== undefined && isGone(await session.send(call))) found.push(operation);
  }
  return found.filter(({ path }) => !/history|version|revision|audit|event|log/i.test(lastSegment(path)));
}

function isOfDeleted({ in: place, name, schema }: Parameter): boolean {
  const isNamed = /^(?:include|with|show|and)[-_]?(?:deleted|removed|trashed|archived)$/i.test(name);
  return place === 'query' && isNamed && [schema.type].flat().includes('boolean');
}
