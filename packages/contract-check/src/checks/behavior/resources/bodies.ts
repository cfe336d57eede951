import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '../../../document/operation.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isNoReference } from '../../../run/names.ts';
import type { Session } from '../../../run/session.ts';
import { View } from '../../../schema/view.ts';
import { isSame, isScalar, isServerOwned } from './compare.ts';
import { otherValues } from './enrich.ts';
import type { Created, ResourceHarness } from './harness.ts';
import { keepsTheRest } from './resource-types.ts';

/** Maximum number of properties to update separately. */
const maxMembers = 20;

export function isWritable(view: View, name: string): boolean {
  const member = view.member(name);
  return !isServerOwned(name) && !member.has('readOnly') && !member.has('writeOnly');
}

export function writableNames(view: View): string[] {
  return view.names.filter((name) => isWritable(view, name));
}

/** Bodies that each change one property. Other required properties are sent unchanged. */
export function changesOf(harness: ResourceHarness, update: Operation, created: Created, label: string): JsonObject[] {
  const { session, document } = harness;
  const view = View.ofRequest(document, update);
  const accepts = (body: JsonObject) => harness.accepts(update, body);
  const seed = session.seedFor(`${update.id} ${label}`);
  const isMerged = keepsTheRest(document, update);
  const whole = wholeOf(harness, update, created);
  // If the update merges, tries the property alone first.
  const bodiesWith = (name: string, all: readonly unknown[]) =>
    (isMerged ? [{}, whole] : [whole])
      .flatMap((base) => all.map((value) => ({ ...base, [name]: value })))
      .filter(accepts);
  const bodies = writableNames(view).flatMap((name, index) => {
    const member = view.member(name);
    const sample = () => session.values.sample(member.target ?? {}, 'request', 'some', seed + index)?.value;
    const now = created.row[name] ?? whole[name] ?? sample();
    const [body] = bodiesWith(name, othersOf(session, member, now, name, seed + index));
    // Null and zero are easily mistaken for absent values.
    const empty = typeof now === 'number' && now !== 0 ? [0, null] : [null];
    const clears = isMerged && isScalar(now) ? empty.flatMap((value) => bodiesWith(name, [value]).slice(0, 1)) : [];
    return body === undefined ? [] : [{ body, clears }];
  });
  const sets = bodies.map(({ body }) => body).slice(0, maxMembers);
  const all = Object.entries(Object.assign({}, ...sets) as JsonObject).map(([name, value]) => {
    const [other] = isScalar(value) ? otherValues(session, view.member(name), value, name, seed + 77) : [];
    return [name, other ?? value] as const;
  });
  const together = Object.fromEntries(all);
  // Values are cleared late, because cleared values cannot show whether they are kept.
  const clears = bodies.flatMap((one) => one.clears).slice(0, maxMembers);
  return [...sets, ...clears, ...(sets.length > 1 && accepts(together) ? [together] : [])];
}

/**
 * Other values: of a scalar, copies of an object with one scalar changed, and copies of a list with other items, all of
 * them and one alone. References are not changed.
 */
function othersOf(session: Session, view: View, now: unknown, name: string, seed: number): unknown[] {
  if (isObject(now))
    return Object.entries(now).flatMap(([key, value]) =>
      otherValues(session, view.member(key), value, key, seed)
        .slice(0, 1)
        .map((other) => ({ ...now, [key]: other })),
    );
  if (!Array.isArray(now)) return otherValues(session, view, now, name, seed);
  if (view.target === undefined || now.length === 0) return [];
  const { words } = view.items;
  if (words.length > 0) return words.filter((word) => !now.includes(word)).map((word) => [word]);
  const fresh = session.values.fresh(view.target, now, seed, (_pointer, key) => isNoReference(key));
  return Array.isArray(fresh) && !isDeepStrictEqual(fresh, now) ? [fresh, fresh.slice(0, 1)] : [];
}

/** A valid body with the values that a resource has, or was sent with, or that the known call has. */
export function wholeOf(harness: ResourceHarness, update: Operation, { resource, row }: Created): JsonObject {
  const known = harness.context.baselines.of(update)?.call.body;
  const base = isObject(known) ? known : {};
  const present = writableNames(View.ofRequest(harness.document, update)).flatMap((name) => {
    const values = [row[name], resource.sent[name], base[name]].filter(
      (value) => value !== undefined && value !== null,
    );
    return values.length > 0 ? [{ name, values }] : [];
  });
  let whole: JsonObject = Object.fromEntries(present.map(({ name, values }) => [name, values[0]]));
  for (const { name, values } of present)
    for (const value of values) if (!harness.accepts(update, whole)) whole = { ...whole, [name]: value };
  return harness.accepts(update, whole) ? whole : base;
}

/** The properties that a body changes. Only these reveal whether an update is applied. */
export function changesIn(body: JsonObject, row: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !isSame(row[name], value, { name }) || isObject(value)),
  );
}
