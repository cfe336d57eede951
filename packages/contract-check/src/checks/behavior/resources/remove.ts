import { extensionOf, type Operation, type Parameter } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { withUnknownId } from '../../../run/unknown-id.ts';
import { readCollection } from '../lists/listing.ts';
import { type BehaviorCheck, type Difference, differ, ifSeen, need, text } from '../observe.ts';
import { isGone, resourceIn } from './compare.ts';
import type { Resource, ResourceHarness } from './harness.ts';
import { declares } from './resource-types.ts';
import { untouched } from './update.ts';

export const removed: BehaviorCheck<ResourceHarness> = {
  name: 'delete',
  describe: 'A deleted resource is gone or marked as deleted, and no other resource is affected.',
  applies: ({ resourceType: { remove, read } }) => remove !== undefined && read !== undefined,
  async run(harness, label) {
    const { list, ...type } = harness.resourceType;
    const [remove, read] = [need(type.remove), need(type.read)];
    const created = await harness.createAndRead(label);
    const other = await ifSeen(() => harness.createAndRead(`${label} other`));
    const { resource } = created;
    const before = list && (await harness.list(list));
    const response = await harness.remove(resource);
    if (!isSuccess(response) || response.response.status === 202) return undefined;
    const after = need(await harness.read(resource));
    const found: Difference[] = [];
    const differs = (check: CheckName, by: Operation, expected?: string, node?: object) => {
      const facts = { actual: responseText(after), node, exchanges: [response, after] };
      found.push(
        differ(check, by, by === remove ? '' : remove.id, expected === undefined ? facts : { expected, ...facts }),
      );
    };
    const { softDelete } = extensionOf(remove.node);
    const isSameBody = JSON.stringify(created.exchange.response.json) === JSON.stringify(after.response.json);
    const filter = read.parameters.find(isOfDeleted);
    if (isSuccess(after) && (softDelete === false || isSameBody))
      differs('delete-lost', remove, '404 or 410, or a resource that is marked as deleted');
    else if (isSuccess(after) && filter !== undefined && filter.schema.default !== true)
      differs('deleted-shown', read, `404 without ${filter.name}`, filter.node);
    if (isGone(after)) {
      if (softDelete === true) differs('deleted-hidden', read);
      const now = list && before && (await harness.list(list));
      const [previous, is] = [before, now].map((all) => all?.rows.find((row) => harness.isOf(resource, row)));
      // A row marked as deleted may remain, unless such rows must be requested with a parameter.
      const isRequested = list?.parameters.some((one) => isOfDeleted(one) && one.schema.default !== true);
      if (list && previous && is && (isRequested || JSON.stringify(previous) === JSON.stringify(is)))
        found.push(
          differ('delete-listed', list, remove.id, { actual: text(is), exchanges: [response, now?.exchange] }),
        );
      found.push(...(await hidden(harness, remove, resource)), ...(await beneath(harness, remove, resource)));
    }
    const again = await harness.remove(resource);
    found.push(...(await untouched(harness, remove, other, again)));
    if (isGone(after) && typeof resource.id === 'string' && resource.id.length > 7)
      harness.session.pool.forget(resource.id);
    return found;
  },
};

/** Whether a parameter includes deleted resources. */
function isOfDeleted({ in: place, name, schema }: Parameter): boolean {
  const isNamed = /^(?:include|with|show|and)[-_]?(?:deleted|removed|trashed|archived)$/i.test(name);
  return place === 'query' && isNamed && [schema.type].flat().includes('boolean');
}

/** Deleted resources must be returned if they are requested. */
async function hidden(harness: ResourceHarness, remove: Operation, resource: Resource): Promise<Difference[]> {
  const { read, lists, collection } = harness.resourceType;
  const differs = (by: Operation, { name, node }: Parameter, exchange: Exchange | undefined, mark = name): Difference =>
    differ('deleted-hidden', by, mark, {
      expected: `${text(resource.id)} with ${mark}, deleted by ${remove.id}`,
      actual: exchange === undefined ? '' : responseText(exchange),
      ...{ node, exchanges: [exchange] },
    });
  const found: Difference[] = [];
  const ofRead = read?.parameters.find(isOfDeleted);
  const call = read && harness.callOn(read, resource);
  if (read && ofRead && call) {
    const exchange = await harness.session.send({ ...call, query: { ...call.query, [ofRead.name]: true } });
    const row = isSuccess(exchange) ? resourceIn(exchange) : {};
    const mark = Object.keys(row).find((name) => /^(?:deleted|removed|archived)[-_]?(?:at|on|date)?$/i.test(name));
    if (isGone(exchange)) found.push(differs(read, ofRead, exchange));
    else if (mark !== undefined && (row[mark] === null || row[mark] === false))
      found.push(differs(read, ofRead, exchange, mark));
  }
  for (const list of lists.filter(({ path }) => path === collection)) {
    const ofList = list.parameters.find(isOfDeleted);
    const all = ofList && (await readCollection(harness.context, list, resource.call.path, { [ofList.name]: true }));
    if (ofList && all?.isComplete === true && !all.rows.some((row) => harness.isOf(resource, row)))
      found.push(differs(list, ofList, all.exchange));
  }
  return found;
}

/** Nested reads must return 404 for a deleted parent, if they do so for an unknown one. */
async function beneath(harness: ResourceHarness, remove: Operation, resource: Resource): Promise<Difference[]> {
  const { session, resourceType } = harness;
  const path = resourceType.read?.path ?? '';
  const readers = session.operations.filter(
    (one) =>
      one.method === 'GET' &&
      one.path.startsWith(`${path}/`) &&
      !one.path.slice(path.length).includes('{') &&
      declares(one, 404),
  );
  const found: Difference[] = [];
  for (const reader of readers.slice(0, 4)) {
    const call = harness.callOn(reader, resource);
    const after = call && (await session.send(call));
    if (call === undefined || after === undefined || !isSuccess(after)) continue;
    const unknown = withUnknownId(session, call, session.seedFor('nobody, never'));
    if (unknown === undefined || !isGone(await session.send(unknown))) continue;
    const facts = { expected: '404, as for an unknown id', actual: responseText(after), exchanges: [after] };
    found.push(differ('deleted-parent', reader, remove.id, facts));
  }
  return found;
}
