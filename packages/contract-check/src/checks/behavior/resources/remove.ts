import { extensionOf, lastSegment, type Operation, type Parameter } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isScalar, jsonText } from '../../../json.ts';
import { withUnknownId } from '../../../run/ids.ts';
import { keyOfName, withoutContainer } from '../../../run/names.ts';
import { type Differences, differ, need, needs, text } from '../../observe.ts';
import { longestWord } from '../lists/filters.ts';
import { Listing, type Settings } from '../lists/listing.ts';
import { isGone, resourceIn } from './compare.ts';
import { staleTag } from './conditions.ts';
import type { ResourceHarness } from './resource.ts';
import { conditionOf, declares } from './resource-types.ts';

/** A deleted resource is gone or marked as deleted. With the ETag of another version, a delete is rejected. */
export async function* removed(harness: ResourceHarness, label: string): Differences {
  const { list, remove, read } = harness.resourceType;
  if (remove === undefined || read === undefined) return;
  const { resource, exchange } = await harness.createAndRead(label);
  const before = list && (await harness.list(list));
  const condition = declares(remove, 412) ? conditionOf(remove) : undefined;
  const { etag } = exchange.response.headers;
  const stale = condition && (await harness.remove(resource, { 'if-match': staleTag(etag) }));
  if (stale !== undefined && isSuccess(stale)) {
    const facts = { actual: responseText(stale), node: condition?.node, exchanges: [exchange, stale] };
    return yield differ('if-match-ignored', remove, 'If-Match', facts);
  }
  const belonging = await missedBelow(harness, read, label);
  const response = await harness.remove(resource, conditionOf(remove) && etag ? { 'if-match': etag } : {});
  if (response.response.status === 412) {
    const facts = { actual: responseText(response), exchanges: [exchange, response] };
    return yield differ('if-match-rejected', remove, 'current', facts);
  }
  needs(isSuccess(response) && response.response.status !== 202);
  const after = need(await harness.read(resource));
  // The response to a repeated delete is checked like any other response.
  await harness.remove(resource);
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
    const listing = list && Listing.of(harness.context, list, resource.call.path);
    const slot = listing?.slots.find(({ name }) => name === filter.name);
    const rows = slot && (await listing?.walk([...listing.widest, [slot, true]]));
    const isMissing = rows?.isComplete && !rows.rows.some((row) => harness.isOf(resource, row));
    if (isMissing && list !== undefined) {
      const actual = `none with ${filter.name}=true`;
      return yield differ('list-hides', list, filter.name, { actual, exchanges: [response, rows.exchange] });
    }
  }
  for (const { operation, exchange: there } of await harness.readEach(belonging, resource))
    if (isSuccess(there)) {
      const found = { actual: responseText(there), exchanges: [response, after, there] };
      return yield differ('delete-below', operation, '', found);
    }
  if (softDelete === true)
    return yield differ('deleted-hidden', read, remove.id, { ...facts, expected: 'a resource marked as deleted' });
  const now = list && before && (await harness.list(list));
  const [previous, is] = [before, now].map((all) => all?.rows.find((row) => harness.isOf(resource, row)));
  // A row marked as deleted may remain, unless such rows must be requested with a parameter.
  const isRequested = list?.parameters.some((one) => isOfDeleted(one) && one.schema.default !== true);
  if (list && previous && is && (isRequested || jsonText(previous) === jsonText(is)))
    yield differ('delete-listed', list, remove.id, { actual: text(is), exchanges: [response, now?.exchange] });
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
