import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isJson } from '../../../http/serialize.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { withKnownIds, withOtherIds } from '../../../run/known-ids.ts';
import { isOwnId, kindOfPath, kindOfReference } from '../../../run/names.ts';
import { isFleeting, isSame } from './compare.ts';
import { isScalar } from './create.ts';
import { type Difference, type Observation, text } from './probe.ts';
import { emptyCall, type Resource, type ResourceHarness } from './resource-harness.ts';
import { resourceIn } from './resource-in.ts';
import { memberNames, memberOf, partsOf, responseSchema } from './schema.ts';
import { createdAndRead } from './update.ts';

/** Checks that an action on a resource is visible when the resource is read. */
export function actionEffects(harness: ResourceHarness, actions: readonly Operation[]): Observation {
  return async (label) => {
    const created = await createdAndRead(harness, label);
    if (created === undefined) return undefined;
    const found: Difference[] = [];
    const done = new Set<Operation>();
    let before: After = created;
    // An action may require another one first. Actions that end the resource come last.
    for (let hasNew = true; hasNew; ) {
      hasNew = false;
      for (const action of [...actions].sort((one, other) => Number(isEnd(one)) - Number(isEnd(other)))) {
        if (done.has(action) || harness.session.isOver) continue;
        const exchange = await act(harness, action, created.resource, label);
        if (exchange === undefined || !isSuccess(exchange) || exchange.response.status === 202) continue;
        const after = await harness.shown(created.resource);
        done.add(action);
        if (after === undefined) continue;
        hasNew = true;
        if (action.method === 'DELETE')
          found.push(...undoneChange(harness, action, created.row, before, exchange, after));
        else
          found.push(
            ...otherwise(harness, action, created.resource, exchange, after),
            ...ignoredAction(harness, action, exchange, after),
            ...idleAction(harness, action, before.row, exchange, after),
            ...untagged(harness, action, before, exchange, after),
          );
        before = after;
        // The response to a repeated action is checked like any other response.
        await act(harness, action, created.resource, label);
        const second =
          action.method === 'DELETE'
            ? undefined
            : await act(harness, action, created.resource, `${label} second`, true);
        const now = second !== undefined && isSuccess(second) ? await harness.shown(created.resource) : undefined;
        if (second === undefined || now === undefined) continue;
        found.push(...ignoredAction(harness, action, second, now));
        before = now;
      }
    }
    return done.size === 0 ? undefined : found;
  };
}

/**
 * Performs an action on a resource.
 *
 * @param isElse refers to another resource than the known call does, if there is one.
 */
async function act(
  harness: ResourceHarness,
  action: Operation,
  resource: Resource,
  label: string,
  isElse = false,
): Promise<Exchange | undefined> {
  const { baselines, session } = harness.context;
  const content = action.body?.contents.find(({ mediaType }) => isJson(mediaType)) ?? action.body?.contents[0];
  const schema = content?.schema;
  const known = baselines.of(action)?.call;
  const sample = (extent: 'least' | 'most') =>
    schema === undefined
      ? undefined
      : withKnownIds(
          session,
          action,
          session.values.sample(schema, 'request', extent, session.seedFor(`${action.id} ${label}`))?.value,
        );
  const bodies = isElse
    ? withOthers(harness, action, known?.body)
    : action.body === undefined
      ? [undefined]
      : [known?.body, sample('least'), sample('most')];
  let last: Exchange | undefined;
  for (const body of bodies) {
    if (action.body?.required === true && body === undefined) continue;
    const base = harness.callOn(action, resource, known ?? emptyCall(action));
    if (base === undefined) return undefined;
    const mediaType = body === undefined ? undefined : content?.mediaType;
    last = await session.send({ ...base, body, mediaType });
    if (isSuccess(last)) return last;
  }
  return last;
}

interface After {
  readonly row: JsonObject;
  readonly exchange: Exchange;
}

/** The body with its references replaced by other known resources. */
function withOthers({ session }: ResourceHarness, action: Operation, body: unknown): unknown[] {
  return Array.from({ length: 6 }, (_, turn) => withOtherIds(session, action, body, turn)).filter(
    (other) => !isDeepStrictEqual(other, body),
  );
}

/** Checks that a DELETE action restores the original value, if there was one to remove. */
function undoneChange(
  harness: ResourceHarness,
  action: Operation,
  first: JsonObject,
  before: After,
  exchange: Exchange,
  after: After,
): Difference[] {
  const { read } = harness.resourceType;
  const kind = kindOfPath(action.path);
  const schema = read === undefined ? undefined : responseSchema(read);
  const name = Object.keys(after.row).find((one) => kind !== undefined && kindOfReference(one) === kind);
  if (schema === undefined || name === undefined || first[name] === before.row[name]) return [];
  if (!isScalar(after.row[name]) || after.row[name] !== before.row[name]) return [];
  return [
    {
      check: 'delete-lost',
      operation: action,
      about: name,
      title: `${action.id} succeeds, but ${name} does not change`,
      expected: `no ${name}`,
      actual: `${name}: ${text(after.row[name])}`,
      node: memberOf(harness.document, [schema], name)[0],
      fix: `Remove ${name}.`,
      exchanges: [exchange, after.exchange],
    },
  ];
}

/**
 * Checks that sent values are stored: references, and properties named in the path, such as `odometer_km` for
 * `/odometer`.
 */
function ignoredAction(harness: ResourceHarness, action: Operation, exchange: Exchange, after: After): Difference[] {
  const { read } = harness.resourceType;
  const schema = read === undefined ? undefined : responseSchema(read);
  const sent = sentIn(exchange);
  if (schema === undefined) return [];
  return Object.entries(sent)
    .filter(([name, value]) => isScalar(value) && (kindOfReference(name) !== undefined || isNamedBy(action.path, name)))
    .filter(([name]) => memberOf(harness.document, [schema], name).length > 0)
    .filter(([name, value]) => !isSame(value, after.row[name], { name }))
    .map(([name, value]) => ({
      check: 'action-lost',
      operation: action,
      about: name,
      title: `${action.id} accepts another ${name}, but does not store it`,
      expected: `${name}: ${text(value)}`,
      actual: `${name}: ${text(after.row[name])}`,
      node: memberOf(harness.document, [schema], name)[0],
      fix: `Store ${name}, or reject it.`,
      exchanges: [exchange, after.exchange],
    }));
}

function isNamedBy(path: string, name: string): boolean {
  const [segment, member] = [path.slice(path.lastIndexOf('/') + 1), name].map((one) =>
    one.toLowerCase().replaceAll(/[^a-z]/g, ''),
  );
  return segment !== undefined && segment.length > 3 && member?.startsWith(segment) === true;
}

function sentIn({ request }: Exchange): JsonObject {
  if (request.headers['content-type']?.startsWith('application/x-www-form-urlencoded'))
    return Object.fromEntries(new URLSearchParams(request.body));
  try {
    const body: unknown = JSON.parse(request.body ?? '');
    return isObject(body) ? body : {};
  } catch {
    return {};
  }
}

/** Reports a change that does not change the ETag. */
function untagged(
  harness: ResourceHarness,
  action: Operation,
  before: After,
  exchange: Exchange,
  after: After,
): Difference[] {
  const [previous, is] = [before, after].map((one) => one.exchange.response.headers.etag);
  const { read } = harness.resourceType;
  const hasMoved = Object.keys(after.row).some(
    (name) => !isFleeting.test(name) && isScalar(after.row[name]) && after.row[name] !== before.row[name],
  );
  if (read === undefined || previous === undefined || previous !== is || !hasMoved) return [];
  return [
    {
      check: 'etag-stays',
      operation: read,
      about: action.id,
      title: `${action.id} changes the resource, but not its ETag`,
      expected: `an ETag other than ${previous}`,
      actual: String(is),
      fix: 'Change the ETag with every change, by any operation.',
      exchanges: [before.exchange, exchange, after.exchange],
    },
  ];
}

/** Reports properties whose value in the response differs from a later read. */
function otherwise(
  harness: ResourceHarness,
  action: Operation,
  resource: Resource,
  exchange: Exchange,
  after: After,
): Difference[] {
  const result = resourceIn(exchange);
  const { read } = harness.resourceType;
  const schema = responseSchema(action, exchange.response.status);
  if (read === undefined || schema === undefined || !isItself(harness, resource, result)) return [];
  return memberNames(harness.document, schema)
    .filter((name) => !isFleeting.test(name) && isScalar(result[name]) && isScalar(after.row[name]))
    .filter((name) => !isSame(result[name], after.row[name], { name }))
    .map((name) => ({
      check: 'action-lost',
      operation: action,
      about: name,
      title: `${action.id} returns another ${name} than a read after it`,
      expected: `${name}: ${text(result[name])}, as in the response`,
      actual: `${name}: ${text(after.row[name])}`,
      node: memberOf(harness.document, [schema], name)[0],
      fix: `Store ${name} as returned, or return it as stored.`,
      exchanges: [exchange, after.exchange],
    }));
}

/** Whether a response contains the resource itself, not another one that refers to it. */
function isItself(harness: ResourceHarness, resource: Resource, result: JsonObject): boolean {
  const own = Object.entries(result).find(([name]) => isOwnId(name))?.[1];
  return own === undefined ? harness.isOf(resource, result) : String(own) === String(resource.id);
}

/** Reports an action that is named after a state but does not change the state. */
function idleAction(
  harness: ResourceHarness,
  action: Operation,
  before: JsonObject,
  exchange: Exchange,
  after: After,
): Difference[] {
  const { read } = harness.resourceType;
  const schema = read === undefined ? undefined : responseSchema(read);
  if (schema === undefined) return [];
  const verb = action.path.slice(action.path.lastIndexOf('/') + 1);
  return memberNames(harness.document, schema).flatMap((name) => {
    const states = memberOf(harness.document, [schema], name)
      .flatMap((one) => partsOf(harness.document, one))
      .flatMap((part) => (Array.isArray(part.enum) ? part.enum : []))
      .filter((state) => typeof state === 'string');
    const goal = states.find((state) => isStateOf(verb, state));
    if (goal === undefined || before[name] === goal || before[name] !== after.row[name]) return [];
    return [
      {
        check: 'action-idle',
        operation: action,
        about: name,
        title: `${action.id} succeeds, but ${name} does not change`,
        expected: `${name}: ${text(goal)}`,
        actual: `${name}: ${text(after.row[name])}`,
        node: memberOf(harness.document, [schema], name)[0],
        fix: `Perform ${action.id}, or reject the request.`,
        exchanges: [exchange, after.exchange],
      },
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
  const [plain, word] = [verb, state].map((one) => one.toLowerCase().replaceAll(/[^a-z]/g, ''));
  if (plain === undefined || word === undefined || plain.length < 3) return false;
  if (unlikeTheirVerb[plain] === word) return true;
  const stem = plain.replace(/[ey]$/, '');
  return stem.length > 3 && word.startsWith(stem) && /^(?:e|i?ed|[a-z]?ed|d)$/.test(word.slice(stem.length));
}

function isEnd({ method, path }: Operation): boolean {
  if (method === 'DELETE') return true;
  return /cancel|close|archive|void|reject|deactivate|delete|remove|end|finish|complete|expire|revoke/i.test(
    path.slice(path.lastIndexOf('/')),
  );
}
