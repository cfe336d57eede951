import { bodySchemaOf, type Call } from '../http/call.ts';
import { sizeOf } from '../json.ts';
import { isHarmless } from '../run/ids.ts';
import type { KnownRequest } from '../run/known-requests.ts';
import { inParallel } from '../run/parallel.ts';
import { hostileEverywhere, oddBodies } from '../schema/hostile.ts';
import { hostileOf } from '../schema/variants.ts';
import type { CheckContext } from './observe.ts';
import { placesOf, sendable, withText } from './places.ts';

/** Maximum number of hostile values per place. Another seed selects others. */
const maxProbes = 80;

/** Valid but hostile values, and malformed bodies. No response may be a server fault or missing. */
export async function checkRobustness(context: CheckContext, known: KnownRequest): Promise<void> {
  const { session } = context;
  const { call } = known;
  const valid = placesOf(session, call).flatMap((place) =>
    sendable(session, place, hostileOf, { isBreak: false, most: maxProbes }).map(({ value }) => place.with(value)),
  );
  const { malformed = [], odd = [] } =
    call.body === undefined || call.mediaType === undefined ? {} : oddBodies(call.mediaType);
  const broken = [...malformed, ...odd].map((text) => withText(call, text));
  const send = async (probe: Call, isJudged: boolean) => {
    if (session.isOver || !(await isHarmless(session, probe, call))) return;
    await session.send(probe, { isJudged });
  };
  const atOnce = session.options.concurrency ?? 8;
  // Single values first, because their findings are easier to read.
  await inParallel(valid, atOnce, (probe) => send(probe, true));
  await inParallel(await everywhere(context, known), atOnce, (probe) => send(probe, true));
  await inParallel([...broken, ...oddPaths(call)], atOnce, (probe) => send(probe, false));
}

/** Places an unusual text in every string of the largest body that is known to be accepted. */
async function everywhere({ session, requests }: CheckContext, { call }: KnownRequest): Promise<Call[]> {
  const schema = bodySchemaOf(call);
  if (schema === undefined || call.body === undefined || (session.options.probes ?? maxProbes) < maxProbes) return [];
  const known = [call, ...(await requests.variants(call.operation))];
  const [fullest = call] = known.sort((one, other) => sizeOf(other.body) - sizeOf(one.body));
  return [...hostileEverywhere(session.values, schema, fullest.body)].map((body) => ({ ...fullest, body }));
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
