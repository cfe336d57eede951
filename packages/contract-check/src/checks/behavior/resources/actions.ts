import type { Operation } from '../../../document/operation.ts';
import { isSuccess } from '../../../http/call.ts';
import { View } from '../../../schema/view.ts';
import type { BehaviorCheck, Difference } from '../observe.ts';
import { otherThanRead, ownId, resourceIn } from './compare.ts';
import type { ResourceHarness } from './resource.ts';

/** Actions after which others may be impossible. */
const ends = /cancel|close|archive|void|reject|deactivate|delete|remove|end|finish|complete|expire|revoke/i;

export const actionEffects: BehaviorCheck<ResourceHarness> = {
  name: 'actions',
  describe: 'What an action returns of a resource is also returned when the resource is read.',
  applies: ({ resourceType: { read, actions } }) => read !== undefined && actions.length > 0,
  async run(harness, label) {
    const { resource } = await harness.createAndRead(label);
    const found: Difference[] = [];
    const done = new Set<Operation>();
    const isEnd = ({ path }: Operation) => Number(ends.test(path.slice(path.lastIndexOf('/'))));
    const actions = harness.resourceType.actions.toSorted((one, other) => isEnd(one) - isEnd(other));
    // An action may require another one first.
    for (const action of [...actions, ...actions]) {
      if (done.has(action) || harness.session.isOver) continue;
      const body = harness.context.requests.of(action)?.call.body;
      const response = await harness.change(action, resource, body);
      const { status } = response.response;
      const after = isSuccess(response) && status !== 202 ? await harness.shown(resource) : undefined;
      if (after === undefined) continue;
      done.add(action);
      const returned = { row: resourceIn(response), view: View.ofResponse(harness.document, action, status) };
      // The response may contain another resource that refers to this one.
      const id = ownId(returned.row) ?? resource.id;
      if (harness.isOf(resource, returned.row) && String(id) === String(resource.id))
        found.push(...otherThanRead('action-lost', action, returned, after, [response, after.exchange]));
      // The response to a repeated action is checked like any other response.
      await harness.change(action, resource, body);
    }
    return done.size === 0 ? undefined : found;
  },
};
