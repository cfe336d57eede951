import type { Operation } from '../../../document/operation.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isObject } from '../../../json.ts';
import { kindOfReference } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import { type BehaviorCheck, type Difference, differ, valued } from '../observe.ts';
import { isSame, isScalar, otherThanRead, ownId, resourceIn } from './compare.ts';
import type { Resource, ResourceHarness, Shown } from './harness.ts';

const verbOf = ({ path }: Operation) => path.slice(path.lastIndexOf('/') + 1);
const letters = (name: string) => name.toLowerCase().replaceAll(/[^a-z]/g, '');
const ends = /cancel|close|archive|void|reject|deactivate|delete|remove|end|finish|complete|expire|revoke/i;

export const actionEffects: BehaviorCheck<ResourceHarness> = {
  name: 'actions',
  describe: 'An action on a resource is visible when the resource is read.',
  applies: ({ resourceType: { read, actions } }) => read !== undefined && actions.length > 0,
  async run(harness, label) {
    const { resource } = await harness.createAndRead(label);
    const found: Difference[] = [];
    const done = new Set<Operation>();
    // An action may require another one first. Actions that end the resource come last.
    const isEnd = (action: Operation) => Number(ends.test(verbOf(action)));
    const actions = harness.resourceType.actions.toSorted((one, other) => isEnd(one) - isEnd(other));
    for (const action of [...actions, ...actions]) {
      if (done.has(action) || harness.session.isOver) continue;
      const body = harness.context.requests.of(action)?.call.body;
      const response = await harness.change(action, resource, body);
      const { status } = response.response;
      const after = isSuccess(response) && status !== 202 ? await harness.shown(resource) : undefined;
      if (after === undefined) continue;
      done.add(action);
      found.push(
        ...otherThanReturned(harness, action, resource, response, after),
        ...lost(action, body, response, after),
      );
      // The response to a repeated action is checked like any other response.
      await harness.change(action, resource, body);
    }
    return done.size === 0 ? undefined : found;
  },
};

/** Reports properties whose value in the response differs from a later read. */
function otherThanReturned(
  harness: ResourceHarness,
  action: Operation,
  resource: Resource,
  by: Exchange,
  after: Shown,
): Difference[] {
  const row = resourceIn(by);
  // The response may contain another resource that refers to this one.
  const isItself = harness.isOf(resource, row) && String(ownId(row) ?? resource.id) === String(resource.id);
  const view = View.ofResponse(harness.document, action, by.response.status);
  return isItself ? otherThanRead('action-lost', action, { row, view }, after, [by, after.exchange]) : [];
}

/** Sent values must be stored: references, and properties named in the path, such as `odometer_km` for `/odometer`. */
function lost(action: Operation, body: unknown, by: Exchange, { row, view, exchange }: Shown): Difference[] {
  const segment = letters(verbOf(action));
  const isMeant = (name: string) =>
    kindOfReference(name) !== undefined || (segment.length > 3 && letters(name).startsWith(segment));
  return Object.entries(isObject(body) ? body : {})
    .filter(([name, value]) => isScalar(value) && isMeant(name) && !isSame(value, row[name], { name }))
    .filter(([name]) => !view.member(name).isEmpty)
    .map(([name, value]) => {
      const facts = { ...valued(name, value, row[name]), node: view.member(name).node, exchanges: [by, exchange] };
      return differ('action-lost', action, name, facts);
    });
}
