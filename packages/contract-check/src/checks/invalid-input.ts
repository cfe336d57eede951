import type { Operation } from '../document/operation.ts';
import { type Candidate, candidateOf, responseText } from '../finding/finding.ts';
import type { Call, Exchange } from '../http/call.ts';
import { isJson } from '../http/call.ts';
import { isObject } from '../json.ts';
import { general } from '../judge/judge.ts';
import type { Baseline } from '../run/baseline.ts';
import { withKnownIds } from '../run/known-ids.ts';
import { isCreating, isDeleting } from '../run/names.ts';
import { inParallel } from '../run/parallel.ts';
import { renewedAround } from '../run/renewal.ts';
import type { Session } from '../run/session.ts';
import { isHarmless } from '../run/unknown-id.ts';
import { breaksOf } from '../schema/constraints.ts';
import { malformedAround, oddBodies } from '../schema/hostile.ts';
import type { Break } from '../schema/site.ts';
import { View } from '../schema/view.ts';
import type { CheckContext } from './check.ts';
import {
  codeOf,
  detailCodesOf,
  hasItemErrors,
  isAccepted,
  isRejected,
  itemErrorsIn,
  type Rejection,
} from './outcome.ts';
import {
  bodiesOf,
  type CallPlace,
  isDistinguishable,
  oncePerConstraint,
  placesOf,
  sendable,
  withText,
} from './places.ts';

/** A request that violates the contract in exactly one way. */
interface Probe {
  readonly keyword: string;
  /** The location, for display. */
  readonly at: string;
  readonly note: string;
  readonly place: Candidate['place'];
  readonly call: Call;
  /** The place that is invalid, in the baseline or in a branch. */
  readonly base?: CallPlace;
}

/** Sends a request for every constraint that violates only that one. Each must be rejected. */
export async function checkInvalidInput(
  context: CheckContext,
  operation: Operation,
  baseline: Baseline,
): Promise<Rejection> {
  const { session, baselines } = context;
  const branches = await baselines.branches(operation);
  const places = [...placesOf(session, baseline.call), ...bodiesOf(session, branches)];
  const breaks = oncePerConstraint(places, (place) =>
    sendable(session, place, breaksOf, { isBreak: true, most: maxProbes }),
  );
  const probes = [
    ...breaks.map(({ place, value }) => probeAt(context, place, value)),
    ...absences(context, baseline.call),
    ...returnedMembers(context, baseline),
    ...membersOfOthers(context, [baseline.call, ...branches]),
    ...bodyProbes(context, operation, baseline.call),
    ...unreadable(context, baseline.call),
  ];
  const statuses = new Set<number>();
  const codes = new Set<string>();
  const halfRejected: { readonly probe: Probe; readonly exchange: Exchange }[] = [];
  await inParallel(probes, session.options.concurrency ?? 8, async (probe, index) => {
    if (session.isOver || !(await isHarmless(session, probe.call, baseline.call))) return;
    const exchange = await send(context, probe, `${index}`);
    session.observed(operation, 'invalid input');
    session.coverage.recordConstraint(operation, probe.place);
    if (isRejected(exchange)) {
      const { status } = exchange.response;
      if ([401, 403, 404, 429].includes(status)) return;
      statuses.add(status);
      for (const code of [codeOf(exchange) ?? [], detailCodesOf(exchange)].flat()) codes.add(code);
      return;
    }
    if (hasItemErrors(exchange)) halfRejected.push({ probe, exchange });
    if (!isAccepted(exchange)) return;
    const again = async () => {
      const second = await send(context, probe, `${index} again`);
      // The resource that the first call created or deleted prevents the second.
      if (isAccepted(second)) return [second];
      const isGone = isDeleting(operation) && ([404, 410].includes(second.response.status) || hasItemErrors(second));
      return second.response.status === 409 || isGone ? [exchange] : undefined;
    };
    const found = (other: Exchange) => (isAccepted(other) ? finding(operation, probe, other) : undefined);
    await session.report(finding(operation, probe, exchange), [exchange], again, found);
  });
  await reportUnvalidated(session, operation, probes, halfRejected, codes);
  return { statuses, codes };
}

/**
 * Sends a probe. If it conflicts with existing data, retries with fresh texts, because a conflict can hide the missing
 * validation.
 */
async function send({ session, baselines }: CheckContext, { call, base }: Probe, label: string): Promise<Exchange> {
  let exchange = await session.send(call);
  if (exchange.response.status !== 409 || base === undefined) return exchange;
  for (const [index, freshness] of (await baselines.freshnesses(call.operation)).entries()) {
    exchange = await session.send(renewedAround(session, call, base.call, `broken ${label} ${index}`, freshness));
    if (exchange.response.status !== 409) break;
  }
  return baselines.elsewhere(call, exchange, label);
}

/**
 * If the server rejects invalid items with the whole request but processes this one, it did not validate it, even if
 * the item then fails for another reason.
 */
async function reportUnvalidated(
  session: Session,
  operation: Operation,
  probes: readonly Probe[],
  halfRejected: readonly { readonly probe: Probe; readonly exchange: Exchange }[],
  codes: ReadonlySet<string>,
): Promise<void> {
  const inBody = probes.filter(({ at }) => at.startsWith('body'));
  if (inBody.length < 10 || halfRejected.length > inBody.length / 5) return;
  for (const { probe, exchange } of halfRejected) {
    const isOfOtherReason = (one: Exchange) => hasItemErrors(one) && !tellsOf(one, probe, codes);
    if (!isOfOtherReason(exchange)) continue;
    await session.report(finding(operation, probe, exchange), [exchange], async () => {
      const again = await session.send(probe.call);
      return isOfOtherReason(again) ? [again] : undefined;
    });
  }
}

/** Whether an item error has a code known from rejections, or names the invalid property. */
function tellsOf(exchange: Exchange, { at }: Probe, codes: ReadonlySet<string>): boolean {
  const errors = JSON.stringify(itemErrorsIn(exchange)).toLowerCase();
  const [name = ''] = at
    .split('/')
    .filter((segment) => !/^(?:\*|body)$/.test(segment))
    .slice(-1);
  return errors.includes(name.toLowerCase()) || [...codes].some((code) => errors.includes(`"${code.toLowerCase()}"`));
}

/** Maximum number of violations per place. Another seed selects others. */
const maxProbes = 400;

function probeAt(context: CheckContext, place: CallPlace, { keyword, note, pointer, value, ...one }: Break): Probe {
  const call = place.with(withBrokenKnownIds(context, place, value));
  return { keyword, note, place: one.place, at: `${place.name}${general(pointer)}`, call, base: place };
}

/** Replaces made-up IDs with existing ones. An ID that is the violation stays invalid. */
function withBrokenKnownIds(
  { session }: CheckContext,
  { parameter, schema, call: { operation } }: CallPlace,
  value: unknown,
): unknown {
  if (parameter !== undefined) return value;
  const known = withKnownIds(session, operation, value, { keepsKeys: isCreating(operation) });
  const breaches = (one: unknown) =>
    session.validators
      .breaches(schema, one, 'request')
      .map(({ pointer, keyword }) => `${pointer} ${keyword}`)
      .join();
  return breaches(known) === breaches(value) ? known : value;
}

/** Requests that omit required parts. */
function absences({ session }: CheckContext, call: Call): Probe[] {
  const { document, callerHeaders } = session;
  const keyword = 'required';
  const probes = placesOf(session, call).flatMap((place): Probe[] => {
    const { name: at, parameter } = place;
    if (parameter?.required !== true || parameter.in === 'path') return [];
    const without = place.with(undefined);
    const { name, node } = parameter;
    // A header that the identity sends must be removed explicitly.
    const isSent = parameter.in === 'header' && callerHeaders.includes(name.toLowerCase());
    const sent = isSent ? { ...without, raw: { ...without.raw, headers: { [name]: null } } } : without;
    const note = `${at} is missing`;
    return [{ keyword, at, note, place: document.placeOf(node, keyword), call: sent, base: place }];
  });
  const { body } = call.operation;
  if (body?.required !== true || call.body === undefined) return probes;
  const place = document.placeOf(body.node, keyword);
  return [...probes, { keyword, at: 'body', note: 'the body is missing', place, call: { ...call, body: undefined } }];
}

/** Maximum number of response properties to send in a body that does not allow them. */
const maxReturned = 6;

/** The body with a property that it must not have; none if it cannot be sent, or is allowed. */
function withForeign(
  { session }: CheckContext,
  place: CallPlace,
  [name, value]: readonly [name: string, value: unknown],
  about: Pick<Probe, 'keyword' | 'note' | 'place'>,
): Probe[] {
  const whole = { ...Object(place.value), [name]: value };
  const isWrong = !session.validators.accepts(place.schema, whole, 'request');
  return isWrong && isDistinguishable(session, place, whole, true)
    ? [{ ...about, at: `body/${name}`, call: place.with(whole), base: place }]
    : [];
}

/** Read-only properties from the response, in a body that has no others, and enum values that only responses allow. */
function returnedMembers(context: CheckContext, { call, exchange }: Baseline): Probe[] {
  const { document, validators } = context.session;
  const [place] = bodiesOf(context.session, [call]);
  const response = exchange.response.json?.value;
  if (place === undefined || !isObject(place.value)) return [];
  const body = place.value;
  const schema = document.object(place.schema);
  const closing = ['additionalProperties', 'unevaluatedProperties'].find((keyword) => schema[keyword] === false);
  const isOnlyUnknown = (name: string, value: unknown) =>
    validators
      .breaches(place.schema, { ...body, [name]: value }, 'request')
      .every(({ keyword, pointer }) => keyword === closing && pointer === `/${name}`);
  const others = Object.entries(closing !== undefined && isObject(response) ? response : {}).filter(
    ([name, value]) => !(name in body) && !isObject(value) && !Array.isArray(value) && isOnlyUnknown(name, value),
  );
  const unknown = others.flatMap(([name, value]) =>
    withForeign(context, place, [name, value], {
      ...{ keyword: closing ?? '', place: document.placeOf(schema, closing) },
      note: `${name} is returned in responses, but is not part of the request body`,
    }),
  );
  const [sent, returned] = [View.of(document, place.schema), View.ofResponse(document, call.operation)];
  const words = sent.names.flatMap((name) => {
    const { words: own, node = place.schema } = sent.member(name);
    const [other] = own.length === 0 ? [] : returned.member(name).words.filter((word) => !own.includes(word));
    const note = `${JSON.stringify(other)} is returned in responses, but is not an allowed value in requests`;
    const about = { keyword: 'enum', place: document.placeOf(node), note };
    return other === undefined ? [] : withForeign(context, place, [name, other], about);
  });
  return [...unknown.slice(0, maxReturned), ...words];
}

/** A body of one branch with a property of another branch that it does not allow. */
function membersOfOthers(context: CheckContext, calls: readonly Call[]): Probe[] {
  const places = bodiesOf(context.session, calls).filter(({ value }) => isObject(value));
  const probes = places.flatMap((place) => {
    const others = new Map(places.flatMap(({ value }) => Object.entries(Object(value))));
    return [...others]
      .filter(([name]) => !(name in Object(place.value)))
      .flatMap(([name, value]) =>
        withForeign(context, place, [name, value], {
          ...{ keyword: 'oneOf', place: context.session.document.placeOf(place.schema) },
          note: `${name} belongs to another branch than the other properties`,
        }),
      );
  });
  return probes.slice(0, 4 * maxReturned);
}

/** An `Accept` header that the operation cannot satisfy, if 406 is declared (RFC 9110, 15.5.7). */
function unreadable({ session }: CheckContext, call: Call): Probe[] {
  const response = call.operation.responses.find(({ status }) => status === '406');
  if (response === undefined) return [];
  const accept = 'application/vnd.unsupported-by-any-server';
  const sent = { ...call, raw: { ...call.raw, headers: { ...call.raw?.headers, accept } } };
  const note = `Accept is ${accept}, and 406 is declared`;
  return [{ keyword: 'accept', at: 'header.Accept', note, place: session.document.placeOf(response.node), call: sent }];
}

/** Bodies that do not match their media type, and undeclared media types. */
function bodyProbes({ session }: CheckContext, operation: Operation, call: Call): Probe[] {
  const { body } = operation;
  if (body === undefined || call.body === undefined || call.mediaType === undefined) return [];
  const place = session.document.placeOf(body.node, 'content');
  const declared = body.contents.map(({ mediaType }) => mediaType.split(';')[0]?.toLowerCase() ?? '');
  const isDeclared = (type: string) =>
    declared.some((one) => one === type || one === '*/*' || one === `${type.split('/')[0]}/*`);
  const types = ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'application/json'];
  const text = JSON.stringify(call.body);
  const around = isJson(call.mediaType) ? malformedAround(text) : [];
  const typed = types
    .filter((type) => !isDeclared(type))
    .map((type) => ['media-type', `the media type of the body is ${type}, which is not declared`, text, type] as const);
  const malformed = [...oddBodies(call.mediaType).malformed, ...around].map(
    (one) => ['malformed', `the body is malformed (${one.slice(0, 40)})`, one, call.mediaType] as const,
  );
  return [...typed, ...malformed].map(([keyword, note, body, mediaType]) => {
    return { keyword, at: 'body', note, place, call: withText(call, body, mediaType) };
  });
}

function finding(operation: Operation, { keyword, at, note, place }: Probe, exchange: Exchange): Candidate {
  return candidateOf(`reject-${keyword}`, operation, at, {
    title: `${at}: ${note}, but the request is accepted`,
    expected: `a declared 4xx, because the contract has ${keyword}`,
    actual: responseText(exchange),
    place,
  });
}
