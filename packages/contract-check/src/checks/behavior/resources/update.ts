import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { general } from '../../../judge/judge.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { isOwnId, kindOfReference } from '../../../run/names.ts';
import { otherValues } from './another.ts';
import { isNothing, isSame, isServerOwned, unlikes } from './compare.ts';
import { innerSchemas, isScalar } from './create.ts';
import { type Difference, type Observation, text } from './probe.ts';
import type { Resource, ResourceHarness } from './resource-harness.ts';
import { resourceIn } from './resource-in.ts';
import { keepsTheRest } from './resource-types.ts';
import { hasFlag, itemOf, memberNames, memberOf, partsOf, requestSchema, responseSchema, targetOf } from './schema.ts';

/** Maximum number of properties to update separately. */
const maxMembers = 20;

interface Created {
  readonly resource: Resource;
  readonly row: JsonObject;
  readonly exchange: Exchange;
}

/** Checks that an update is stored and returned, and changes only what was sent. */
export function changed(harness: ResourceHarness, update: Operation): Observation {
  return async (label) => {
    const schema = requestSchema(update);
    const created = await createdAndRead(harness, label);
    const other = await createdAndRead(harness, `${label} other`);
    if (schema === undefined || created === undefined) return undefined;
    const started = performance.now();
    const differences: Difference[] = [];
    let before = created;
    let isChanged = false;
    for (const body of changesOf(harness, update, schema, created, label)) {
      if (harness.session.isOver) break;
      const response = await harness.change(update, created.resource, body);
      if (response === undefined) return undefined;
      if (!isSuccess(response) || response.response.status === 202) continue;
      const shown = await harness.shown(created.resource);
      if (shown === undefined) continue;
      isChanged = true;
      const after = { ...before, row: shown.row, exchange: shown.exchange };
      differences.push(...compare(harness, update, schema, body, before, after, response));
      before = after;
    }
    if (!isChanged) return undefined;
    return unique([
      ...differences,
      ...(await unmoved(harness, update, created, before, started)),
      ...(await untouched(harness, update, other, before.exchange)),
    ]);
  };
}

/** Checks that PUT clears omitted properties (RFC 9110, 9.3.4). */
export function replaced(harness: ResourceHarness, update: Operation): Observation {
  return async (label) => {
    const schema = requestSchema(update);
    if (update.method !== 'PUT' || schema === undefined || keepsTheRest(harness.document, update)) return undefined;
    const created = await createdAndRead(harness, label);
    if (created === undefined) return undefined;
    const names = memberNames(harness.document, schema).filter((name) => isWritable(harness, schema, name));
    const whole = wholeOf(harness, update, schema, names, created.resource, created.row);
    const optional = names.filter((name) => {
      const { [name]: value, ...rest } = whole;
      const isLeft = !isNothing(value) && isScalar(value) && isSame(value, created.row[name], { name });
      return isLeft && harness.session.validators.accepts(schema, rest, 'request');
    });
    const least = Object.fromEntries(Object.entries(whole).filter(([name]) => !optional.includes(name)));
    if (optional.length === 0 || !harness.session.validators.accepts(schema, least, 'request')) return undefined;
    const response = await harness.change(update, created.resource, least);
    const after = response !== undefined && isSuccess(response) ? await harness.shown(created.resource) : undefined;
    if (response === undefined || after === undefined) return undefined;
    const kept = optional.filter(
      (name) =>
        isSame(created.row[name], after.row[name], { name }) && !isDefault(harness, schema, name, after.row[name]),
    );
    // If only some are kept, there may be a specific reason.
    if (kept.length < optional.length) return [];
    return [
      {
        check: 'replace-kept',
        operation: update,
        about: '',
        title: `${update.id} keeps omitted properties: ${kept.slice(0, 3).join(', ')}`,
        expected: `no ${kept[0]}, or its default: PUT replaces the whole`,
        actual: `${kept[0]}: ${text(after.row[kept[0] ?? ''])}`,
        fix: 'Clear omitted properties, or declare that they are kept (x-contract-check: merges).',
        exchanges: [created.exchange, response, after.exchange],
      },
    ];
  };
}

function isDefault(harness: ResourceHarness, schema: JsonObject, name: string, value: unknown): boolean {
  return memberOf(harness.document, [schema], name)
    .flatMap((one) => partsOf(harness.document, one))
    .some((part) => 'default' in part && isSame(part.default, value, { name, isWord: true }));
}

/** Creates a resource and reads it. */
export async function createdAndRead(harness: ResourceHarness, label: string): Promise<Created | undefined> {
  const resource = await harness.create(label);
  const shown = resource === undefined ? undefined : await harness.shown(resource);
  return resource === undefined || shown === undefined ? undefined : { resource, ...shown };
}

/** Bodies that each change one property. Other required properties are sent unchanged. */
export function changesOf(
  harness: ResourceHarness,
  update: Operation,
  schema: JsonObject,
  { resource, row }: Created,
  label: string,
): JsonObject[] {
  const { session } = harness;
  const accepts = (body: JsonObject) => session.validators.accepts(schema, body, 'request');
  const seed = session.seedFor(`${update.id} ${label}`);
  const names = memberNames(harness.document, schema).filter((name) => isWritable(harness, schema, name));
  const isMerged = keepsTheRest(harness.document, update);
  const whole = wholeOf(harness, update, schema, names, resource, row);
  const bodies = names.flatMap((name, index) => {
    const members = memberOf(harness.document, [schema], name);
    const now =
      row[name] ??
      whole[name] ??
      session.values.sample(targetOf(harness.document, members) ?? {}, 'request', 'some', seed + index)?.value;
    const values = isObject(now)
      ? objectsLike(harness, members, now, seed + index)
      : Array.isArray(now)
        ? listsLike(harness, members, now, seed + index)
        : otherValues(session, members, now, name, seed + index);
    // If the update merges, tries the property alone first.
    const bases = isMerged ? [{}, whole] : [whole];
    const bodiesWith = (all: readonly unknown[]) =>
      bases.flatMap((base) => all.map((value) => ({ ...base, [name]: value })));
    const body = bodiesWith(values).find(accepts);
    // Null and zero are easily mistaken for absent values.
    const empty = typeof now === 'number' && now !== 0 ? [0, null] : [null];
    const clears =
      isMerged && isScalar(now) ? empty.flatMap((value) => bodiesWith([value]).filter(accepts).slice(0, 1)) : [];
    return body === undefined ? [] : [{ body, clears }];
  });
  const sets = bodies.map(({ body }) => body).slice(0, maxMembers);
  // Values are cleared last, because cleared values cannot show whether they are kept.
  return [
    ...sets,
    ...bodies.flatMap(({ clears }) => clears).slice(0, maxMembers),
    ...together(harness, schema, sets, seed),
  ];
}

/** Changes all properties together, to other values. */
function together(
  harness: ResourceHarness,
  schema: JsonObject,
  sets: readonly JsonObject[],
  seed: number,
): JsonObject[] {
  const all: JsonObject = Object.assign({}, ...sets);
  const entries = Object.entries(all).map(([name, value]) => {
    const members = memberOf(harness.document, [schema], name);
    return [
      name,
      isScalar(value) ? (otherValues(harness.session, members, value, name, seed + 77)[0] ?? value) : value,
    ] as const;
  });
  const body = Object.fromEntries(entries);
  return sets.length > 1 && harness.session.validators.accepts(schema, body, 'request') ? [body] : [];
}

/** Copies of an object with one scalar changed. */
function objectsLike(
  harness: ResourceHarness,
  members: readonly JsonObject[],
  now: JsonObject,
  seed: number,
): JsonObject[] {
  return Object.entries(now).flatMap(([name, value]) => {
    const inner = memberOf(harness.document, members, name);
    return otherValues(harness.session, inner, value, name, seed)
      .slice(0, 1)
      .map((other) => ({ ...now, [name]: other }));
  });
}

/** Copies of a list with other items: all of them, and one alone. References are not changed. */
function listsLike(
  harness: ResourceHarness,
  members: readonly JsonObject[],
  now: readonly unknown[],
  seed: number,
): unknown[] {
  const schema = targetOf(harness.document, members);
  if (schema === undefined || now.length === 0) return [];
  const words = itemOf(harness.document, members).flatMap((one) => partsOf(harness.document, one));
  const listed = words.flatMap((part) => (Array.isArray(part.enum) ? part.enum : []));
  if (listed.length > 0) return listed.filter((word) => !now.includes(word)).map((word) => [word]);
  const fresh = harness.session.values.fresh(
    schema,
    now,
    seed,
    (_pointer, key) => !isOwnId(key) && kindOfReference(key) === undefined,
  );
  const all = Array.isArray(fresh) && !isDeepStrictEqual(fresh, now) ? fresh : [];
  return all.length === 0 ? [] : [all, all.slice(0, 1)];
}

function wholeOf(
  harness: ResourceHarness,
  update: Operation,
  schema: JsonObject,
  names: readonly string[],
  { sent }: Resource,
  row: JsonObject,
): JsonObject {
  const known = harness.context.baselines.of(update)?.call.body;
  const base = isObject(known) ? known : {};
  const accepts = (body: JsonObject) => harness.session.validators.accepts(schema, body, 'request');
  const values = (name: string) =>
    [row[name], sent[name], base[name]].filter((value) => value !== undefined && value !== null);
  let whole: JsonObject = Object.fromEntries(
    names.flatMap((name) =>
      values(name)
        .slice(0, 1)
        .map((value) => [name, value]),
    ),
  );
  for (const name of names) {
    if (accepts(whole)) break;
    for (const value of values(name)) if (!accepts(whole)) whole = { ...whole, [name]: value };
  }
  return accepts(whole) ? whole : base;
}

export function isWritable(harness: ResourceHarness, schema: JsonObject, name: string): boolean {
  const members = memberOf(harness.document, [schema], name);
  return (
    !isServerOwned(name) &&
    !hasFlag(harness.document, members, 'readOnly') &&
    !hasFlag(harness.document, members, 'writeOnly')
  );
}

function compare(
  harness: ResourceHarness,
  update: Operation,
  schema: JsonObject,
  body: JsonObject,
  before: Created,
  after: Created,
  response: Exchange,
): Difference[] {
  const { document, resourceType } = harness;
  const shownBy = resourceType.read === undefined ? undefined : responseSchema(resourceType.read);
  const sent = { value: changesIn(body, before.row), schemas: [schema] };
  const stored =
    shownBy === undefined
      ? []
      : unlikes(document, sent, { value: after.row, schemas: innerSchemas(harness, shownBy, after.row) });
  const returned = responseSchema(update, response.response.status);
  const result = resourceIn(response);
  const echoed =
    returned === undefined || !isObject(response.response.json?.value)
      ? []
      : unlikes(document, sent, { value: result, schemas: innerSchemas(harness, returned, result) }).filter(
          ({ shown }) => shown !== undefined,
        );
  const differs = (
    check: CheckName,
    pointer: string,
    title: string,
    expected: unknown,
    actual: unknown,
    node: object | undefined,
  ): Difference => {
    const name = general(pointer).slice(1).replaceAll('/', '.');
    return {
      check,
      operation: update,
      about: name,
      title: title.replace('%', name),
      expected: `${name}: ${text(expected)}`,
      actual: `${name}: ${text(actual)}`,
      node,
      fix: `Store and return what is sent, and keep the other properties.`,
      exchanges: [response, after.exchange],
    };
  };
  return [
    ...stored.map((one) =>
      differs(
        'update-lost',
        one.pointer,
        'An update of % is accepted, but not stored',
        one.sent,
        one.shown,
        one.schema,
      ),
    ),
    ...echoed.map((one) =>
      differs(
        'update-echo',
        one.pointer,
        'An update of % returns another value than was sent',
        one.sent,
        one.shown,
        one.schema,
      ),
    ),
    ...othersIn(harness, update, schema, body, before, after).map((name) =>
      differs(
        'update-others',
        `/${name}`,
        '% is changed, but was not sent',
        before.row[name],
        after.row[name],
        memberOf(document, [schema], name)[0],
      ),
    ),
  ];
}

/** The properties that a body changes. Only these reveal whether the update is applied. */
function changesIn(body: JsonObject, row: JsonObject): JsonObject {
  const changes = Object.entries(body).filter(
    ([name, value]) => !isSame(row[name], value, { name }) || isObject(value),
  );
  return Object.fromEntries(changes);
}

/** Properties that were not sent but changed, although only this update can have changed them. */
function othersIn(
  harness: ResourceHarness,
  update: Operation,
  schema: JsonObject,
  body: JsonObject,
  before: Created,
  after: Created,
): string[] {
  const isMerged = keepsTheRest(harness.document, update);
  const writable = new Set(memberNames(harness.document, schema).filter((name) => isWritable(harness, schema, name)));
  const created = requestSchema(harness.resourceType.create);
  return Object.keys(before.row).filter((name) => {
    const value = before.row[name];
    if (name in body || isNothing(value)) return false;
    // A PUT may clear properties that it omits.
    if (!isMerged && writable.has(name)) return false;
    const isFixed = /^(?:id|uuid|created_?at|created|created_?on)$/i.test(name);
    const wasSet = name in before.resource.sent && created !== undefined && isWritable(harness, created, name);
    if (!isFixed && !wasSet) return false;
    return JSON.stringify(after.row[name]) !== JSON.stringify(value);
  });
}

/** Reports a version or modification time that an update does not change. */
async function unmoved(
  harness: ResourceHarness,
  update: Operation,
  first: Created,
  last: Created,
  started: number,
): Promise<Difference[]> {
  const written = requestSchema(update);
  const names = Object.keys(first.row).filter(
    (name) => written === undefined || !memberNames(harness.document, written).includes(name),
  );
  const version = names.find((name) => /^_?(?:version|revision|rev)$/i.test(name) && Number.isInteger(first.row[name]));
  const moment = names.find(
    (name) =>
      /^(?:updated|modified|lastModified|last_modified|lastUpdated)[-_]?(?:at|on|date|time)?$/i.test(name) &&
      typeof first.row[name] === 'string',
  );
  const differences = [version].filter((name) => name !== undefined && first.row[name] === last.row[name]);
  let shown = last;
  if (moment !== undefined && first.row[moment] === last.row[moment]) {
    // With a resolution of one second, the time may still be the same.
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1100 - (performance.now() - started))));
    const schema = requestSchema(update);
    const [body] =
      schema === undefined ? [] : changesOf(harness, update, schema, last, `${text(first.resource.id)} later`);
    const response = body === undefined ? undefined : await harness.change(update, first.resource, body);
    const later = response !== undefined && isSuccess(response) ? await harness.shown(first.resource) : undefined;
    if (later !== undefined && later.row[moment] === first.row[moment]) {
      differences.push(moment);
      shown = { ...last, ...later };
    }
  }
  return differences
    .filter((name) => name !== undefined)
    .map((name) => ({
      check: 'update-timestamp',
      operation: update,
      about: name,
      title: `An update does not change ${name}`,
      expected: `${name} other than ${text(first.row[name])}`,
      actual: `${name}: ${text(shown.row[name])}`,
      fix: `Change ${name} with every update.`,
      exchanges: [first.exchange, shown.exchange],
    }));
}

export function isRejection({ response }: Exchange): boolean {
  return response.status >= 400 && response.status < 500;
}

/** Checks that another resource is unaffected. */
export async function untouched(
  harness: ResourceHarness,
  operation: Operation,
  other: Created | undefined,
  by: Exchange,
): Promise<Difference[]> {
  if (other === undefined) return [];
  const now = await harness.read(other.resource);
  if (now === undefined) return [];
  const row = isSuccess(now) ? resourceIn(now) : undefined;
  const names = Object.keys(other.resource.sent).filter(
    (name) => typeof other.row[name] === 'string' && !isSame(other.row[name], row?.[name], { name }),
  );
  if (row !== undefined && names.length === 0) return [];
  return [
    {
      check: 'other-changed',
      operation,
      about: '',
      title: `${operation.id} changes another resource than the one in the path`,
      expected: `${text(other.resource.id)} as it was`,
      actual:
        row === undefined ? `${now.response.status}` : names.map((name) => `${name}: ${text(row[name])}`).join(', '),
      fix: 'Change only the resource in the path.',
      exchanges: [other.exchange, by, now],
    },
  ];
}

function unique(differences: readonly Difference[]): Difference[] {
  return [...new Map(differences.map((one) => [`${one.check} ${one.operation.id} ${one.about}`, one])).values()];
}

/** Checks that a rejected update changes nothing. */
export function rejected(harness: ResourceHarness, update: Operation): Observation {
  return async (label) => {
    const schema = requestSchema(update);
    const created = await createdAndRead(harness, label);
    if (schema === undefined || created === undefined) return undefined;
    const [right] = changesOf(harness, update, schema, created, label);
    if (right === undefined) return undefined;
    const wrong = wrongMember(harness, schema, right);
    if (wrong === undefined) return undefined;
    const response = await harness.change(update, created.resource, { ...right, ...wrong });
    if (response === undefined || !isRejection(response)) return undefined;
    const after = await harness.shown(created.resource);
    if (after === undefined) return undefined;
    const names = Object.keys(changesIn(right, created.row)).filter(
      (name) => isScalar(created.row[name]) && !isSame(created.row[name], after.row[name], { name }),
    );
    return names.map((name) => ({
      check: 'update-rejected',
      operation: update,
      about: name,
      title: `A rejected update changes ${name}`,
      expected: `${name}: ${text(created.row[name])}`,
      actual: `${name}: ${text(after.row[name])}`,
      fix: 'Apply an update completely or not at all.',
      exchanges: [created.exchange, response, after.exchange],
    }));
  };
}

/** A property with an invalid value, to send beside valid ones. */
function wrongMember(
  { document, session }: ResourceHarness,
  schema: JsonObject,
  right: JsonObject,
): JsonObject | undefined {
  for (const name of memberNames(document, schema).toReversed()) {
    for (const value of [{ wrong: true }, 'wrong', -1]) {
      const only = { ...right, [name]: value };
      if (Object.keys(changesIn(right, {})).length === 1 && name in right) continue;
      if (!session.validators.accepts(schema, only, 'request')) return { [name]: value };
    }
  }
  return undefined;
}
