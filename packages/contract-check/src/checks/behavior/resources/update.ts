import { isDeepStrictEqual } from 'node:util';
import { envelopeOf, wrapped } from '../../../document/envelopes.ts';
import { extensionOf, type Operation } from '../../../document/operation.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isObject, isScalar, type JsonObject, jsonText, withoutMember } from '../../../json.ts';
import { isNoReference, isVersionName, keyOfName, withoutContainer } from '../../../run/names.ts';
import type { Session } from '../../../run/session.ts';
import { requestSchema, View } from '../../../schema/view.ts';
import { type Difference, type Differences, differ, differIn, need, needs, text } from '../../observe.ts';
import { Listing } from '../lists/listing.ts';
import { isNothing, isSame, isServerOwned, notKept, resourceIn } from './compare.ts';
import { otherValues } from './enrich.ts';
import type { Created, Headers, Resource, ResourceHarness, Shown } from './resource.ts';
import { declares, keepsTheRest } from './resource-types.ts';
import { listedAfter } from './states.ts';

const maxMembers = 20;

export function isWritable(view: View, name: string): boolean {
  const member = view.member(name);
  return !isServerOwned(name) && !member.has('readOnly') && !member.has('writeOnly');
}

/** An update of resources of one type, and the bodies to send to it. */
export class Updating {
  readonly harness: ResourceHarness;
  readonly update: Operation;
  readonly view: View;
  readonly isMerging: boolean;

  constructor(harness: ResourceHarness, update: Operation) {
    this.harness = harness;
    this.update = update;
    this.view = View.ofRequest(harness.document, update);
    this.isMerging = keepsTheRest(harness.document, update);
  }

  get writable(): string[] {
    return this.view.names.filter((name) => isWritable(this.view, name));
  }

  accepts(body: JsonObject): boolean {
    return this.harness.accepts(this.update, body);
  }

  send(resource: Resource, body: JsonObject, headers?: Headers): Promise<Exchange> {
    return this.harness.change(this.update, resource, body, headers);
  }

  async apply(
    { resource }: Created,
    body: JsonObject,
    headers?: Headers,
  ): Promise<{ readonly response: Exchange; readonly after: Shown | undefined }> {
    const response = await this.send(resource, body, headers);
    return { response, after: isSuccess(response) ? await this.harness.shown(resource) : undefined };
  }

  /** Bodies that set a property to one of some values. If the update merges, the property alone comes first. */
  bodiesWith(created: Created, name: string, values: readonly unknown[], whole = this.whole(created)): JsonObject[] {
    return (this.isMerging ? [{}, whole] : [whole])
      .flatMap((base) => values.map((value) => ({ ...base, [name]: value })))
      .filter((body) => this.accepts(body));
  }

  /** Bodies that each change one property. Other required properties are sent unchanged. */
  changes(created: Created, label: string): JsonObject[] {
    const { view } = this;
    const { session } = this.harness;
    const seed = session.seedFor(`${this.update.id} ${label}`);
    const whole = this.whole(created);
    const bodiesWith = (name: string, all: readonly unknown[]) => this.bodiesWith(created, name, all, whole);
    const bodies = this.writable.flatMap((name, index) => {
      const member = view.member(name);
      const sample = () => session.values.sample(member.node ?? {}, 'some', seed + index)?.value;
      const now = created.row[name] ?? whole[name] ?? sample();
      const [body] = bodiesWith(name, othersOf(session, member, now, name, seed + index));
      // Null and zero are easily mistaken for absent values.
      const empty = typeof now === 'number' && now !== 0 ? [0, null] : [null];
      const clears = isScalar(now) ? empty.flatMap((value) => bodiesWith(name, [value]).slice(0, 1)) : [];
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
    return [...sets, ...clears, ...(sets.length > 1 && this.accepts(together) ? [together] : [])];
  }

  /** A valid body with the values that a resource has, or was sent with, or that the known call has. */
  whole({ resource, row }: Created): JsonObject {
    const known = this.harness.bodyOf(this.update);
    const base = isObject(known) ? known : {};
    const present = this.writable.flatMap((name) => {
      const values = [row[name], resource.sent[name], base[name]].filter((value) => (value ?? null) !== null);
      return values.length > 0 ? [{ name, values }] : [];
    });
    const version = this.harness.session.versions.nameIn(this.update) ?? '';
    let whole: JsonObject = Object.fromEntries(present.map(({ name, values }) => [name, values[0]]));
    if (version in base) whole = { ...whole, [version]: base[version] };
    for (const { name, values } of present)
      for (const value of values) if (!this.accepts(whole)) whole = { ...whole, [name]: value };
    return this.accepts(whole) ? whole : base;
  }
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
  if (view.node === undefined || now.length === 0) return [];
  const { words } = view.items;
  if (words.length > 0) return words.filter((word) => !now.includes(word)).map((word) => [word]);
  const fresh = session.values.fresh(view.node, now, seed, (_pointer, key) => isNoReference(key));
  return Array.isArray(fresh) && !isDeepStrictEqual(fresh, now) ? [fresh, fresh.slice(0, 1)] : [];
}

/** The properties that a body changes. Only these reveal whether an update is applied. */
function changesIn(body: JsonObject, row: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !isSame(row[name], value, { name }) || isObject(value)),
  );
}

/** An update is stored and returned, and changes only what was sent. */
export async function* changed(updating: Updating, label: string): Differences {
  const { harness, update, view } = updating;
  if (view.isEmpty) return;
  const created = await harness.createAndRead(label);
  // With a second resource, an update of the wrong one shows.
  await harness.create(`${label} other`);
  let before = created;
  for (const body of updating.changes(created, label)) {
    if (harness.session.isOver) break;
    const { response: by, after } = await updating.apply(created, body);
    if (after === undefined || by.response.status === 202) continue;
    const exchanges = [by, after.exchange];
    const sent = { value: changesIn(body, before.row), view };
    yield* notKept('update-lost', update, sent, after, exchanges);
    const isReturned = isObject(by.response.json?.value);
    const shown = isReturned
      ? View.ofResponse(harness.document, update, by.response.status)
      : View.of(harness.document);
    yield* notKept('update-echo', update, sent, { row: resourceIn(by), view: shown, isPartial: true }, exchanges);
    for (const name of othersIn(updating, body, before, after))
      yield differIn('update-others', update, name, [before.row[name], after.row[name]], exchanges, view);
    before = { ...before, ...after };
  }
  if (before !== created) yield* keptTimes(harness, update, created, before, [created.exchange, before.exchange]);
}

/** Properties that were not sent but changed, although only this update can have changed them. */
function othersIn(updating: Updating, body: JsonObject, { row, resource }: Created, after: Shown): string[] {
  const { document, resourceType } = updating.harness;
  const created = View.ofRequest(document, resourceType.create);
  // A form has `FriendlyName` for what a response has as `friendly_name`.
  const keysOf = (names: readonly string[]) => new Set(names.map(keyOfName));
  const [changed, sent, all] = [Object.keys(body), Object.keys(resource.sent), updating.view.names].map(keysOf);
  return Object.keys(row).filter((name) => {
    const key = keyOfName(name);
    // A PUT may clear properties that it omits.
    const mayClear = !updating.isMerging && isWritable(updating.view, name) && all?.has(key);
    if (changed?.has(key) || isNothing(row[name]) || mayClear) return false;
    const isFixed = /^(?:id|uuid|created_?at|created|created_?on)$/i.test(name);
    const wasSet = sent?.has(key) && isWritable(created, name);
    return (isFixed || wasSet) && jsonText(after.row[name]) !== jsonText(row[name]);
  });
}

/** A version and a time of the last change that a change does not move, and an ETag that stays. */
export function keptTimes(
  { document, resourceType: { read } }: ResourceHarness,
  operation: Operation,
  before: Shown,
  after: Shown,
  exchanges: Difference['exchanges'],
): Difference[] {
  if (isDeepStrictEqual(before.row, after.row)) return [];
  const written = View.ofRequest(document, operation).names;
  // Of a time in whole seconds, two changes can be at once; and whether a change of the state alone moves it is open.
  const isTime = (name: string, value: unknown) =>
    operation.method !== 'POST' &&
    /^(?:last)?[-_]?(?:updated|modified|changed)[-_]?(?:at|on|time)?$/i.test(name) &&
    /:\d\d\.\d*[1-9]/.test(String(value));
  const isTag = (name: string) => /^_?etag$/i.test(name);
  const isVersion = (name: string, value: unknown) => isVersionName(name) && (isTag(name) || Number.isInteger(value));
  const kept = Object.entries(before.row).filter(
    ([name, value]) =>
      (isTag(name) || !written.includes(name)) &&
      (isVersion(name, value) || isTime(name, value)) &&
      after.row[name] === value,
  );
  const found = kept.map(([name, value]) =>
    differ('update-timestamp', operation, name, { actual: `${name}: ${text(value)}`, exchanges }),
  );
  const [was, is] = [before, after].map(({ exchange }) => exchange.response.headers.etag);
  if (was === undefined || was !== is || read === undefined) return found;
  const facts = { expected: `an ETag other than ${was}`, actual: was, exchanges };
  return [...found, differ('etag-stays', read, operation.method === 'POST' ? operation.id : 'update', facts)];
}

/** Of a body, only what a mask names is updated. */
export async function* masked(updating: Updating, label: string): Differences {
  const { harness, update, view } = updating;
  const mask = update.parameters.find(({ in: place, name }) => place === 'query' && /mask$/i.test(name));
  if (mask === undefined) return;
  const created = await harness.createAndRead(label);
  const changes = updating.changes(created, label).map((body) => {
    const own = Object.entries(changesIn(body, created.row)).filter(([name]) => !isServerOwned(name));
    return Object.fromEntries(own);
  });
  const [first, other] = changes.filter((one) => Object.values(one).length === 1 && Object.values(one).every(isScalar));
  const [[named = ''] = [], [kept = ''] = []] = [first, other].map((one) => Object.keys(one ?? {}));
  const call = need(harness.callOn(update, created.resource));
  const body = { ...updating.whole(created), ...need(first), ...need(other) };
  const exchange = await harness.session.send({ ...call, body, query: { ...call.query, [mask.name]: named } });
  const after = need(isSuccess(exchange) ? await harness.shown(created.resource) : undefined);
  const exchanges = [created.exchange, exchange, after.exchange];
  const [was, is] = [created.row, after.row];
  if (!isSame(is[kept], was[kept], { name: kept }))
    yield differIn('update-others', update, kept, [was[kept], is[kept]], exchanges, view);
  if (!isSame(is[named], body[named], { name: named }))
    yield differIn('update-lost', update, named, [body[named], is[named]], exchanges, view);
}

/** Lists that filter by a word follow an update of it, and so does its time, such as `closed_at`. */
export async function* filteredAfter(updating: Updating, label: string): Differences {
  const { harness, update, view } = updating;
  const { list, read } = harness.resourceType;
  const listing = list && Listing.of(harness.context, list);
  const filtered = (listing?.slots ?? [])
    .filter(({ place }) => place === 'query')
    .map(({ words }) => withoutContainer(words));
  for (const name of updating.writable) {
    const { words, parts } = view.member(name);
    const isFilter = filtered.some((one) => keyOfName(one) === keyOfName(name));
    if (words.length < 2 || !isFilter || parts.some((part) => 'transitions' in extensionOf(part))) continue;
    const created = await harness.createAndRead(`${label} ${name}`);
    const before = created.row[name];
    const others = words.filter((word) => typeof word === 'string' && word !== before);
    const [body] = updating.bodiesWith(created, name, others);
    if (body === undefined || typeof before !== 'string') continue;
    const { response, after } = await updating.apply(created, body);
    const now = after?.row[name];
    if (after === undefined || typeof now !== 'string' || now === before) continue;
    const time = View.ofResponse(harness.document, read).names.find(
      (one) => keyOfName(one) === `${now.toLowerCase()}at`,
    );
    if (time !== undefined && after.row[time] === null)
      yield differIn('update-lost', update, time, ['a time', null], [response, after.exchange]);
    yield* listedAfter(harness, update, created.resource, name, [before, now], [created.exchange, response]);
  }
}

/** A document of JSON:API with another ID than its path is rejected. */
export async function* otherId({ harness, update }: Updating, label: string): Differences {
  const envelope = envelopeOf(requestSchema(update) ?? {});
  if (envelope?.hasId !== true || !declares(update, 409)) return;
  const [one, other] = [await harness.createAndRead(label), await harness.createAndRead(`${label} other`)];
  const [change] = new Updating(harness, update).changes(one, label);
  const body = wrapped(envelope, need(change), other.resource.id);
  const exchange = await harness.session.send({ ...need(harness.callOn(update, one.resource)), isFlat: false, body });
  if (isSuccess(exchange)) yield differ('id-conflict', update, '', { expected: '409', exchanges: [exchange] });
}

/** PUT clears omitted properties (RFC 9110, 9.3.4). */
export async function* replaced(updating: Updating, label: string): Differences {
  const { harness, update, view } = updating;
  if (update.method !== 'PUT' || view.isEmpty || updating.isMerging) return;
  const created = await harness.createAndRead(label);
  const whole = updating.whole(created);
  const optional = updating.writable.filter((name) => {
    const value = whole[name];
    const isShown = !isNothing(value) && isScalar(value) && isSame(value, created.row[name], { name });
    return isShown && updating.accepts(withoutMember(whole, name));
  });
  const least = Object.fromEntries(Object.entries(whole).filter(([name]) => !optional.includes(name)));
  needs(optional.length > 0 && updating.accepts(least));
  const { response, ...shown } = await updating.apply(created, least);
  const after = need(shown.after);
  const isDefault = (name: string) =>
    view
      .member(name)
      .parts.some((part) => 'default' in part && isSame(part.default, after.row[name], { name, isWord: true }));
  const kept = optional.filter((name) => isSame(created.row[name], after.row[name], { name }) && !isDefault(name));
  // If only some are kept, there may be a specific reason, but not where a default is declared.
  const isDefaulted = (name: string) => view.member(name).parts.some((part) => 'default' in part);
  const wrong = kept.length < optional.length ? kept.filter(isDefaulted) : kept;
  const [first] = wrong;
  if (first === undefined) return;
  const actual = `it keeps ${wrong.slice(0, 3).join(', ')}; ${first}: ${text(after.row[first])}`;
  yield differ('replace-kept', update, '', { actual, exchanges: [created.exchange, response, after.exchange] });
}

/** A merge patch keeps the members of an object that it omits (RFC 7396). */
export async function* mergedDeep(updating: Updating, label: string): Differences {
  const { update } = updating;
  if (!update.body?.contents.some(({ declared }) => /merge-patch\+json/.test(declared))) return;
  const created = await updating.harness.createAndRead(label);
  for (const name of updating.writable) {
    const value = created.row[name];
    const [[key, member] = ['', undefined], ...others] = isObject(value) ? Object.entries(value) : [];
    const body = { [name]: { [key]: member } };
    if (!isScalar(member) || others.length === 0 || !updating.accepts(body)) continue;
    const { response, after } = await updating.apply(created, body);
    const kept = after?.row[name];
    const lost = others.filter(([other, own]) => !isNothing(own) && isObject(kept) && isNothing(kept[other]));
    if (after === undefined || lost.length === 0) continue;
    const exchanges = [created.exchange, response, after.exchange];
    return yield differIn('update-others', update, name, [value, kept], exchanges);
  }
}
