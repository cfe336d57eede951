import type { Operation } from '../document/operation.ts';
import type { Call, Exchange } from '../http/call.ts';
import { general } from '../judge/judge.ts';
import type { Baseline } from '../run/baseline.ts';
import { isOwnId, kindOfReference } from '../run/names.ts';
import { type Bound, boundsOf } from '../schema/bounds.ts';
import type { CheckContext } from './checks.ts';
import { hasItemErrors, isAccepted, pointsElsewhere, type Refusal, refusesForm } from './outcome.ts';
import { inParallel } from './parallel.ts';
import { type CallPlace, isTellable, placesOf } from './places.ts';
import { sampled } from './sample.ts';

/**
 * Values on the boundary of every constraint must not be refused for their form. A server may refuse them for other reasons,
 * which no schema can say; so a refusal counts only where an ordinary value at the same place is not refused.
 */
export async function acceptBounds(
  context: CheckContext,
  operation: Operation,
  baseline: Baseline,
  refusal: Refusal,
): Promise<void> {
  const { session } = context;
  const probes = placesOf(session, baseline.call).flatMap((place) =>
    boundsAt(context, place).map((bound) => ({ place, bound })),
  );
  await inParallel(probes, session.options.concurrency ?? 8, async ({ place, bound }, index) => {
    if (session.isOver) return;
    const send = (value: unknown, label: string) =>
      sendRenewed(context, operation, place.with(value), bound.pointer, `${index} ${label}`);
    const exchange = await send(bound.value, 'bound');
    session.observed(operation, 'acceptance');
    session.coverage.tried(operation, bound.place, bound.keyword === 'enum' ? bound.chosen : undefined);
    if (isAccepted(exchange) || !refusesForm(exchange, refusal)) return;
    const probed = [
      ...(place.parameter === undefined ? [] : [place.parameter.name]),
      ...bound.pointer.split('/').slice(1),
    ];
    if (pointsElsewhere(exchange, probed)) return;
    const neighbour = await send(bound.neighbour ?? place.value, 'neighbour');
    if (!isAccepted(neighbour) && ![404, 409].includes(neighbour.answer.status)) return;
    const at = `${place.name}${general(bound.pointer)}`;
    if (session.book.has(`accept-${bound.keyword} ${operation.id} ${at}`)) return;
    if (await isTakenElsewhere(context, operation, place, bound, refusal, `${index}`)) return;
    await session.report(
      {
        check: `accept-${bound.keyword}`,
        category: 'acceptance',
        operation: operation.id,
        title: `${at}: ${bound.note}, and it is refused`,
        expected: 'no refusal: the contract allows it',
        actual: `${exchange.answer.status} ${exchange.answer.text.slice(0, 200)}`,
        place: bound.place,
        fix: 'Accept the value, or tighten the contract.',
        cause: `accept-${bound.keyword} ${operation.id} ${at}`,
      },
      [exchange],
      async () => {
        const again = await send(bound.value, 'again');
        return refusesForm(again, refusal) ? [neighbour, again] : undefined;
      },
    );
  });
}

/**
 * Whether the value is taken where the rest of the request is another: then it is not the value that was refused, but what it
 * stands beside, and that is a rule that no schema has to say.
 */
async function isTakenElsewhere(
  context: CheckContext,
  operation: Operation,
  place: CallPlace,
  bound: Bound,
  refusal: Refusal,
  label: string,
): Promise<boolean> {
  const { session, baselines } = context;
  const calls: { readonly call: Call; readonly pointer: string | undefined }[] = [
    { call: renewed(context, operation, place.with(bound.value), undefined, `${label} other words`, 9), pointer: '' },
  ];
  if (place.parameter === undefined) {
    for (const variant of await baselines.variants(operation)) {
      const { document, validators, values } = session;
      const same = boundsOf(document, validators, values, place.schema, variant.body).filter(
        (one) =>
          one.keyword === bound.keyword &&
          general(one.pointer) === general(bound.pointer) &&
          JSON.stringify(one.chosen) === JSON.stringify(bound.chosen),
      );
      for (const one of same.slice(0, 2)) calls.push({ call: { ...variant, body: one.value }, pointer: one.pointer });
    }
  }
  for (const [index, { call, pointer }] of calls.entries()) {
    const exchange = await sendRenewed(context, operation, call, pointer, `${label} elsewhere ${index}`);
    if (!refusesForm(exchange, refusal)) return true;
  }
  return false;
}

/** Boundaries of one place in a run; another seed takes others. */
const most = 250;

function boundsAt({ session }: CheckContext, place: CallPlace): Bound[] {
  if (place.value === undefined) return [];
  const { document, validators, values } = session;
  const bounds = boundsOf(document, validators, values, place.schema, place.value);
  const asItIs: Bound[] =
    place.parameter === undefined || place.parameter.required
      ? []
      : [
          {
            keyword: 'type',
            pointer: '',
            place: document.placeOf(place.parameter.node),
            value: place.value,
            note: 'an ordinary value is sent',
            neighbour: undefined,
            chosen: undefined,
          },
        ];
  const tellable = [...asItIs, ...bounds].filter(({ value }) => isTellable(session, place, value, false));
  const kindOf = ({ keyword, place: at, chosen }: Bound) =>
    `${keyword} ${at?.file} ${at?.pointer} ${JSON.stringify(chosen)}`;
  return sampled(tellable, most, session.seedFor(`bounds ${place.name}`), kindOf);
}

/**
 * Sends a call that makes something with other texts than the calls before it, so that it does not meet what they made: those
 * at the top first, and all of them where that is not enough, because texts further down may have to agree with each other.
 */
async function sendRenewed(
  context: CheckContext,
  operation: Operation,
  call: Call,
  pointer: string | undefined,
  label: string,
): Promise<Exchange> {
  const send = (depth: number) =>
    context.session.send(renewed(context, operation, call, pointer, label, depth), { isMaking: true });
  const exchange = await send(1);
  return exchange.answer.status === 409 || hasItemErrors(exchange) ? send(9) : exchange;
}

/** The call with other texts, down to a depth; the probed value stays. */
function renewed(
  { session }: CheckContext,
  operation: Operation,
  call: Call,
  pointer: string | undefined,
  label: string,
  depth: number,
): Call {
  const schema = operation.body?.contents.find(({ mediaType }) => mediaType === call.mediaType)?.schema;
  if (schema === undefined || call.body === undefined || operation.method !== 'POST') return call;
  const isFree = (at: string, key: string) =>
    at.split('/').length - 1 <= depth &&
    (pointer === undefined || (at !== pointer && !at.startsWith(`${pointer}/`))) &&
    kindOfReference(key) === undefined &&
    !isOwnId(key);
  const body = session.values.fresh(schema, call.body, session.seedFor(`${operation.id} ${label}`), isFree);
  return { ...call, body };
}
