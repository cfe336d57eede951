import type { Operation } from '../document/operation.ts';
import type { Call, Exchange } from '../http/call.ts';
import { isJson, jsonText } from '../json.ts';
import { codeOf, detailCodesOf, hasItemErrors, isAccepted, isRejected, type Rejection } from '../judge/outcome.ts';
import { isHarmless } from '../run/ids.ts';
import type { KnownRequest } from '../run/known-requests.ts';
import { isDeleting } from '../run/names.ts';
import { inParallel } from '../run/parallel.ts';
import { renewedAround } from '../run/renewal.ts';
import { malformedAround, oddBodies } from '../schema/hostile.ts';
import { breaksOf, type Variant } from '../schema/variants.ts';
import { type CheckContext, type Difference, observe } from './observe.ts';
import {
  bodiesOf,
  type CallPlace,
  oncePerConstraint,
  placesOf,
  sendable,
  whereOf,
  withRealIds,
  withText,
} from './places.ts';

/** A request that violates the contract in exactly one way. */
interface Probe {
  readonly keyword: string;
  readonly at: string;
  readonly note: string;
  readonly place: Difference['place'];
  readonly call: Call;
  /** The place that is invalid, in the known request or in a branch. */
  readonly base?: CallPlace;
}

/** Sends a request for every constraint that violates only that one. Each must be rejected. */
export async function checkInvalidInput(
  context: CheckContext,
  operation: Operation,
  known: KnownRequest,
): Promise<Rejection> {
  const { session, requests } = context;
  const branches = await requests.branches(operation);
  const places = [...placesOf(session, known.call), ...bodiesOf(session, branches)];
  const breaks = oncePerConstraint(places, (place) =>
    sendable(session, place, breaksOf, { isBreak: true, most: maxProbes }),
  );
  const probes = [
    ...breaks.map(({ place, value }) => probeAt(context, place, value)),
    ...absences(context, known.call),
    ...bodyProbes(context, operation, known.call),
    ...unreadable(context, known.call),
  ];
  const statuses = new Set<number>();
  const codes = new Set<string>();
  const learn = (exchange: Exchange) => {
    if (!isRejected(exchange) || [401, 403, 404, 429].includes(exchange.response.status)) return;
    statuses.add(exchange.response.status);
    for (const code of [codeOf(exchange) ?? [], detailCodesOf(exchange)].flat()) codes.add(code);
  };
  await inParallel(probes, session.options.concurrency ?? 8, async (probe, index) => {
    const { keyword, at, note, place, call } = probe;
    if (session.isOver || !(await isHarmless(session, call, known.call))) return;
    let first: Exchange | undefined;
    await observe(session, operation, async function* (turn) {
      const exchange = await send(context, probe, `${index} ${turn}`);
      if (turn === 'one') session.coverage.recordConstraint(operation, place);
      if (turn === 'one') learn(exchange);
      // The resource that the first call created or deleted prevents the second.
      const { status } = exchange.response;
      const isGone = isDeleting(operation) && ([404, 410].includes(status) || hasItemErrors(exchange));
      const accepted = isAccepted(exchange) ? exchange : isGone || status === 409 ? first : undefined;
      first ??= accepted;
      if (accepted !== undefined)
        yield {
          check: `reject-${keyword}`,
          operation,
          about: at,
          place,
          title: `${at}: ${note}, but the request is accepted`,
          expected: `a declared 4xx, because the contract has ${keyword}`,
          exchanges: [accepted],
        };
    });
  });
  return { statuses, codes };
}

/** Sends a probe, and retries with fresh texts if it conflicts: that can hide the missing validation. */
async function send({ session, requests }: CheckContext, { call, base }: Probe, label: string): Promise<Exchange> {
  const exchange = await session.send(call);
  if (exchange.response.status !== 409 || base === undefined) return exchange;
  const again = await requests.untilNew(call.operation, (freshness, turn) =>
    renewedAround(session, call, base.call, `broken ${label} ${turn}`, freshness),
  );
  return requests.elsewhere(call, again?.exchange ?? exchange, label);
}

/** Maximum number of violations per place. Another seed selects others. */
const maxProbes = 400;

function probeAt(
  { session }: CheckContext,
  place: CallPlace,
  { keyword, note, pointer, value, ...one }: Variant,
): Probe {
  const broken = place.with(value);
  const call = place.parameter === undefined ? withRealIds(session, broken) : broken;
  return { keyword, note, place: one.place, at: whereOf(session, place, pointer), call, base: place };
}

function absences({ session }: CheckContext, call: Call): Probe[] {
  const { document, identities } = session;
  const keyword = 'required';
  const probes = placesOf(session, call).flatMap((place): Probe[] => {
    const { name: at, parameter } = place;
    if (parameter?.required !== true || parameter.in === 'path') return [];
    const without = place.with(undefined);
    const { name, node } = parameter;
    // A header that the identity sends must be removed explicitly.
    const isSent = parameter.in === 'header' && identities.callerHeaders.includes(name.toLowerCase());
    const sent = isSent ? { ...without, raw: { ...without.raw, headers: { [name]: null } } } : without;
    const isDefaulted = 'default' in document.object(parameter.schema);
    const note = `${at}${isDefaulted ? ', which has a default,' : ''} is missing`;
    return [{ keyword, at, note, place: document.placeOf(node, keyword), call: sent, base: place }];
  });
  const { body } = call.operation;
  if (body?.required !== true || call.body === undefined) return probes;
  const place = document.placeOf(body.node, keyword);
  return [...probes, { keyword, at: 'body', note: 'the body is missing', place, call: { ...call, body: undefined } }];
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

function bodyProbes({ session }: CheckContext, operation: Operation, call: Call): Probe[] {
  const { body } = operation;
  if (body === undefined || call.body === undefined || call.mediaType === undefined) return [];
  const place = session.document.placeOf(body.node, 'content');
  const declared = body.contents.map((one) => one.declared.split(';')[0]?.toLowerCase() ?? '');
  const isDeclared = (type: string) =>
    declared.some((one) => one === type || one === '*/*' || one === `${type.split('/')[0]}/*`);
  const types = ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'application/json'];
  const text = jsonText(call.body);
  const around = isJson(call.mediaType) ? malformedAround(text) : [];
  const typed = types
    .filter((type) => !isDeclared(type))
    .map((type) => ['media-type', `the media type of the body is ${type}, which is not declared`, text, type] as const);
  const malformed = [...oddBodies(call.mediaType).malformed, ...around].map(
    (one) => ['malformed', `the body is malformed (${one.slice(0, 40)})`, one, call.mediaType] as const,
  );
  return [...typed, ...malformed].map(([keyword, note, sent, mediaType]) => {
    return { keyword, at: 'body', note, place, call: withText(call, sent, mediaType) };
  });
}
