import type { Operation } from '../document/operation.ts';
import { bodySchemaOf, type Call, isJson } from '../http/call.ts';
import { isObject, sizeOf } from '../json.ts';
import type { Baseline } from '../run/baseline.ts';
import { inParallel } from '../run/parallel.ts';
import { isHarmless } from '../run/unknown-id.ts';
import { hostileEverywhere, hostileOf, hostileTexts, malformedBodies, withRawText } from '../schema/hostile.ts';
import type { Break } from '../schema/site.ts';
import type { CheckContext } from './check.ts';
import { placesOf, sendable } from './places.ts';

/** Valid but hostile values, and malformed bodies. No response may be a server fault or missing. */
export async function checkRobustness(context: CheckContext, operation: Operation, baseline: Baseline): Promise<void> {
  const { session } = context;
  const { call } = baseline;
  const valid = placesOf(session, call).flatMap((place) => {
    const all =
      place.value === undefined ? [] : hostileOf(session.document, session.validators, place.schema, place.value);
    const kindOf = ({ keyword, pointer }: Break) => `${keyword} ${pointer}`;
    return sendable(session, place, all, { isBreak: false, most: maxProbes, kindOf }).map(({ value }) =>
      place.with(value),
    );
  });
  const broken =
    call.body === undefined || call.mediaType === undefined
      ? []
      : malformedBodies(call.mediaType).map(({ text }) => withText(call, text));
  const send = async (probe: Call, isJudged: boolean) => {
    if (session.isOver || !(await isHarmless(session, probe, call))) return;
    await session.send(probe, { isJudged });
    session.observed(operation, 'robustness');
  };
  const atOnce = session.options.concurrency ?? 8;
  await inParallel(await everywhere(context, baseline), atOnce, (probe) => send(probe, true));
  await inParallel(valid, atOnce, (probe) => send(probe, true));
  await inParallel([...broken, ...rawTexts(call), ...oddPaths(call)], atOnce, (probe) => send(probe, false));
}

/** Places an unusual text in every string of the largest body that is known to be accepted. */
async function everywhere({ session, baselines }: CheckContext, { call }: Baseline): Promise<Call[]> {
  const { operation } = call;
  const schema = bodySchemaOf(call);
  if (schema === undefined || call.body === undefined || (session.options.probes ?? maxProbes) < maxProbes) return [];
  const known = [call, ...(await baselines.variants(operation))];
  const [fullest = call] = known.sort((one, other) => sizeOf(other.body) - sizeOf(one.body));
  return [...hostileEverywhere(session.validators, schema, fullest.body)].map((body) => ({ ...fullest, body }));
}

/** Maximum number of hostile values per place. Another seed selects others. */
const maxProbes = 80;

/** Bodies with a text or number that JSON allows and JavaScript cannot represent. */
function rawTexts(call: Call): Call[] {
  if (!isObject(call.body) || call.mediaType === undefined || !isJson(call.mediaType)) return [];
  const { body } = call;
  const members = Object.keys(body).filter((name) => ['string', 'number'].includes(typeof body[name]));
  return members.slice(0, 4).flatMap((name) =>
    hostileTexts()
      .filter(({ type }) => type === typeof body[name])
      .map(({ text }) =>
        withText(
          call,
          withRawText(body, (part) => ({ ...body, [name]: part }), text),
        ),
      ),
  );
}

function withText(call: Call, body: string): Call {
  return { ...call, raw: { headers: { 'content-type': call.mediaType ?? 'application/json' }, body } };
}

/** Paths and queries that no schema value can express. */
function oddPaths(call: Call): Call[] {
  const { operation } = call;
  const names = [...operation.path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? '');
  const odd = ['%00', '%F0%9F%98%80', '%ff', '%', '..%2f..%2f', "'%20or%20'1'%3D'1", '9'.repeat(400)];
  const base =
    names.length === 0
      ? []
      : odd.map((text) => ({ ...call, raw: { path: operation.path.replaceAll(/\{[^}]+\}/g, text) } }));
  const queries = ['%', 'a=%ff', '__proto__[x]=1', '&&&=&', `x=${'y'.repeat(3000)}`].map((query) => ({
    ...call,
    raw: { query },
  }));
  return [...base, ...queries];
}
