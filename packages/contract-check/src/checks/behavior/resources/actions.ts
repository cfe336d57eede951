import type { Operation } from '../../../document/operation.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isObject } from '../../../json.ts';
import { withKnownIds } from '../../../run/ids.ts';
import { kindOfReference } from '../../../run/names.ts';
import { requestSchema, View } from '../../../schema/view.ts';
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
    const { resource, ...created } = await harness.createAndRead(label);
    const found: Difference[] = [];
    const done = new Set<Operation>();
    let before: Shown = created;
    // An action may require another one first. Actions that end the resource come last.
    const isEnd = (action: Operation) => Number(ends.test(verbOf(action)));
    const actions = harness.resourceType.actions.toSorted((one, other) => isEnd(one) - isEnd(other));
    for (const action of [...actions, ...actions]) {
      if (done.has(action) || harness.session.isOver) continue;
      const act = await perform(harness, action, resource, label);
      const { status } = act.exchange.response;
      const after = isSuccess(act.exchange) && status !== 202 ? await harness.shown(resource) : undefined;
      if (after === undefined) continue;
      done.add(action);
      found.push(...otherThanReturned(harness, act, after), ...lost(act, after), ...idle(act, before, after));
      before = after;
      // The response to a repeated action is checked like any other response.
      await perform(harness, action, resource, label);
    }
    return done.size === 0 ? undefined : found;
  },
};

interface Act {
  readonly action: Operation;
  readonly resource: Resource;
  readonly body: unknown;
  readonly exchange: Exchange;
}

/** Performs an action: with the body that succeeded before, or with another one. */
async function perform(harness: ResourceHarness, action: Operation, resource: Resource, label: string): Promise<Act> {
  const { session, context } = harness;
  const body = context.requests.of(action)?.call.body;
  const act = { action, resource, body, exchange: await harness.change(action, resource, body) };
  const schema = requestSchema(action);
  if (schema === undefined || isSuccess(act.exchange)) return act;
  const sample = session.values.sample(schema, 'request', 'most', session.seedFor(`${action.id} ${label}`));
  const other = withKnownIds(session, action, sample?.value);
  return { ...act, body: other, exchange: await harness.change(action, resource, other) };
}

/** Reports properties whose value in the response differs from a later read. */
function otherThanReturned(harness: ResourceHarness, { action, resource, exchange }: Act, after: Shown): Difference[] {
  const row = resourceIn(exchange);
  // The response may contain another resource that refers to this one.
  const isItself = harness.isOf(resource, row) && String(ownId(row) ?? resource.id) === String(resource.id);
  const view = View.ofResponse(harness.document, action, exchange.response.status);
  return isItself ? otherThanRead('action-lost', action, { row, view }, after, [exchange, after.exchange]) : [];
}

/** Sent values must be stored: references, and properties named in the path, such as `odometer_km` for `/odometer`. */
function lost({ action, body, exchange }: Act, { row, view, exchange: read }: Shown): Difference[] {
  const segment = letters(verbOf(action));
  const isMeant = (name: string) =>
    kindOfReference(name) !== undefined || (segment.length > 3 && letters(name).startsWith(segment));
  return Object.entries(isObject(body) ? body : {})
    .filter(([name, value]) => isScalar(value) && isMeant(name) && !isSame(value, row[name], { name }))
    .filter(([name]) => !view.member(name).isEmpty)
    .map(([name, value]) => {
      const facts = { ...valued(name, value, row[name]), node: view.member(name).node, exchanges: [exchange, read] };
      return differ('action-lost', action, name, facts);
    });
}

/** Reports an action that is named after a state but does not change the state. */
function idle({ action, exchange }: Act, before: Shown, { row, view, exchange: read }: Shown): Difference[] {
  return view.names.flatMap((name) => {
    const { words, node } = view.member(name);
    const goal = words.find((state) => typeof state === 'string' && isStateOf(verbOf(action), state));
    if (goal === undefined || before.row[name] === goal || before.row[name] !== row[name]) return [];
    return [
      differ('action-idle', action, name, { ...valued(name, goal, row[name]), node, exchanges: [exchange, read] }),
    ];
  });
}

/** States that do not start with the verb. */
const unlikeTheirVerb: Readonly<Record<string, string>> = {
  pay: 'paid',
  send: 'sent',
  hold: 'held',
  begin: 'begun',
  withdraw: 'withdrawn',
  lend: 'lent',
  sell: 'sold',
  activate: 'active',
  deactivate: 'inactive',
};

/** Whether a state results from a verb: `cancelled` from `cancel`. */
function isStateOf(verb: string, state: string): boolean {
  const [plain, word] = [letters(verb), letters(state)];
  if (unlikeTheirVerb[plain] === word) return true;
  const stem = plain.replace(/[ey]$/, '');
  return stem.length > 3 && word.startsWith(stem) && /^(?:e|i?ed|[a-z]?ed|d)$/.test(word.slice(stem.length));
}
