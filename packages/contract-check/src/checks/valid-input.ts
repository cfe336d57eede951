import { randomUUID } from 'node:crypto';
import { extensionOf, type Operation } from '../document/operation.ts';
import { shapeOf } from '../document/shape.ts';
import type { Call, Exchange } from '../http/call.ts';
import { at, isKey, isObject, mapped, parentOf, parsedJson, put, unescapeSegment } from '../json.ts';
import { general } from '../judge/judge.ts';
import { hasItemErrors, isAccepted, pointsElsewhere, type Rejection, rejectsForm } from '../judge/outcome.ts';
import { isHarmless, namesResource, unlikelyIds } from '../run/ids.ts';
import type { KnownRequest } from '../run/known-requests.ts';
import { isOwnId, kindOfReference } from '../run/names.ts';
import { inParallel } from '../run/parallel.ts';
import { atEveryDepth, renewed } from '../run/renewal.ts';
import type { Session } from '../run/session.ts';
import { boundsOf, type Variant } from '../schema/variants.ts';
import { View } from '../schema/view.ts';
import { notKept, resourceIn } from './behavior/resources/compare.ts';
import { type CheckContext, type Difference, differ, observe } from './observe.ts';
import {
  bodiesOf,
  type CallPlace,
  isDistinguishable,
  oncePerConstraint,
  placesOf,
  sendable,
  whereOf,
  withRealIds,
} from './places.ts';

/**
 * Boundary values of every constraint must not be rejected as invalid. A server may reject them for reasons that no
 * schema can express, so a rejection counts only if an ordinary value in the same place is accepted.
 */
export async function checkValidInput(
  context: CheckContext,
  operation: Operation,
  known: KnownRequest,
  rejection: Rejection,
): Promise<void> {
  const { session, requests } = context;
  const places = [...placesOf(session, known.call), ...bodiesOf(session, await requests.branches(operation))];
  const probes = oncePerConstraint(places, (place) => [...presentAt(context, place), ...boundsAt(context, place)]);
  await inParallel(probes, session.options.concurrency ?? 8, async ({ place, value: bound }, index) => {
    if (session.isOver || !(await isHarmless(session, place.with(bound.value), place.call))) return;
    const kept = keptIn(place, bound);
    const send = (value: unknown, label: string) =>
      requests.sendFresh(withRealIds(session, place.with(value), kept), `${index} ${label}`, kept);
    await observe(session, operation, async function* (turn) {
      const exchange = await send(bound.value, turn);
      if (turn === 'one') session.coverage.recordConstraint(operation, bound.place);
      if (isAccepted(exchange)) return yield* unlikeSent(session, place, bound, exchange);
      const { keyword, pointer, note } = bound;
      const where = whereOf(session, place, pointer);
      if (!rejectsForm(exchange, rejection) || session.registry.has(`accept-${keyword} ${operation.id} ${where}`))
        return;
      const names = place.parameter === undefined ? [] : [place.parameter.name];
      if (pointsElsewhere(exchange, [...names, ...pointer.split('/').slice(1)])) return;
      // The known request shows that an optional parameter can be omitted, so the comparison is with its absence.
      const isInvented = isInventedId(session, place, bound);
      const beside = bound.neighbour ?? place.value;
      // So must a made-up text: the known one can be a name of something that exists.
      const isText = typeof at(bound.value, pointer) === 'string' && /^type$|Length$/.test(keyword);
      const isMadeUp = isInvented || (isText && bound.detail !== 'astral');
      const madeUp = (which: string) => withAnotherId(session, place, bound, beside, which);
      const ordinary = isMadeUp ? madeUp('') : beside;
      const neighbour = bound.detail === isSent ? known.exchange : await send(ordinary, `neighbour ${turn}`);
      // A made-up ID must be accepted in its original form before another form can be blamed.
      const isProcessed = isAccepted(neighbour) || (hasItemErrors(neighbour) && !rejectsForm(neighbour, rejection));
      // The state of what an action is about can reject any value, with 400, too.
      const isAction = operation.method === 'POST' && /\}[/:]/.test(operation.path);
      const others = isAction ? [404, 412] : [404, 409, 412];
      const isRejectedOtherwise = !isInvented && others.includes(neighbour.response.status);
      if (!isProcessed && !isRejectedOtherwise) return;
      // A word that is made up can be the name of something that exists, which another request created with it.
      const isName = isMadeUp && !isProcessed;
      if (isName && rejectsForm(await send(madeUp(' other'), `other neighbour ${turn}`), rejection)) return;
      if (turn === 'one' && (await isAcceptedElsewhere(context, place, bound, rejection, `${index}`))) return;
      yield differ(`accept-${keyword}`, operation, where, {
        title: `${where}: ${note}, but the request is rejected`,
        expected: 'no error, because the contract allows the value',
        place: bound.place,
        exchanges: [neighbour, exchange],
      });
    });
  });
}

/** Bounds whose values no server needs to write in another form. */
const isPlain = /^(?:enum|const|default|maxLength|minimum|maximum)$/;

/** Whether a response to a change returns a value at a bound otherwise than it was sent: cut, or replaced. */
function unlikeSent({ document, plan }: Session, place: CallPlace, bound: Variant, exchange: Exchange): Difference[] {
  const { operation } = place.call;
  const sent = parsedJson(exchange.request.body)?.value;
  const [, name = ''] = bound.pointer.split('/').map(unescapeSegment);
  // A POST that is no creation, such as a query, returns something else under the same name.
  const isCreation = plan.effectOf(operation) === 'create';
  const isChange = isCreation || ['PUT', 'PATCH'].includes(operation.method);
  const isCompared = isChange && isPlain.test(bound.keyword) && extensionOf(operation.node).echo !== false;
  if (!isCompared || !isAccepted(exchange) || !isObject(sent) || name === '' || place.parameter !== undefined)
    return [];
  const check = isCreation ? 'create-echo' : 'update-echo';
  const own = { value: { [name]: sent[name] }, view: View.ofRequest(document, operation) };
  const view = View.ofResponse(document, operation, exchange.response.status);
  return notKept(check, operation, own, { row: resourceIn(exchange), view, isPartial: true }, [exchange]);
}

/** The part of a body that fresh texts must not change. For a parameter, the whole body may change. */
function keptIn({ parameter }: CallPlace, { pointer }: Variant): string | undefined {
  return parameter === undefined ? pointer : undefined;
}

/** Names of values that only the server creates, such as cursors. */
const isServerCreated = /cursor|token|continu|after|before|match|since|signature|key$/i;

/** Names of texts in a language of their own, such as an expression or a list of fields. */
const isLanguage = /^\$?(?:filter|where|expression|(?:order|sort)[-_]?by|\w*mask)$/i;

/** Whether the value is accepted in another request: a rule between fields, which no schema expresses, rejected it. */
async function isAcceptedElsewhere(
  context: CheckContext,
  place: CallPlace,
  bound: Variant,
  rejection: Rejection,
  label: string,
): Promise<boolean> {
  const { session, requests } = context;
  const isBody = place.parameter === undefined;
  // Fresh texts would move a scalar off its boundary.
  const isScalar = !['object', 'undefined'].includes(typeof at(bound.value, bound.pointer));
  const kept = isScalar ? keptIn(place, bound) : undefined;
  const isSame = (one: Variant) =>
    one.keyword === bound.keyword && general(one.pointer) === general(bound.pointer) && one.detail === bound.detail;
  const variants = isBody ? await requests.variants(place.call.operation) : [];
  const calls: (readonly [call: Call, pointer: string | undefined])[] = [
    [
      renewed(session, place.with(bound.value), `${label} other words`, atEveryDepth, kept),
      isBody ? (kept ?? '') : undefined,
    ],
    ...(isBody ? [...inOrder(bound), ...withAnotherEnd(bound), ...withOthers(context, place, bound)] : []).map(
      (value) => [place.with(value), bound.pointer] as const,
    ),
    ...variants.flatMap((variant) => {
      const same = boundsOf(session.values, place.schema, variant.body).filter(isSame).slice(0, 2);
      return same.map(({ value, pointer }) => [{ ...variant, body: value }, pointer] as const);
    }),
  ];
  for (const [index, [call, pointer]] of calls.entries()) {
    const ready = withRealIds(session, call, pointer);
    const exchange = await requests.sendFresh(ready, `${label} elsewhere ${index}`, pointer);
    if (!rejectsForm(exchange, rejection)) return true;
  }
  return false;
}

/** The detail of the bound that an optional parameter is sent. */
const isSent = 'sent';

/** An optional parameter with an ordinary value, unless only the server creates its values, such as cursors. */
function presentAt({ session }: CheckContext, place: CallPlace): Variant[] {
  const { parameter, value } = place;
  if (parameter === undefined || parameter.required || value === undefined) return [];
  const isFree = isLanguage.test(parameter.name) && shapeOf(session.document, parameter.schema).enum === undefined;
  const isUnknown = namesResource(session, place.call.operation, parameter.name);
  if (isFree || isUnknown || isServerCreated.test(parameter.name) || !isDistinguishable(session, place, value, false))
    return [];
  const source = session.document.placeOf(parameter.node);
  return [{ keyword: 'type', detail: isSent, pointer: '', place: source, value, note: 'it is sent' }];
}

/** Whether the value is a made-up ID of another resource. A server may reject unknown IDs in any form. */
function isInventedId(session: Session, { call, parameter }: CallPlace, { pointer, value }: Variant): boolean {
  const name =
    pointer.split('/').findLast((segment) => segment !== '' && !/^\d+$/.test(segment)) ?? parameter?.name ?? '';
  const isReference =
    kindOfReference(name) !== undefined || isOwnId(name) || namesResource(session, call.operation, name);
  return isReference && isKey(at(value, pointer));
}

/** Replaces the ID at the bound with another one that does not exist either. */
function withAnotherId(
  session: Session,
  place: CallPlace,
  { pointer }: Variant,
  value: unknown,
  which: string,
): unknown {
  const seed = session.seedFor(`${place.call.operation.id} ${place.name}${which}`);
  if (typeof at(value, pointer) !== 'number')
    return session.values.fresh(place.schema, value, seed, (one) => one === pointer);
  return (
    unlikelyIds(at(value, pointer), seed)
      .map((number) => put(value, pointer, number))
      .find((one) => session.validators.accepts(place.schema, one)) ?? value
  );
}

/**
 * The value with siblings that it omits, all of them and each alone, and with other enum values beside the bound or in
 * it: a rule may depend on them, such as a reference that only one type needs.
 */
function withOthers({ session }: CheckContext, place: CallPlace, bound: Variant): unknown[] {
  const { values, validators } = session;
  const others = boundsOf(values, place.schema, bound.value).filter(
    // A probe that omits a property must not add it back.
    ({ pointer }) => pointer !== bound.pointer,
  );
  const added = others.filter(
    ({ pointer, value }) =>
      // The whole has no siblings.
      bound.pointer !== '' &&
      parentOf(pointer) === parentOf(bound.pointer) &&
      at(bound.value, pointer) === undefined &&
      ['string', 'number', 'boolean'].includes(typeof at(value, pointer)),
  );
  // The other value may be of another branch, without the bound.
  const members = new Map(added.map(({ pointer, value }) => [pointer, at(value, pointer)]));
  const all = [...members].reduce((whole, [pointer, member]) => put(whole, pointer, member), bound.value);
  const single = [...members].slice(0, 12).map(([pointer, member]) => put(bound.value, pointer, member));
  const object = isObject(at(bound.value, bound.pointer)) ? bound.pointer : parentOf(bound.pointer);
  const words = others.filter(
    ({ keyword, pointer }) =>
      keyword === 'enum' && parentOf(pointer) === object && at(bound.value, pointer) !== undefined,
  );
  return [...(members.size === 0 ? [] : [all, ...single]), ...words.slice(0, 12).map(({ value }) => value)].filter(
    (value) => validators.accepts(place.schema, value),
  );
}

/** More than the days by which fresh texts move dates, and the milliseconds of a day. */
const [fresherDays, dayMs] = [40, 86_400_000] as const;

/** The value with its other times before and after the bound: one can be required to be earlier than the other. */
function inOrder({ pointer, value }: Variant): unknown[] {
  const start = timeOf(at(value, pointer));
  if (start === undefined) return [];
  return [fresherDays, -fresherDays].map((days) =>
    mapped(value, (node, _name, own) => {
      const isOther = timeOf(node) !== undefined && own !== pointer;
      return isOther ? new Date(start + days * dayMs).toISOString().slice(0, String(node).length > 10 ? 24 : 10) : node;
    }),
  );
}

function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' && /^\d{4}-\d\d-\d\d(?:T|$)/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** The value with a text of the same length at the bound, because something can have the first one as its name. */
function withAnotherEnd({ keyword, pointer, value }: Variant): unknown[] {
  const text = at(value, pointer);
  const end = randomUUID().slice(0, 8);
  const isCut = keyword === 'maxLength' && typeof text === 'string' && [...text].length > end.length;
  return isCut ? [put(value, pointer, [...text].slice(0, -end.length).join('') + end)] : [];
}

/** Maximum number of boundaries per place. Another seed selects others. */
const maxProbes = 300;

function boundsAt({ session }: CheckContext, place: CallPlace): Variant[] {
  const isKnown = (bound: Variant) => !isInventedId(session, place, bound) || place.parameter?.in !== 'path';
  const known: typeof boundsOf = (...of) => boundsOf(...of).filter(isKnown);
  return sendable(session, place, known, { isBreak: false, most: maxProbes });
}
