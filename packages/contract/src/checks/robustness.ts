import type { Operation } from '../document/operation.ts';
import type { Call } from '../http/call.ts';
import type { Baseline } from '../run/baseline.ts';
import { hostileOf, malformedBodies } from '../schema/hostile.ts';
import type { CheckContext } from './checks.ts';
import { inParallel } from './parallel.ts';
import { isTellable, placesOf } from './places.ts';

/** Valid but hostile values, and bodies that are broken in odd ways. Whatever the answer is, it is no fault and no silence. */
export async function surviveHostility(context: CheckContext, operation: Operation, baseline: Baseline): Promise<void> {
  const { session } = context;
  const { call } = baseline;
  const valid = placesOf(session, call).flatMap((place) =>
    place.value === undefined
      ? []
      : hostileOf(session.document, session.validators, place.schema, place.value)
          .filter(({ value }) => isTellable(session, place, value, false))
          .map(({ value }) => place.with(value)),
  );
  const broken =
    call.body === undefined || call.mediaType === undefined
      ? []
      : malformedBodies(call.mediaType).map(({ text }) => withText(call, text));
  await inParallel([...valid, ...broken, ...oddPaths(call)], session.options.concurrency ?? 8, async (probe) => {
    if (session.isOver) return;
    await session.send(probe, { isMaking: true });
    session.observed(operation, 'robustness');
  });
}

function withText(call: Call, body: string): Call {
  return { ...call, raw: { headers: { 'content-type': call.mediaType ?? 'application/json' }, body } };
}

/** Paths and queries that no value of a schema can express. */
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
