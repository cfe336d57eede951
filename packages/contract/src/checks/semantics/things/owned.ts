import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import type { Bench } from './bench.ts';
import { isSame } from './compare.ts';
import { isGone } from './create.ts';
import { type Difference, type Look, text } from './probe.ts';
import { memberNames, memberOf, requestSchema, says, targetOf } from './schema.ts';
import { changesOf, madeAndRead } from './update.ts';

/** What only the server decides on is not taken over from a creation. */
export function ownedInCreation(bench: Bench): Look {
  const { create } = bench.resource;
  return async (label) => {
    const call = await bench.callTo(create, label);
    const usual = await bench.make(`${label} usual`);
    if (usual === undefined) return undefined;
    const forged = forgedFor(bench, create, label, (await bench.shown(usual))?.row ?? usual.body);
    if (Object.keys(forged).length === 0 || !isObject(call?.body)) return undefined;
    const made = await bench.session.send({ ...call, body: { ...call.body, ...forged } });
    const thing = isSuccess(made) ? bench.thingOf(call, made) : undefined;
    if (thing === undefined) return [];
    const shown = await bench.shown(thing);
    return takenOver(bench, create, forged, shown?.row ?? thing.body, [made, shown?.exchange]);
  };
}

/** Nor from a change. */
export function ownedInChange(bench: Bench, update: Operation): Look {
  return async (label) => {
    if (ownedNames(bench, update).length === 0) return undefined;
    const made = await madeAndRead(bench, label);
    if (made === undefined) return undefined;
    const forged = forgedFor(bench, update, label, made.row);
    if (Object.keys(forged).length === 0) return undefined;
    const [right] = changesOf(bench, update, requestSchema(update) ?? {}, made, label);
    const answer = right === undefined ? undefined : await bench.change(update, made.thing, { ...right, ...forged });
    if (answer === undefined || !isSuccess(answer)) return [];
    const after = await bench.read(made.thing);
    // What cannot be found under its id any more has taken another one.
    const row = after !== undefined && isGone(after) ? forged : (await bench.shown(made.thing))?.row;
    return row === undefined ? [] : takenOver(bench, update, forged, row, [answer, after]);
  };
}

/** The members that only the server may set. */
function ownedNames(bench: Bench, operation: Operation): string[] {
  const schema = requestSchema(operation);
  if (schema === undefined) return [];
  return memberNames(bench.document, schema).filter((name) =>
    says(bench.document, memberOf(bench.document, [schema], name), 'readOnly'),
  );
}

/** Values for them that are others than the server chooses by itself. */
function forgedFor(bench: Bench, operation: Operation, label: string, usual: JsonObject): JsonObject {
  const { session } = bench;
  const entries = ownedNames(bench, operation).map((name) => {
    const member = targetOf(bench.document, memberOf(bench.document, [requestSchema(operation) ?? {}], name));
    const samples = [0, 1, 2, 3].map((turn) =>
      member === undefined
        ? undefined
        : session.values.sample(member, 'answer', 'some', session.seedFor(`${operation.id} ${label} owned ${turn}`))
            ?.value,
    );
    return [name, samples.find((value) => !isSame(value, usual[name], { name }))] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => ['string', 'number'].includes(typeof value)));
}

function takenOver(
  bench: Bench,
  operation: Operation,
  forged: JsonObject,
  row: JsonObject,
  exchanges: readonly (Exchange | undefined)[],
): Difference[] {
  const schema = requestSchema(operation) ?? {};
  return Object.entries(forged)
    .filter(([name, value]) => row[name] === value)
    .map(([name, value]) => ({
      check: 'read-only-taken',
      operation,
      about: name,
      title: `${name} is readOnly, and the server takes it from a request`,
      expected: `${name} as the server decides, or a refusal`,
      actual: `${name}: ${text(value)}, as it was sent`,
      node: memberOf(bench.document, [schema], name)[0],
      fix: `Ignore or refuse ${name} in requests.`,
      exchanges,
    }));
}
