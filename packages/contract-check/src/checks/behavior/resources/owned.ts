import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { isSame } from './compare.ts';
import { isGone } from './create.ts';
import { type Difference, type Observation, text } from './probe.ts';
import type { ResourceHarness } from './resource-harness.ts';
import { hasFlag, memberNames, memberOf, requestSchema, targetOf } from './schema.ts';
import { changesOf, createdAndRead } from './update.ts';

/** Checks that a create request cannot set read-only properties. */
export function ownedInCreation(harness: ResourceHarness): Observation {
  const { create } = harness.resourceType;
  return async (label) => {
    const call = await harness.callTo(create, label);
    const usual = await harness.create(`${label} usual`);
    if (usual === undefined) return undefined;
    const forged = forgedFor(harness, create, label, (await harness.shown(usual))?.row ?? usual.body);
    if (Object.keys(forged).length === 0 || !isObject(call?.body)) return undefined;
    const created = await harness.session.send({ ...call, body: { ...call.body, ...forged } });
    const resource = isSuccess(created) ? harness.resourceOf(call, created) : undefined;
    if (resource === undefined) return [];
    const shown = await harness.shown(resource);
    return appliedOwned(harness, create, forged, shown?.row ?? resource.body, [created, shown?.exchange]);
  };
}

/** Checks that an update cannot set read-only properties. */
export function ownedInChange(harness: ResourceHarness, update: Operation): Observation {
  return async (label) => {
    if (ownedNames(harness, update).length === 0) return undefined;
    const created = await createdAndRead(harness, label);
    if (created === undefined) return undefined;
    const forged = forgedFor(harness, update, label, created.row);
    if (Object.keys(forged).length === 0) return undefined;
    const [right] = changesOf(harness, update, requestSchema(update) ?? {}, created, label);
    const response =
      right === undefined ? undefined : await harness.change(update, created.resource, { ...right, ...forged });
    if (response === undefined || !isSuccess(response)) return [];
    const after = await harness.read(created.resource);
    // If the ID is not found anymore, the update changed it.
    const row = after !== undefined && isGone(after) ? forged : (await harness.shown(created.resource))?.row;
    return row === undefined ? [] : appliedOwned(harness, update, forged, row, [response, after]);
  };
}

/** The read-only properties of a request. */
function ownedNames(harness: ResourceHarness, operation: Operation): string[] {
  const schema = requestSchema(operation);
  if (schema === undefined) return [];
  return memberNames(harness.document, schema).filter((name) =>
    hasFlag(harness.document, memberOf(harness.document, [schema], name), 'readOnly'),
  );
}

/** Values that differ from those that the server sets. */
function forgedFor(harness: ResourceHarness, operation: Operation, label: string, usual: JsonObject): JsonObject {
  const { session } = harness;
  const entries = ownedNames(harness, operation).map((name) => {
    const member = targetOf(harness.document, memberOf(harness.document, [requestSchema(operation) ?? {}], name));
    const samples = [0, 1, 2, 3].map((turn) =>
      member === undefined
        ? undefined
        : session.values.sample(member, 'response', 'some', session.seedFor(`${operation.id} ${label} owned ${turn}`))
            ?.value,
    );
    return [name, samples.find((value) => !isSame(value, usual[name], { name }))] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => ['string', 'number'].includes(typeof value)));
}

function appliedOwned(
  harness: ResourceHarness,
  operation: Operation,
  forged: JsonObject,
  row: JsonObject,
  exchanges: readonly (Exchange | undefined)[],
): Difference[] {
  const schema = requestSchema(operation) ?? {};
  return Object.entries(forged)
    .filter(([name, value]) => row[name] === value)
    .map(([name, value]) => ({
      check: 'read-only-accepted',
      operation,
      about: name,
      title: `${name} is readOnly, but the server stores the value of the request`,
      expected: `the server's own ${name}, or a 4xx`,
      actual: `${name}: ${text(value)}, as sent`,
      node: memberOf(harness.document, [schema], name)[0],
      fix: `Ignore or reject ${name} in requests.`,
      exchanges,
    }));
}
