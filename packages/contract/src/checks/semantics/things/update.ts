import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { general } from '../../../judge/judge.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { isOwnId, kindOfReference } from '../../../run/names.ts';
import { anothers } from './another.ts';
import type { Bench, Thing } from './bench.ts';
import { isNothing, isSame, isServerOwned, unlikes } from './compare.ts';
import { innerSchemas, isScalar } from './create.ts';
import { type Difference, type Look, text } from './probe.ts';
import { keepsTheRest } from './resources.ts';
import { answerSchema, itemOf, memberNames, memberOf, partsOf, requestSchema, says, targetOf } from './schema.ts';
import { thingIn } from './thing-in.ts';

/** The members that one change may set alone. */
const mostMembers = 20;

interface Made {
  readonly thing: Thing;
  readonly row: JsonObject;
  readonly exchange: Exchange;
}

/** A change is stored, answered, and changes only what was sent. */
export function changed(bench: Bench, update: Operation): Look {
  return async (label) => {
    const schema = requestSchema(update);
    const made = await madeAndRead(bench, label);
    const other = await madeAndRead(bench, `${label} other`);
    if (schema === undefined || made === undefined) return undefined;
    const started = performance.now();
    const differences: Difference[] = [];
    let before = made;
    let isChanged = false;
    for (const body of changesOf(bench, update, schema, made, label)) {
      if (bench.session.isOver) break;
      const answer = await bench.change(update, made.thing, body);
      if (answer === undefined) return undefined;
      if (!isSuccess(answer) || answer.answer.status === 202) continue;
      const shown = await bench.shown(made.thing);
      if (shown === undefined) continue;
      isChanged = true;
      const after = { ...before, row: shown.row, exchange: shown.exchange };
      differences.push(...compare(bench, update, schema, body, before, after, answer));
      before = after;
    }
    if (!isChanged) return undefined;
    return unique([
      ...differences,
      ...(await unmoved(bench, update, made, before, started)),
      ...(await untouched(bench, update, other, before.exchange)),
    ]);
  };
}

/** What replaces a thing leaves nothing of what it does not say (RFC 9110, 9.3.4). */
export function replaced(bench: Bench, update: Operation): Look {
  return async (label) => {
    const schema = requestSchema(update);
    if (update.method !== 'PUT' || schema === undefined || keepsTheRest(bench.document, update)) return undefined;
    const made = await madeAndRead(bench, label);
    if (made === undefined) return undefined;
    const names = memberNames(bench.document, schema).filter((name) => isWritable(bench, schema, name));
    const whole = wholeOf(bench, update, schema, names, made.thing, made.row);
    const optional = names.filter((name) => {
      const { [name]: value, ...rest } = whole;
      const isLeft = !isNothing(value) && isScalar(value) && isSame(value, made.row[name], { name });
      return isLeft && bench.session.validators.accepts(schema, rest, 'request');
    });
    const least = Object.fromEntries(Object.entries(whole).filter(([name]) => !optional.includes(name)));
    if (optional.length === 0 || !bench.session.validators.accepts(schema, least, 'request')) return undefined;
    const answer = await bench.change(update, made.thing, least);
    const after = answer !== undefined && isSuccess(answer) ? await bench.shown(made.thing) : undefined;
    if (answer === undefined || after === undefined) return undefined;
    const kept = optional.filter(
      (name) => isSame(made.row[name], after.row[name], { name }) && !isDefault(bench, schema, name, after.row[name]),
    );
    // What is left alone in part may be so for a reason of its own.
    if (kept.length < optional.length) return [];
    return [
      {
        check: 'replace-kept',
        operation: update,
        about: '',
        title: `${update.id} keeps what it is not sent: ${kept.slice(0, 3).join(', ')}`,
        expected: `no ${kept[0]}, or its default: PUT replaces the whole`,
        actual: `${kept[0]}: ${text(after.row[kept[0] ?? ''])}`,
        fix: 'Clear what is left out, or say in the contract that it is kept (x-contract-check: merges).',
        exchanges: [made.exchange, answer, after.exchange],
      },
    ];
  };
}

function isDefault(bench: Bench, schema: JsonObject, name: string, value: unknown): boolean {
  return memberOf(bench.document, [schema], name)
    .flatMap((one) => partsOf(bench.document, one))
    .some((part) => 'default' in part && isSame(part.default, value, { name, isWord: true }));
}

/** A thing of its own, and how it is read. */
export async function madeAndRead(bench: Bench, label: string): Promise<Made | undefined> {
  const thing = await bench.make(label);
  const shown = thing === undefined ? undefined : await bench.shown(thing);
  return thing === undefined || shown === undefined ? undefined : { thing, ...shown };
}

/** The bodies that change one member each; where others are required, they are sent as they are. */
export function changesOf(
  bench: Bench,
  update: Operation,
  schema: JsonObject,
  { thing, row }: Made,
  label: string,
): JsonObject[] {
  const { session } = bench;
  const accepts = (body: JsonObject) => session.validators.accepts(schema, body, 'request');
  const seed = session.seedFor(`${update.id} ${label}`);
  const names = memberNames(bench.document, schema).filter((name) => isWritable(bench, schema, name));
  const isMerged = keepsTheRest(bench.document, update);
  const whole = wholeOf(bench, update, schema, names, thing, row);
  const bodies = names.flatMap((name, index) => {
    const members = memberOf(bench.document, [schema], name);
    const now =
      row[name] ??
      whole[name] ??
      session.values.sample(targetOf(bench.document, members) ?? {}, 'request', 'some', seed + index)?.value;
    const values = isObject(now)
      ? objectsLike(bench, members, now, seed + index)
      : Array.isArray(now)
        ? listsLike(bench, members, now, seed + index)
        : anothers(session, members, now, name, seed + index);
    // What keeps the rest is sent one member alone, where that is allowed.
    const bases = isMerged ? [{}, whole] : [whole];
    const bodiesWith = (all: readonly unknown[]) =>
      bases.flatMap((base) => all.map((value) => ({ ...base, [name]: value })));
    const body = bodiesWith(values).find(accepts);
    // Nothing and zero are values like others, and easily taken for none.
    const empty = typeof now === 'number' && now !== 0 ? [0, null] : [null];
    const clears =
      isMerged && isScalar(now) ? empty.flatMap((value) => bodiesWith([value]).filter(accepts).slice(0, 1)) : [];
    return body === undefined ? [] : [{ body, clears }];
  });
  const sets = bodies.map(({ body }) => body).slice(0, mostMembers);
  // What is cleared cannot show any more that it is kept.
  return [
    ...sets,
    ...bodies.flatMap(({ clears }) => clears).slice(0, mostMembers),
    ...together(bench, schema, sets, seed),
  ];
}

/** All that can be set alone, set at once to other values. */
function together(bench: Bench, schema: JsonObject, sets: readonly JsonObject[], seed: number): JsonObject[] {
  const all: JsonObject = Object.assign({}, ...sets);
  const entries = Object.entries(all).map(([name, value]) => {
    const members = memberOf(bench.document, [schema], name);
    return [
      name,
      isScalar(value) ? (anothers(bench.session, members, value, name, seed + 77)[0] ?? value) : value,
    ] as const;
  });
  const body = Object.fromEntries(entries);
  return sets.length > 1 && bench.session.validators.accepts(schema, body, 'request') ? [body] : [];
}

/** An object with one of its scalars changed. */
function objectsLike(bench: Bench, members: readonly JsonObject[], now: JsonObject, seed: number): JsonObject[] {
  return Object.entries(now).flatMap(([name, value]) => {
    const inner = memberOf(bench.document, members, name);
    return anothers(bench.session, inner, value, name, seed)
      .slice(0, 1)
      .map((other) => ({ ...now, [name]: other }));
  });
}

/** A list with other items: as many, and one of them alone. What refers to other things stays. */
function listsLike(bench: Bench, members: readonly JsonObject[], now: readonly unknown[], seed: number): unknown[] {
  const schema = targetOf(bench.document, members);
  if (schema === undefined || now.length === 0) return [];
  const words = itemOf(bench.document, members).flatMap((one) => partsOf(bench.document, one));
  const listed = words.flatMap((part) => (Array.isArray(part.enum) ? part.enum : []));
  if (listed.length > 0) return listed.filter((word) => !now.includes(word)).map((word) => [word]);
  const fresh = bench.session.values.fresh(
    schema,
    now,
    seed,
    (_pointer, key) => !isOwnId(key) && kindOfReference(key) === undefined,
  );
  const all = Array.isArray(fresh) && !isDeepStrictEqual(fresh, now) ? fresh : [];
  return all.length === 0 ? [] : [all, all.slice(0, 1)];
}

function wholeOf(
  bench: Bench,
  update: Operation,
  schema: JsonObject,
  names: readonly string[],
  { sent }: Thing,
  row: JsonObject,
): JsonObject {
  const known = bench.context.baselines.of(update)?.call.body;
  const base = isObject(known) ? known : {};
  const accepts = (body: JsonObject) => bench.session.validators.accepts(schema, body, 'request');
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

export function isWritable(bench: Bench, schema: JsonObject, name: string): boolean {
  const members = memberOf(bench.document, [schema], name);
  return (
    !isServerOwned(name) && !says(bench.document, members, 'readOnly') && !says(bench.document, members, 'writeOnly')
  );
}

function compare(
  bench: Bench,
  update: Operation,
  schema: JsonObject,
  body: JsonObject,
  before: Made,
  after: Made,
  answer: Exchange,
): Difference[] {
  const { document, resource } = bench;
  const shownBy = resource.read === undefined ? undefined : answerSchema(resource.read);
  const sent = { value: changesIn(body, before.row), schemas: [schema] };
  const stored =
    shownBy === undefined
      ? []
      : unlikes(document, sent, { value: after.row, schemas: innerSchemas(bench, shownBy, after.row) });
  const answered = answerSchema(update, answer.answer.status);
  const told = thingIn(answer);
  const echoed =
    answered === undefined || !isObject(answer.answer.json?.value)
      ? []
      : unlikes(document, sent, { value: told, schemas: innerSchemas(bench, answered, told) }).filter(
          ({ shown }) => shown !== undefined,
        );
  const differs = (
    check: string,
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
      fix: `Store and answer what is sent, and leave the rest as it is.`,
      exchanges: [answer, after.exchange],
    };
  };
  return [
    ...stored.map((one) =>
      differs('update-lost', one.pointer, 'A change of % is accepted and not stored', one.sent, one.shown, one.schema),
    ),
    ...echoed.map((one) =>
      differs(
        'update-echo',
        one.pointer,
        'A change of % is answered otherwise than it was sent',
        one.sent,
        one.shown,
        one.schema,
      ),
    ),
    ...othersIn(bench, update, schema, body, before, after).map((name) =>
      differs(
        'update-others',
        `/${name}`,
        '% was not sent, and is changed',
        before.row[name],
        after.row[name],
        memberOf(document, [schema], name)[0],
      ),
    ),
  ];
}

/** What a body would change: only that tells whether it was heeded. */
function changesIn(body: JsonObject, row: JsonObject): JsonObject {
  const changes = Object.entries(body).filter(
    ([name, value]) => !isSame(row[name], value, { name }) || isObject(value),
  );
  return Object.fromEntries(changes);
}

/** Members that were not sent, which the caller had set and nothing but the change can have changed. */
function othersIn(
  bench: Bench,
  update: Operation,
  schema: JsonObject,
  body: JsonObject,
  before: Made,
  after: Made,
): string[] {
  const isMerged = keepsTheRest(bench.document, update);
  const writable = new Set(memberNames(bench.document, schema).filter((name) => isWritable(bench, schema, name)));
  const created = requestSchema(bench.resource.create);
  return Object.keys(before.row).filter((name) => {
    const value = before.row[name];
    if (name in body || isNothing(value)) return false;
    // What a PUT could have set and did not may be cleared by it.
    if (!isMerged && writable.has(name)) return false;
    const isFixed = /^(?:id|uuid|created_?at|created|created_?on)$/i.test(name);
    const wasSet = name in before.thing.sent && created !== undefined && isWritable(bench, created, name);
    if (!isFixed && !wasSet) return false;
    return JSON.stringify(after.row[name]) !== JSON.stringify(value);
  });
}

/** A version or a time of change that a change leaves as it is. */
async function unmoved(
  bench: Bench,
  update: Operation,
  first: Made,
  last: Made,
  started: number,
): Promise<Difference[]> {
  const written = requestSchema(update);
  const names = Object.keys(first.row).filter(
    (name) => written === undefined || !memberNames(bench.document, written).includes(name),
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
    // To the second, nothing may have happened yet.
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1100 - (performance.now() - started))));
    const schema = requestSchema(update);
    const [body] = schema === undefined ? [] : changesOf(bench, update, schema, last, `${text(first.thing.id)} later`);
    const answer = body === undefined ? undefined : await bench.change(update, first.thing, body);
    const later = answer !== undefined && isSuccess(answer) ? await bench.shown(first.thing) : undefined;
    if (later !== undefined && later.row[moment] === first.row[moment]) {
      differences.push(moment);
      shown = { ...last, ...later };
    }
  }
  return differences
    .filter((name) => name !== undefined)
    .map((name) => ({
      check: 'update-unmoved',
      operation: update,
      about: name,
      title: `A change leaves ${name} as it was`,
      expected: `${name} other than ${text(first.row[name])}`,
      actual: `${name}: ${text(shown.row[name])}`,
      fix: `Move ${name} with every change.`,
      exchanges: [first.exchange, shown.exchange],
    }));
}

export function isRefusal({ answer }: Exchange): boolean {
  return answer.status >= 400 && answer.status < 500;
}

/** What a caller had set on another thing is still so. */
export async function untouched(
  bench: Bench,
  operation: Operation,
  other: Made | undefined,
  by: Exchange,
): Promise<Difference[]> {
  if (other === undefined) return [];
  const now = await bench.read(other.thing);
  if (now === undefined) return [];
  const row = isSuccess(now) ? thingIn(now) : undefined;
  const names = Object.keys(other.thing.sent).filter(
    (name) => typeof other.row[name] === 'string' && !isSame(other.row[name], row?.[name], { name }),
  );
  if (row !== undefined && names.length === 0) return [];
  return [
    {
      check: 'other-changed',
      operation,
      about: '',
      title: `${operation.id} changes another thing than the one that it names`,
      expected: `${text(other.thing.id)} as it was`,
      actual:
        row === undefined ? `${now.answer.status}` : names.map((name) => `${name}: ${text(row[name])}`).join(', '),
      fix: 'Change only what the path names.',
      exchanges: [other.exchange, by, now],
    },
  ];
}

function unique(differences: readonly Difference[]): Difference[] {
  return [...new Map(differences.map((one) => [`${one.check} ${one.operation.id} ${one.about}`, one])).values()];
}

/** A change that is refused for one of its members changes none. */
export function refused(bench: Bench, update: Operation): Look {
  return async (label) => {
    const schema = requestSchema(update);
    const made = await madeAndRead(bench, label);
    if (schema === undefined || made === undefined) return undefined;
    const [right] = changesOf(bench, update, schema, made, label);
    if (right === undefined) return undefined;
    const wrong = wrongMember(bench, schema, right);
    if (wrong === undefined) return undefined;
    const answer = await bench.change(update, made.thing, { ...right, ...wrong });
    if (answer === undefined || !isRefusal(answer)) return undefined;
    const after = await bench.shown(made.thing);
    if (after === undefined) return undefined;
    const names = Object.keys(changesIn(right, made.row)).filter(
      (name) => isScalar(made.row[name]) && !isSame(made.row[name], after.row[name], { name }),
    );
    return names.map((name) => ({
      check: 'update-refused',
      operation: update,
      about: name,
      title: `A change that is refused changes ${name} all the same`,
      expected: `${name}: ${text(made.row[name])}`,
      actual: `${name}: ${text(after.row[name])}`,
      fix: 'Change all or nothing.',
      exchanges: [made.exchange, answer, after.exchange],
    }));
  };
}

/** A member of a type that its schema refuses, beside those that are right. */
function wrongMember({ document, session }: Bench, schema: JsonObject, right: JsonObject): JsonObject | undefined {
  for (const name of memberNames(document, schema).toReversed()) {
    for (const value of [{ wrong: true }, 'wrong', -1]) {
      const only = { ...right, [name]: value };
      if (Object.keys(changesIn(right, {})).length === 1 && name in right) continue;
      if (!session.validators.accepts(schema, only, 'request')) return { [name]: value };
    }
  }
  return undefined;
}
