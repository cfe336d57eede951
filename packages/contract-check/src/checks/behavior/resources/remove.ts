import { extensionOf, lastSegment, type Operation, type Parameter } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { jsonText } from '../../../json.ts';
import { withUnknownId } from '../../../run/ids.ts';
import { Listing } from '../lists/listing.ts';
import { type BehaviorCheck, type Difference, differ, need, text } from '../observe.ts';
import { isGone, resourceIn } from './compare.ts';
import type { ResourceHarness } from './resource.ts';
import { conditionOf, declares } from './resource-types.ts';

export const removed: BehaviorCheck<ResourceHarness> = {
  name: 'delete',
  describe: 'A deleted resource is gone or marked as deleted. With the ETag of another version, a delete is rejected.',
  applies: ({ resourceType: { remove, read } }) => remove !== undefined && read !== undefined,
  async run(harness, label) {
    const { list, ...type } = harness.resourceType;
    const [remove, read] = [need(type.remove), need(type.read)];
    const { resource, exchange } = await harness.createAndRead(label);
    const before = list && (await harness.list(list));
    const condition = declares(remove, 412) ? conditionOf(remove) : undefined;
    const stale = condition && (await harness.remove(resource, { 'if-match': '"of-no-version"' }));
    if (stale !== undefined && isSuccess(stale)) {
      const facts = { actual: responseText(stale), node: condition?.node, exchanges: [exchange, stale] };
      return [differ('if-match-ignored', remove, 'If-Match', facts)];
    }
    const belonging = await missedBelow(harness, read, label);
    const { etag } = exchange.response.headers;
    const response = await harness.remove(resource, conditionOf(remove) && etag ? { 'if-match': etag } : {});
    if (response.response.status === 412)
      return [
        differ('if-match-rejected', remove, 'current', {
          actual: responseText(response),
          exchanges: [exchange, response],
        }),
      ];
    if (!isSuccess(response) || response.response.status === 202) return undefined;
    const after = need(await harness.read(resource));
    const differs = (check: CheckName, by: Operation, expected: string, node?: object): Difference[] => {
      const facts = { expected, actual: responseText(after), node, exchanges: [response, after] };
      return [differ(check, by, by === remove ? '' : remove.id, facts)];
    };
    // The response to a repeated delete is checked like any other response.
    await harness.remove(resource);
    if (isGone(after) && typeof resource.id === 'string' && resource.id.length > 7)
      harness.session.pool.forget(resource.id);
    const { softDelete } = extensionOf(remove.node);
    const isSameBody = jsonText(exchange.response.json) === jsonText(after.response.json);
    const filter = read.parameters.find(isOfDeleted);
    if (isSuccess(after) && (softDelete === false || isSameBody))
      return differs('delete-lost', remove, '404 or 410, or a resource that is marked as deleted');
    if (isSuccess(after) && filter !== undefined && filter.schema.default !== true)
      return differs('deleted-shown', read, `404 without ${filter.name}`, filter.node);
    if (!isGone(after)) return [];
    const isOwnFilter = filter !== undefined && !/archived/i.test(filter.name);
    const shown = isOwnFilter && (await harness.read(resource, {}, 'caller', { [filter.name]: true }));
    const hidden = (about: string, actual: string, exchange: Exchange) => {
      const facts = {
        expected: `the resource with ${about}`,
        actual,
        node: filter?.node,
        exchanges: [response, exchange],
      };
      return [differ('deleted-hidden', read, about, facts)];
    };
    if (shown && isGone(shown)) return hidden(`${filter?.name}=true`, responseText(shown), shown);
    const marked = shown ? resourceIn(shown) : undefined;
    const time = Object.keys(marked ?? {}).find((name) => /^(?:deleted|removed)[-_]?(?:at|on)$/i.test(name));
    if (shown && time !== undefined && marked?.[time] === null) return hidden(time, `${time}: null`, shown);
    const listing = list && Listing.of(harness.context, list, resource.call.path);
    const slot = isOwnFilter ? listing?.slots.find(({ name }) => name === filter.name) : undefined;
    const rows = slot && (await listing?.walk([...listing.widest, [slot, true]]));
    if (rows?.isComplete && !rows.rows.some((row) => harness.isOf(resource, row)) && list !== undefined) {
      const facts = { actual: `none with ${filter?.name}=true`, exchanges: [response, rows.exchange] };
      return [differ('list-hides', list, filter?.name ?? '', facts)];
    }
    for (const { operation, exchange: there } of await harness.readEach(belonging, resource))
      if (isSuccess(there))
        return [
          differ('delete-below', operation, '', { actual: responseText(there), exchanges: [response, after, there] }),
        ];
    if (softDelete === true) return differs('deleted-hidden', read, 'a resource that is marked as deleted');
    const now = list && before && (await harness.list(list));
    const [previous, is] = [before, now].map((all) => all?.rows.find((row) => harness.isOf(resource, row)));
    // A row marked as deleted may remain, unless such rows must be requested with a parameter.
    const isRequested = list?.parameters.some((one) => isOfDeleted(one) && one.schema.default !== true);
    if (!list || !previous || !is || !(isRequested || jsonText(previous) === jsonText(is))) return [];
    return [differ('delete-listed', list, remove.id, { actual: text(is), exchanges: [response, now?.exchange] })];
  },
};

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

/** Whether a parameter includes deleted resources. */
function isOfDeleted({ in: place, name, schema }: Parameter): boolean {
  const isNamed = /^(?:include|with|show|and)[-_]?(?:deleted|removed|trashed|archived)$/i.test(name);
  return place === 'query' && isNamed && [schema.type].flat().includes('boolean');
}
