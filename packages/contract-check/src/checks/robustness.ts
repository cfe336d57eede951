import type { Operation } from '../document/operation.ts';
import { bodySchemaOf, type Call, isJson } from '../http/call.ts';
import { isObject, sizeOf } from '../json.ts';
import type { Baseline } from '../run/baseline.ts';
import { inParallel } from '../run/parallel.ts';
import { isHarmless } from '../run/unknown-id.ts';
import { hostileEverywhere, hostileOf, oddBodies, rawTexts } from '../schema/hostile.ts';
import type { CheckContext } from './check.ts';
import { placesOf, sendable, withText } from './places.ts';

/** Maximum number of hostile values per place. Another seed selects others. */
const maxProbes = 80;

/** Valid but hostile values, and malformed bodies. No response may be a server fault or missing. */
export async function checkRobustness(context: CheckContext, operation: Operation, baseline: Baseline): Promise<void> {
  const { session } = context;
  const { call } = baseline;
  const valid = placesOf(session, call).flatMap((place) =>
    sendable(session, place, hostileOf, { isBreak: false, most: maxProbes }).map(({ value }) => place.with(value)),
  );
  const { malformed = [], odd = [] } =
    call.body === undefined || call.mediaType === undefined ? {} : oddBodies(call.mediaType);
  const broken = [...malformed, ...odd].map((text) => withText(call, text));
  const send = async (probe: Call, isJudged: boolean) => {
    if (session.isOver || !(await isHarmless(session, probe, call))) return;
    await session.send(probe, { isJudged });
    session.observed(operation, 'robustness');
  };
  const atOnce = session.options.concurrency ?? 8;
  // Single values first, because their findings are easier to read.
  await inParallel(valid, atOnce, (probe) => send(probe, true));
  await inParallel(await everywhere(context, baseline), atOnce, (probe) => send(probe, true));
  await inParallel([...broken, ...withRawTexts(call), ...oddPaths(call)], atOnce, (probe) => send(probe, false));
}

/** Places an unusual text in every string of the largest body that is known to be accepted. */
async function everywhere({ session, baselines }: CheckContext, { call }: Baseline): Promise<Call[]> {
  const schema = bodySchemaOf(call);
  if (schema === undefined || call.body === undefined || (session.options.probes ?? maxProbes) < maxProbes) return [];
  const known = [call, ...(await baselines.variants(call.operation))];
  const [fullest = call] = known.sort((one, other) => sizeOf(other.body) - sizeOf(one.body));
  return [...hostileEverywhere(session.values, schema, fullest.body)].map((body) => ({ ...fullest, body }));
}

/** Bodies with a text or number that JSON allows and JavaScript cannot represent. */
function withRawTexts(call: Call): Call[] {
  const { body } = call;
  if (!isObject(body) || call.mediaType === undefined || !isJson(call.mediaType)) return [];
  const members = Object.keys(body).filter((name) => (typeof body[name]) in rawTexts);
  const mark = 'raw-text-placeholder-7c1e9b2d';
  return members.slice(0, 4).flatMap((name) =>
    (rawTexts[typeof body[name]] ?? []).map((text) => {
      const written = JSON.stringify({ ...body, [name]: mark });
      return withText(
        call,
        written.replace(`"${mark}"`, () => text),
      );
    }),
  );
}

/** Paths and queries that no schema value can express. */
function oddPaths(call: Call): Call[] {
  const { path } = call.operation;
  const odd = ['%00', '%F0%9F%98%80', '%ff', '%', '..%2f..%2f', "'%20or%20'1'%3D'1", '9'.repeat(400)];
  const queries = ['%', 'a=%ff', '__proto__[x]=1', '&&&=&', `x=${'y'.repeat(3000)}`];
  return [
    ...(path.includes('{') ? odd.map((text) => ({ path: path.replaceAll(/\{[^}]+\}/g, text) })) : []),
    ...queries.map((query) => ({ query })),
  ].map((raw) => ({ ...call, raw }));
}
