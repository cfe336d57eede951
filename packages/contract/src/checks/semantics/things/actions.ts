import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isJson } from '../../../http/serialize.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { withKnownIds, withOtherIds } from '../../../run/known-ids.ts';
import { isOwnId, kindOfPath, kindOfReference } from '../../../run/names.ts';
import { type Bench, emptyCall, type Thing } from './bench.ts';
import { isFleeting, isSame } from './compare.ts';
import { isScalar } from './create.ts';
import { type Difference, type Look, text } from './probe.ts';
import { answerSchema, memberNames, memberOf, partsOf } from './schema.ts';
import { thingIn } from './thing-in.ts';
import { madeAndRead } from './update.ts';

/** What is done to a thing is so where it is read afterwards. */
export function acted(bench: Bench, actions: readonly Operation[]): Look {
  return async (label) => {
    const made = await madeAndRead(bench, label);
    if (made === undefined) return undefined;
    const found: Difference[] = [];
    const done = new Set<Operation>();
    let before: After = made;
    // One may have to come before another, and what ends things comes last.
    for (let isNews = true; isNews; ) {
      isNews = false;
      for (const action of [...actions].sort((one, other) => Number(isEnd(one)) - Number(isEnd(other)))) {
        if (done.has(action) || bench.session.isOver) continue;
        const exchange = await act(bench, action, made.thing, label);
        if (exchange === undefined || !isSuccess(exchange) || exchange.answer.status === 202) continue;
        const after = await bench.shown(made.thing);
        done.add(action);
        if (after === undefined) continue;
        isNews = true;
        if (action.method === 'DELETE') found.push(...undone(bench, action, made.row, before, exchange, after));
        else
          found.push(
            ...otherwise(bench, action, made.thing, exchange, after),
            ...unheeded(bench, action, exchange, after),
            ...idle(bench, action, before.row, exchange, after),
            ...untagged(bench, action, before, exchange, after),
          );
        before = after;
        // How it is refused, or taken, where it is done already, is judged like any answer.
        await act(bench, action, made.thing, label);
        const second =
          action.method === 'DELETE' ? undefined : await act(bench, action, made.thing, `${label} second`, true);
        const now = second !== undefined && isSuccess(second) ? await bench.shown(made.thing) : undefined;
        if (second === undefined || now === undefined) continue;
        found.push(...unheeded(bench, action, second, now));
        before = now;
      }
    }
    return done.size === 0 ? undefined : found;
  };
}

/**
 * Does something to a thing.
 *
 * @param isElse whether to do it with another thing than the known call names, where it names one and there is another.
 */
async function act(
  bench: Bench,
  action: Operation,
  thing: Thing,
  label: string,
  isElse = false,
): Promise<Exchange | undefined> {
  const { baselines, session } = bench.context;
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
    ? withOthers(bench, action, known?.body)
    : action.body === undefined
      ? [undefined]
      : [known?.body, sample('least'), sample('most')];
  let last: Exchange | undefined;
  for (const body of bodies) {
    if (action.body?.required === true && body === undefined) continue;
    const base = bench.callOn(action, thing, known ?? emptyCall(action));
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

/** The body with other things that are known in the place of those that it names. */
function withOthers({ session }: Bench, action: Operation, body: unknown): unknown[] {
  return Array.from({ length: 6 }, (_, turn) => withOtherIds(session, action, body, turn)).filter(
    (other) => !isDeepStrictEqual(other, body),
  );
}

/** What is taken away again is as it was at first; where there was anything to take away. */
function undone(
  bench: Bench,
  action: Operation,
  first: JsonObject,
  before: After,
  exchange: Exchange,
  after: After,
): Difference[] {
  const { read } = bench.resource;
  const kind = kindOfPath(action.path);
  const schema = read === undefined ? undefined : answerSchema(read);
  const name = Object.keys(after.row).find((one) => kind !== undefined && kindOfReference(one) === kind);
  if (schema === undefined || name === undefined || first[name] === before.row[name]) return [];
  if (!isScalar(after.row[name]) || after.row[name] !== before.row[name]) return [];
  return [
    {
      check: 'delete-lost',
      operation: action,
      about: name,
      title: `${action.id} succeeds and leaves ${name} as it was`,
      expected: `no ${name}`,
      actual: `${name}: ${text(after.row[name])}`,
      node: memberOf(bench.document, [schema], name)[0],
      fix: `Take ${name} away.`,
      exchanges: [exchange, after.exchange],
    },
  ];
}

/**
 * What was sent under a name that the thing has, and that it does not have afterwards: references, and what the path is named
 * by, such as `odometer_km` to `/odometer`.
 */
function unheeded(bench: Bench, action: Operation, exchange: Exchange, after: After): Difference[] {
  const { read } = bench.resource;
  const schema = read === undefined ? undefined : answerSchema(read);
  const sent = sentIn(exchange);
  if (schema === undefined) return [];
  return Object.entries(sent)
    .filter(([name, value]) => isScalar(value) && (kindOfReference(name) !== undefined || isNamedBy(action.path, name)))
    .filter(([name]) => memberOf(bench.document, [schema], name).length > 0)
    .filter(([name, value]) => !isSame(value, after.row[name], { name }))
    .map(([name, value]) => ({
      check: 'action-lost',
      operation: action,
      about: name,
      title: `${action.id} takes another ${name}, and the thing does not have it afterwards`,
      expected: `${name}: ${text(value)}`,
      actual: `${name}: ${text(after.row[name])}`,
      node: memberOf(bench.document, [schema], name)[0],
      fix: `Store ${name}, or refuse it.`,
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

/** A change that leaves the ETag as it was. */
function untagged(bench: Bench, action: Operation, before: After, exchange: Exchange, after: After): Difference[] {
  const [was, is] = [before, after].map((one) => one.exchange.answer.headers.etag);
  const { read } = bench.resource;
  const hasMoved = Object.keys(after.row).some(
    (name) => !isFleeting.test(name) && isScalar(after.row[name]) && after.row[name] !== before.row[name],
  );
  if (read === undefined || was === undefined || was !== is || !hasMoved) return [];
  return [
    {
      check: 'etag-stays',
      operation: read,
      about: action.id,
      title: `${action.id} changes the thing, and leaves its ETag as it was`,
      expected: `an ETag other than ${was}`,
      actual: String(is),
      fix: 'Give each version an ETag of its own, whatever changes it.',
      exchanges: [before.exchange, exchange, after.exchange],
    },
  ];
}

/** Members of the answer that are others where the thing is read. */
function otherwise(bench: Bench, action: Operation, thing: Thing, exchange: Exchange, after: After): Difference[] {
  const told = thingIn(exchange);
  const { read } = bench.resource;
  const schema = answerSchema(action, exchange.answer.status);
  if (read === undefined || schema === undefined || !isItself(bench, thing, told)) return [];
  return memberNames(bench.document, schema)
    .filter((name) => !isFleeting.test(name) && isScalar(told[name]) && isScalar(after.row[name]))
    .filter((name) => !isSame(told[name], after.row[name], { name }))
    .map((name) => ({
      check: 'action-lost',
      operation: action,
      about: name,
      title: `${action.id} answers another ${name} than is read after it`,
      expected: `${name}: ${text(told[name])}, as it was answered`,
      actual: `${name}: ${text(after.row[name])}`,
      node: memberOf(bench.document, [schema], name)[0],
      fix: `Store what the answer says, or answer ${name} as it is stored.`,
      exchanges: [exchange, after.exchange],
    }));
}

/** Whether an answer shows the thing, and not another that names it. */
function isItself(bench: Bench, thing: Thing, told: JsonObject): boolean {
  const own = Object.entries(told).find(([name]) => isOwnId(name))?.[1];
  return own === undefined ? bench.isOf(thing, told) : String(own) === String(thing.id);
}

/** An action whose name is that of a state, and which leaves the state as it was. */
function idle(bench: Bench, action: Operation, before: JsonObject, exchange: Exchange, after: After): Difference[] {
  const { read } = bench.resource;
  const schema = read === undefined ? undefined : answerSchema(read);
  if (schema === undefined) return [];
  const verb = action.path.slice(action.path.lastIndexOf('/') + 1);
  return memberNames(bench.document, schema).flatMap((name) => {
    const states = memberOf(bench.document, [schema], name)
      .flatMap((one) => partsOf(bench.document, one))
      .flatMap((part) => (Array.isArray(part.enum) ? part.enum : []))
      .filter((state) => typeof state === 'string');
    const goal = states.find((state) => isStateOf(verb, state));
    if (goal === undefined || before[name] === goal || before[name] !== after.row[name]) return [];
    return [
      {
        check: 'action-idle',
        operation: action,
        about: name,
        title: `${action.id} succeeds and leaves ${name} as it was`,
        expected: `${name}: ${text(goal)}`,
        actual: `${name}: ${text(after.row[name])}`,
        node: memberOf(bench.document, [schema], name)[0],
        fix: `Do what ${action.id} says, or refuse it.`,
        exchanges: [exchange, after.exchange],
      },
    ];
  });
}

/** States that cannot be told by the beginning of the verb. */
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

/** Whether a state is what comes of doing what the verb says: `cancelled` of `cancel`. */
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
