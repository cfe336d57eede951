import type { Operation } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { isSuccess } from '../../../http/call.ts';
import { itemResultsIn } from '../../../judge/outcome.ts';
import { withUnknownId } from '../../../run/ids.ts';
import { isDeleting, kindOfPath, kindOfReference, lastParameter } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import type { CheckContext } from '../../check.ts';
import { type BehaviorCheck, type Difference, differ, need, needs, text } from '../observe.ts';
import { isGone, ownId } from './compare.ts';
import { ResourceHarness } from './resource.ts';
import { type ResourceType, resourceTypesOf } from './resource-types.ts';

/** An operation that deletes the resources that a list of IDs names. */
interface BulkRemoval {
  readonly context: CheckContext;
  readonly operation: Operation;
  /** The body property with the IDs. */
  readonly member: string;
  readonly type: ResourceType;
}

export function bulkRemovalsOf(context: CheckContext): BulkRemoval[] {
  const { session } = context;
  const types = resourceTypesOf(session).filter(({ read }) => read !== undefined);
  return session.operations.flatMap((operation) => {
    const type = types.find(({ kind }) => kind === kindOfPath(operation.path));
    const view = View.ofRequest(session.document, operation);
    const isIds = (name: string) => /^ids$/i.test(name) || kindOfReference(name) === type?.kind;
    const member = view.names.find((name) => isIds(name) && view.member(name).isList);
    if (type === undefined || member === undefined || operation.path.includes('{') || !isDeleting(operation)) return [];
    return [{ context, operation, member, type }];
  });
}

export const removedInBulk: BehaviorCheck<BulkRemoval> = {
  name: 'bulk removal',
  describe:
    'Exactly the resources that the IDs name are deleted, with a result for each ID in order; one does not exist.',
  async run({ context, operation, member, type }, label) {
    const { requests, session } = context;
    const known = need(requests.of(operation)).call;
    const read = need(type.read);
    const harness = new ResourceHarness(context, type, need(requests.of(type.create)));
    needs((await harness.start()) !== undefined && harness.isReadable);
    const created = [await harness.createAndRead(label), await harness.createAndRead(`${label} second`)];
    const kept = await harness.createAndRead(`${label} kept`);
    const [first, second] = created.map(({ resource }) => resource.id);
    const call = need(withUnknownId(session, need(harness.callOn(read, kept.resource)), session.seedFor(label)));
    const send = (ids: readonly unknown[]) =>
      session.send({ ...known, body: { ...Object(known.body), [member]: ids } });
    const ids = [first, call.path[lastParameter(read.path) ?? ''], second];
    const whole = await send(ids);
    const by = isSuccess(whole) ? whole : await send([first, second]);
    needs(isSuccess(by));
    const found: Difference[] = [];
    const differs = (check: CheckName, about: string, expected: string, actual: string) =>
      found.push(differ(check, operation, about, { expected, actual, exchanges: [by] }));
    for (const { resource } of created) {
      const after = need(await harness.read(resource));
      if (!isGone(after)) differs('bulk-lost', 'deleted', `${text(resource.id)} is deleted`, responseText(after));
    }
    const other = need(await harness.read(kept.resource));
    if (isGone(other)) differs('bulk-affects', 'others', `${text(kept.resource.id)} is kept`, responseText(other));
    const results = by === whole ? (itemResultsIn(by) ?? []) : [];
    if (results.length !== ids.length) return found;
    if (results[1]?.isFailure === false) differs('bulk-results', 'unknown', 'a failure', text(results[1].row));
    const order = results.map(({ row }) => ownId(row));
    if (order.every((id) => id !== undefined) && order.join() !== ids.join())
      differs('bulk-results', 'order', ids.join(', '), order.join(', '));
    return found;
  },
};
