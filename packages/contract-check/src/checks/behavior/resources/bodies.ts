import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '../../../document/operation.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isNoReference } from '../../../run/names.ts';
import { hasFlag, itemOf, memberNames, memberOf, requestSchema, targetOf, wordsIn } from '../../../schema/parts.ts';
import { isSame, isScalar, isServerOwned } from './compare.ts';
import type { Created, ResourceHarness } from './harness.ts';
import { otherValues } from './other-values.ts';
import { keepsTheRest } from './resource-types.ts';

/** Maximum number of properties to update separately. */
const maxMembers = 20;

export function isWritable({ document }: ResourceHarness, schema: JsonObject, name: string): boolean {
  const members = memberOf(document, [schema], name);
  return !isServerOwned(name) && !hasFlag(document, members, 'readOnly') && !hasFlag(document, members, 'writeOnly');
}

export function writableNames(harness: ResourceHarness, schema: JsonObject): string[] {
  return memberNames(harness.document, schema).filter((name) => isWritable(harness, schema, name));
}

/** Bodies that each change one property. Other required properties are sent unchanged. */
export function changesOf(harness: ResourceHarness, update: Operation, created: Created, label: string): JsonObject[] {
  const { session, document } = harness;
  const schema = requestSchema(update) ?? {};
  const accepts = (body: JsonObject) => session.validators.accepts(schema, body, 'request');
  const seed = session.seedFor(`${update.id} ${label}`);
  const isMerged = keepsTheRest(document, update);
  const whole = wholeOf(harness, update, created);
  // If the update merges, tries the property alone first.
  const bodiesWith = (name: string, all: readonly unknown[]) =>
    (isMerged ? [{}, whole] : [whole])
      .flatMap((base) => all.map((value) => ({ ...base, [name]: value })))
      .filter(accepts);
  const bodies = writableNames(harness, schema).flatMap((name, index) => {
    const members = memberOf(document, [schema], name);
    const sample = () =>
      session.values.sample(targetOf(document, members) ?? {}, 'request', 'some', seed + index)?.value;
    const now = created.row[name] ?? whole[name] ?? sample();
    const values = isObject(now)
      ? objectsLike(harness, members, now, seed + index)
      : Array.isArray(now)
        ? listsLike(harness, members, now, seed + index)
        : otherValues(session, members, now, name, seed + index);
    const [body] = bodiesWith(name, values);
    // Null and zero are easily mistaken for absent values.
    const empty = typeof now === 'number' && now !== 0 ? [0, null] : [null];
    const clears = isMerged && isScalar(now) ? empty.flatMap((value) => bodiesWith(name, [value]).slice(0, 1)) : [];
    return body === undefined ? [] : [{ body, clears }];
  });
  const sets = bodies.map(({ body }) => body).slice(0, maxMembers);
  const all = Object.entries(Object.assign({}, ...sets) as JsonObject).map(([name, value]) => {
    const members = memberOf(document, [schema], name);
    const other = isScalar(value) ? otherValues(session, members, value, name, seed + 77)[0] : undefined;
    return [name, other ?? value] as const;
  });
  const together = Object.fromEntries(all);
  // Values are cleared late, because cleared values cannot show whether they are kept.
  const clears = bodies.flatMap((one) => one.clears).slice(0, maxMembers);
  return [...sets, ...clears, ...(sets.length > 1 && accepts(together) ? [together] : [])];
}

/** Copies of an object with one scalar changed. */
function objectsLike(
  { session, document }: ResourceHarness,
  members: readonly JsonObject[],
  now: JsonObject,
  seed: number,
): JsonObject[] {
  return Object.entries(now).flatMap(([name, value]) =>
    otherValues(session, memberOf(document, members, name), value, name, seed)
      .slice(0, 1)
      .map((other) => ({ ...now, [name]: other })),
  );
}

/** Copies of a list with other items: all of them, and one alone. References are not changed. */
function listsLike(
  { session, document }: ResourceHarness,
  members: readonly JsonObject[],
  now: readonly unknown[],
  seed: number,
): unknown[] {
  const schema = targetOf(document, members);
  if (schema === undefined || now.length === 0) return [];
  const words = wordsIn(document, itemOf(document, members));
  if (words.length > 0) return words.filter((word) => !now.includes(word)).map((word) => [word]);
  const fresh = session.values.fresh(schema, now, seed, (_pointer, key) => isNoReference(key));
  return Array.isArray(fresh) && !isDeepStrictEqual(fresh, now) ? [fresh, fresh.slice(0, 1)] : [];
}

/** A valid body with the values that a resource has, or was sent with, or that the known call has. */
export function wholeOf(harness: ResourceHarness, update: Operation, { resource, row }: Created): JsonObject {
  const schema = requestSchema(update) ?? {};
  const known = harness.context.baselines.of(update)?.call.body;
  const base = isObject(known) ? known : {};
  const accepts = (body: JsonObject) => harness.session.validators.accepts(schema, body, 'request');
  const candidates = writableNames(harness, schema).map((name) => ({
    name,
    values: [row[name], resource.sent[name], base[name]].filter((value) => value !== undefined && value !== null),
  }));
  const present = candidates.filter(({ values }) => values.length > 0);
  let whole: JsonObject = Object.fromEntries(present.map(({ name, values }) => [name, values[0]]));
  for (const { name, values } of present)
    for (const value of values) if (!accepts(whole)) whole = { ...whole, [name]: value };
  return accepts(whole) ? whole : base;
}

/** The properties that a body changes. Only these reveal whether an update is applied. */
export function changesIn(body: JsonObject, row: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !isSame(row[name], value, { name }) || isObject(value)),
  );
}
