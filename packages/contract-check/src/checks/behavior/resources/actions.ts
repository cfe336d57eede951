import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isJson, isSuccess } from '../../../http/call.ts';
import { isObject, type JsonObject, parsedJson } from '../../../json.ts';
import { withKnownIds } from '../../../run/ids.ts';
import { isOwnId, kindOfReference } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import { type BehaviorCheck, type Difference, differ, valued } from '../observe.ts';
import { isSame, isScalar, otherThanRead, resourceIn } from './compare.ts';
import type { Resource, ResourceHarness, Shown } from './harness.ts';

const lastSegment = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const letters = (name: string) => name.toLowerCase().replaceAll(/[^a-z]/g, '');

const isEnd = ({ path }: Operation) =>
  /cancel|close|archive|void|reject|deactivate|delete|remove|end|finish|complete|expire|revoke/i.test(
    lastSegment(path),
  );

export const actionEffects: BehaviorCheck<ResourceHarness> = {
  name: 'actions',
  describe: 'An action on a resource is visible when the resource is read.',
  applies: ({ resourceType: { read, actions } }) => read !== undefined && actions.length > 0,
  async run(harness, label) {
    const created = await harness.createAndRead(label);
    const { resource } = created;
    const found: Difference[] = [];
    const done = new Set<Operation>();
    let before: Shown = created;
    // An action may require another one first. Actions that end the resource come last.
    const actions = harness.resourceType.actions.toSorted((one, other) => Number(isEnd(one)) - Number(isEnd(other)));
    for (const action of [...actions, ...actions]) {
      if (done.has(action) || harness.session.isOver) continue;
      const exchange = await act(harness, action, resource, label);
      if (exchange === undefined || !isSuccess(exchange) || exchange.response.status === 202) continue;
      const after = await harness.shown(resource);
      done.add(action);
      if (after === undefined) continue;
      const effect: Effect = { harness, action, resource, before, exchange, after };
      found.push(...otherwise(effect), ...ignored(effect), ...idle(effect));
      before = after;
      // The response to a repeated action is checked like any other response.
      await act(harness, action, resource, label);
    }
    return done.size === 0 ? undefined : found;
  },
};

/** Performs an action on a resource. */
async function act(
  harness: ResourceHarness,
  action: Operation,
  resource: Resource,
  label: string,
): Promise<Exchange | undefined> {
  const { requests, session } = harness.context;
  const content = action.body?.contents.find(({ mediaType }) => isJson(mediaType)) ?? action.body?.contents[0];
  const known = requests.of(action)?.call;
  const seed = session.seedFor(`${action.id} ${label}`);
  const sample = (extent: 'least' | 'most') =>
    content?.schema &&
    withKnownIds(session, action, session.values.sample(content.schema, 'request', extent, seed)?.value);
  const bodies = action.body === undefined ? [undefined] : [known?.body, sample('least'), sample('most')];
  let last: Exchange | undefined;
  for (const body of bodies) {
    if (action.body?.required === true && body === undefined) continue;
    const base = harness.callOn(action, resource);
    if (base === undefined) return undefined;
    last = await session.send({ ...base, body, mediaType: body === undefined ? undefined : content?.mediaType });
    if (isSuccess(last)) return last;
  }
  return last;
}

interface Effect {
  readonly harness: ResourceHarness;
  readonly action: Operation;
  readonly resource: Resource;
  readonly before: Shown;
  readonly exchange: Exchange;
  readonly after: Shown;
}

const shownView = ({ document, resourceType }: ResourceHarness) => View.ofResponse(document, resourceType.read);

function differs({ harness, action, exchange, after }: Effect, check: CheckName, name: string, expected: unknown) {
  const { node } = shownView(harness).member(name);
  const facts = { ...valued(name, expected, after.row[name]), node, exchanges: [exchange, after.exchange] };
  return differ(check, action, name, facts);
}

/** Sent values must be stored: references, and properties named in the path, such as `odometer_km` for `/odometer`. */
function ignored(effect: Effect): Difference[] {
  const { harness, action, exchange, after } = effect;
  const segment = letters(lastSegment(action.path));
  const isMeant = (name: string) =>
    kindOfReference(name) !== undefined || (segment.length > 3 && letters(name).startsWith(segment));
  return Object.entries(sentIn(exchange))
    .filter(([name, value]) => isScalar(value) && isMeant(name) && !isSame(value, after.row[name], { name }))
    .filter(([name]) => !shownView(harness).member(name).isEmpty)
    .map(([name, value]) => differs(effect, 'action-lost', name, value));
}

function sentIn({ request }: Exchange): JsonObject {
  if (request.headers['content-type']?.startsWith('application/x-www-form-urlencoded'))
    return Object.fromEntries(new URLSearchParams(request.body));
  const body = parsedJson(request.body)?.value;
  return isObject(body) ? body : {};
}

/** Reports properties whose value in the response differs from a later read. */
function otherwise(effect: Effect): Difference[] {
  const { harness, action, resource, exchange, after } = effect;
  const row = resourceIn(exchange);
  // The response may contain another resource that refers to this one.
  const own = Object.entries(row).find(([name]) => isOwnId(name))?.[1];
  const isItself = own === undefined ? harness.isOf(resource, row) : String(own) === String(resource.id);
  const returned = { row, view: View.ofResponse(harness.document, action, exchange.response.status) };
  const exchanges = [exchange, after.exchange];
  return isItself ? otherThanRead('action-lost', action, returned, { row: after.row }, exchanges) : [];
}

/** Reports an action that is named after a state but does not change the state. */
function idle(effect: Effect): Difference[] {
  const { harness, action, before, after } = effect;
  const view = shownView(harness);
  return view.names.flatMap((name) => {
    const goal = view
      .member(name)
      .words.find((state) => typeof state === 'string' && isStateOf(lastSegment(action.path), state));
    if (goal === undefined || before.row[name] === goal || before.row[name] !== after.row[name]) return [];
    return [differs(effect, 'action-idle', name, goal)];
  });
}

/** States that do not start with the verb. */
const unlikeTheirVerb: Readonly<Record<string, string>> = {
  ...{ pay: 'paid', send: 'sent', hold: 'held', begin: 'begun', withdraw: 'withdrawn', lend: 'lent', sell: 'sold' },
  ...{ activate: 'active', deactivate: 'inactive' },
};

/** Whether a state results from a verb: `cancelled` from `cancel`. */
function isStateOf(verb: string, state: string): boolean {
  const [plain, word] = [letters(verb), letters(state)];
  if (unlikeTheirVerb[plain] === word) return true;
  const stem = plain.replace(/[ey]$/, '');
  return stem.length > 3 && word.startsWith(stem) && /^(?:e|i?ed|[a-z]?ed|d)$/.test(word.slice(stem.length));
}
