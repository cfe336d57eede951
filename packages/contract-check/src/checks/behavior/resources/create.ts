import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { extensionOf, groupOf, type Operation, type Parameter } from '../../../document/operation.ts';
import { type Call, type Exchange, isSuccess, locationOf } from '../../../http/call.ts';
import { pathPattern } from '../../../http/deserialize.ts';
import { at, isObject, isScalar, type JsonObject, jsonText, put } from '../../../json.ts';
import { unknownId, unlikelyIds } from '../../../run/ids.ts';
import { isOwnId, kindOfPath, kindOfReference } from '../../../run/names.ts';
import { ifSent } from '../../../run/parallel.ts';
import { idOf } from '../../../run/pool.ts';
import type { Session } from '../../../run/session.ts';
import { View } from '../../../schema/view.ts';
import { type BehaviorCheck, type Differences, differ, need, needs, text, valued } from '../../observe.ts';
import { type FullList, hasOwnIds, Listing } from '../lists/listing.ts';
import { innerView, isGone, isSame, memberAt, notKept, ownId, resourceIn, unlikes } from './compare.ts';
import { type Created, locationIn, type ResourceHarness } from './resource.ts';
import { declares } from './resource-types.ts';
import { Updating } from './update.ts';

/** What a create request stores: known values, others for booleans and enums, and the defaults of omitted properties. */
export const stored: readonly BehaviorCheck<ResourceHarness>[] = [
  (harness, label) => echoOf(harness, `echo known ${label}`, 'known'),
  (harness, label) => echoOf(harness, `echo varied ${label}`, 'varied'),
  (harness, label) => defaultsOf(harness, `default least ${label}`, 'least'),
  (harness, label) => defaultsOf(harness, `default shallow ${label}`, 'shallow'),
];

/** Created values are returned, in the response and when the resource is read. */
async function* echoOf(harness: ResourceHarness, label: string, filling: 'known' | 'varied'): Differences {
  const { document, resourceType } = harness;
  const { create, read, hasCertainRead } = resourceType;
  if (extensionOf(create.node).echo === false) return;
  const resource = need(await harness.create(label, filling));
  const { created, body } = resource;
  needs(created.response.status !== 202);
  const sent = { value: resource.sent, view: View.ofRequest(document, create) };
  const returned = { row: body, view: View.ofResponse(document, create, created.response.status), isPartial: true };
  yield* notKept('create-echo', create, sent, returned, [created]);
  // Some servers are eventually consistent.
  const shown = (await harness.shown(resource)) ?? (await setTimeout(300).then(() => harness.shown(resource)));
  if (shown !== undefined) return yield* notKept('create-lost', create, sent, shown, [created, shown.exchange]);
  // Without a read, another check covers resources that are missing from their list.
  const exchange = await harness.read(resource);
  // More than names must indicate that a created resource can be read.
  const isReadable = hasCertainRead || harness.isReadable || (read && locationIn(read, created) !== undefined);
  if (exchange === undefined || !isGone(exchange) || isReadable !== true) return;
  const expected = `${read?.id} returns ${text(resource.id)}`;
  yield differ('create-lost', create, '', { expected, exchanges: [created, exchange] });
}

/** Omitted properties get their defaults: all that are optional, or only those of nested objects. */
async function* defaultsOf(harness: ResourceHarness, label: string, filling: 'least' | 'shallow'): Differences {
  const { document, resourceType } = harness;
  const { create } = resourceType;
  const request = View.ofRequest(document, create);
  if (request.isEmpty) return;
  const resource = need(await harness.create(label, filling));
  const { sent, body, created } = resource;
  const view = innerView(View.ofResponse(document, create, created.response.status), body);
  const shown = (await harness.shown(resource)) ?? { row: body, view, exchange: undefined };
  const expected = { value: withDefaults(sent, request), view: request };
  for (const one of unlikes(expected, { value: shown.row, view: shown.view })) {
    const place = one.pointer.replaceAll('*', '0');
    const isNone = one.shown === undefined && (one.sent === false || one.sent === 0);
    // A default applies only if the branch has the property.
    const isOmitted = at(sent, place) === undefined && harness.accepts(create, put(sent, place, one.sent));
    if (isNone || !isOmitted) continue;
    const name = memberAt(one.pointer);
    const inner = (around: View, key: string) => (key === '*' ? around.items : around.member(key));
    const { node } = name.split('.').reduce(inner, request);
    const exchanges = [created, shown.exchange];
    yield differ('create-default', create, name, { ...valued(name, one.sent, one.shown), node, exchanges });
  }
}

/** A value with the defaults of all omitted properties, except lists and objects. */
function withDefaults(value: unknown, view: View): unknown {
  if (Array.isArray(value)) return value.map((item) => withDefaults(item, view.items));
  if (!isObject(value)) return value;
  const own = Object.entries(value).map(([name, member]) => [name, withDefaults(member, view.member(name))]);
  const omitted = view.names
    .filter((name) => !(name in value))
    .map((name) => [name, view.member(name).parts.find((part) => isScalar(part.default))?.default])
    .filter(([, fallback]) => fallback !== undefined);
  return Object.fromEntries([...own, ...omitted]);
}

/** A created resource appears in the list. */
export async function* listed(harness: ResourceHarness, label: string): Differences {
  const { create, kind, list, actions, updates } = harness.resourceType;
  if (list === undefined) return;
  const resource = need(await harness.create(label));
  needs(resource.id !== undefined && resource.created.response.status !== 202);
  const row = (await harness.shown(resource))?.row ?? resource.body;
  const all = need(await Listing.of(harness.context, list, resource.call.path)?.walk());
  const lost = (what: string, ...exchanges: Exchange[]) => {
    const facts = { expected: `a row with ${what} in ${list.id}`, actual: `${all.rows.length} rows, none with it` };
    return differ('create-not-listed', create, list.id, { ...facts, node: list.node, exchanges });
  };
  // What has states can be hidden by one.
  const isFixed = all.isComplete && hasOwnIds(all.rows) && actions.length + updates.length === 0;
  const before = isFixed ? harness.earlier(resource) : [];
  const missing = before.find((id) => !all.rows.some((one) => String(ownId(one)) === id));
  if (missing !== undefined) return yield lost(missing, all.exchange);
  if (!all.isComplete || all.rows.some((one) => harness.isOf(resource, one)) || mayBeHidden(row, list, all)) return;
  yield lost(`the ${kind} ${text(resource.id)}`, resource.created, all.exchange);
}

/** Whether a list may exclude the resource because of a filter with a default, or of a status or flag that no row has. */
function mayBeHidden(row: JsonObject, { parameters }: Operation, { rows, rowSchema }: FullList): boolean {
  const isFiltered = parameters.some(
    ({ in: place, name, schema }) =>
      place === 'query' && schema.default !== undefined && Object.hasOwn(row, name) && row[name] !== schema.default,
  );
  const isState = (name: string, value: unknown) =>
    typeof value === 'boolean' || /status|state|visib|publish|archiv|deleted/i.test(name);
  const isNew = (name: string, value: unknown) => rows.every((other) => jsonText(other[name]) !== jsonText(value));
  return (
    isFiltered ||
    (rowSchema !== undefined && Object.entries(row).some(([name, value]) => isState(name, value) && isNew(name, value)))
  );
}

/** Shorter IDs occur in other texts. */
const minTellingId = 8;

/** `Location` leads to the created resource, or to the status of its creation. */
export async function* location(harness: ResourceHarness, label: string): Differences {
  const { session, resourceType } = harness;
  const { create } = resourceType;
  const resource = need(await harness.create(label));
  const { request, response } = resource.created;
  const { pathname, search } = need(locationOf(resource.created));
  const there = await session.read(`${session.footprint.below(pathname)}${search}`);
  const row = resourceIn(there);
  const isOther = isSuccess(there) && response.status !== 202 && resource.id !== undefined && idOf(row) !== undefined;
  const id = String(resource.id);
  const isNamed = id.length >= minTellingId && there.response.text.includes(id);
  // An item is at a path of its own.
  const isHere = create.method === 'POST' && pathname === new URL(request.url).pathname;
  const isList = resourceType.read !== undefined && isHere && response.status === 201;
  const isIt = (!isOther || harness.isOf(resource, row) || isNamed) && !isList;
  if (isIt && ![400, 404, 410].includes(there.response.status)) return;
  const declared = create.responses.find((one) => one.status === String(response.status));
  const node = declared?.headers.find(({ name }) => name.toLowerCase() === 'location')?.node;
  const expected = `${response.headers.location} returns ${text(resource.id)}`;
  yield differ('location', create, '', { expected, node, exchanges: [resource.created, there] });
}

/** Where only what the body refers to can be missing, a 404 says that it must exist. */
export async function* unknownReference(harness: ResourceHarness, label: string): Differences {
  const { session, document, resourceType } = harness;
  const { create } = resourceType;
  if (create.path.includes('{') || !declares(create, 404)) return;
  const call = need(await harness.callTo(label));
  const sent: JsonObject = Object(call.body);
  for (const { name, isAlike, body } of withUnknownReferences(session, create, sent, Object.keys(sent), label)) {
    const { node } = View.ofRequest(document, create).member(name);
    if (!isAlike || !harness.accepts(create, body)) continue;
    const exchange = await session.send({ ...call, body });
    if (isSuccess(exchange))
      yield differ('change-unknown', create, name, { expected: '404', node, exchanges: [exchange] });
  }
}

/** An object with each of some references replaced by one to nothing, if what it refers to is known. */
export function withUnknownReferences(
  session: Session,
  by: Operation,
  body: JsonObject,
  names: readonly string[],
  label: string,
) {
  return names.flatMap((name) => {
    const of = kindOfReference(name);
    if (of === undefined || of === kindOfPath(by.path)) return [];
    const [known] = session.pool.ofKind(of, by).map(({ id }) => id);
    if (known === undefined) return [];
    const value = body[name] ?? known;
    const [likely] = unlikelyIds(/^\d+$/.test(String(value)) ? Number(value) : value, session.seedFor(label));
    const other = likely ?? `${value}zzzzzzzz`;
    /** Whether it has the form of an ID, so that only its absence can be wrong with it. */
    const isAlike = likely !== undefined;
    return [{ name, isAlike, body: { ...body, [name]: typeof value === 'string' ? String(other) : other } }];
  });
}

/** What a resource says to be its own address is the one that it is read at. */
export async function* selfLink(harness: ResourceHarness, label: string): Differences {
  const read = need(harness.resourceType.read);
  const { exchange } = await harness.createAndRead(label);
  const body: unknown = exchange.response.json?.value;
  const places = [Object(body), Object(Object(body).data)];
  const links: unknown[] = places.flatMap(({ links, _links, self, href }) => [links?.self, _links?.self, self, href]);
  const link = links.map((one) => (isObject(one) ? one.href : one)).find((one) => typeof one === 'string');
  const own = new URL(exchange.request.url).pathname;
  const there = URL.parse(String(need(link)), exchange.request.url)?.pathname ?? own;
  if (there !== own && pathPattern(read.path).test(harness.session.footprint.below(there, read)))
    yield differ('location', read, 'self', { expected: own, actual: there, exchanges: [exchange] });
}

/** PUT returns 201 if it creates, and not if it replaces (RFC 9110, 9.3.4). */
export async function* putStatus(harness: ResourceHarness, label: string): Differences {
  const { create } = harness.resourceType;
  if (create.method !== 'PUT' || !declares(create, 201) || !declares(create, 200)) return;
  const { call, created } = need(await harness.create(label));
  const again = await harness.session.send(call);
  for (const [exchange, status, about] of [[created, 201, 'created'] as const, [again, 200, 'replaced'] as const])
    if (exchange.response.status !== status && [200, 201].includes(exchange.response.status))
      yield differ('put-status', create, about, { expected: String(status), exchanges: [exchange] });
}

/** A new resource gets the ID that its request names, which is rejected if another resource has it. */
export async function* givenId(harness: ResourceHarness, label: string): Differences {
  const { session, document, resourceType } = harness;
  const { create, kind } = resourceType;
  const inQuery = create.parameters.find(({ in: place, name }) => place === 'query' && kindOfReference(name) === kind);
  const body = View.ofRequest(document, create);
  const own = body.names.find((one) => isOwnId(one) && !body.member(one).has('readOnly') && declares(create, 409));
  const { name, schema } = inQuery ?? { name: own ?? '', schema: body.member(own ?? '').node };
  if (create.method !== 'POST' || schema === undefined) return;
  const { resource } = await harness.createAndRead(label);
  const id = need(unknownId(session, schema, resource.id, session.seedFor(label)));
  const group = inQuery ? 'query' : 'body';
  const send = async (turn: string) => {
    const call = need(await harness.callTo(`${label} ${turn}`));
    return session.send({ ...call, [group]: { ...Object(call[group]), [name]: id } });
  };
  const first = await send('first');
  needs(isSuccess(first));
  const isUsed = String(harness.resourceOf(resource.call, first).id) === String(id);
  // A property of the body can be ignored, because one schema describes what is sent and what is returned.
  if (!isUsed && inQuery) yield differ('id-conflict', create, 'new', { expected: `the ID ${id}`, exchanges: [first] });
  const again = isUsed ? await send('again') : undefined;
  const facts = { expected: `an error, because ${id} exists`, exchanges: [first, again] };
  if (again && isSuccess(again)) yield differ('id-conflict', create, 'taken', facts);
}

function keyOf({ method, parameters }: Operation): Parameter | undefined {
  const isKey = ({ in: place, name }: Parameter) =>
    place === 'header' ? /^(?:x-)?idempotency-?key$/i.test(name) : /^(?:request|idempotency)_?(?:id|key)$/i.test(name);
  return method === 'GET' ? undefined : parameters.find(isKey);
}

/** A repeated request with the same key returns the first resource. */
export async function* idempotency(harness: ResourceHarness, label: string): Differences {
  const { create } = harness.resourceType;
  const { session } = harness;
  const parameter = keyOf(create);
  if (parameter === undefined || extensionOf(create.node).idempotent === false) return;
  // Random, because servers remember keys of earlier runs.
  const keys = [randomUUID(), randomUUID().replaceAll('-', ''), `k${randomUUID().slice(0, 8)}`];
  const key = need(keys.find((one) => session.validators.accepts(parameter.schema, one)));
  // Finds out what the request can still refer to.
  needs((await harness.create(`${label} before`)) !== undefined);
  const [call, otherCall] = [need(await harness.callTo(label)), await harness.callTo(`${label} other`, 'varied')];
  const group = groupOf(parameter);
  const send = (one: Call) => session.send({ ...one, [group]: { ...one[group], [parameter.name]: key } });
  const first = await send(call);
  needs(isSuccess(first));
  const replay = await send(call);
  const [one, other] = [first, replay].map((exchange) => idOf(resourceIn(exchange)));
  const { status } = replay.response;
  const { node } = parameter;
  const isRejected = status >= 400 && status < 500 && ![401, 403, 425, 429].includes(status);
  const isOther = isSuccess(replay) && one !== undefined && other !== undefined && String(one) !== String(other);
  if (isRejected || isOther) {
    const actual = `${first.response.status} ${text(one)}, then ${status} ${text(other)}`;
    const check = isRejected ? 'key-rejected' : 'key-another';
    return yield differ(check, create, '', { actual, node, exchanges: [first, replay] });
  }
  const isTold = [409, 422].some((code) => declares(create, code)) && !isDeepStrictEqual(call.body, otherCall?.body);
  const reused = otherCall && isTold ? await send(otherCall) : undefined;
  if (reused && isSuccess(reused)) yield differ('key-reused', create, '', { node, exchanges: [first, reused] });
}

export const isDeclaredUnique = (view: View) => view.has('x-unique') || view.states('unique', true);

/** A unique value of one resource is rejected for another one, in create and update requests. */
export async function* unique(harness: ResourceHarness, label: string): Differences {
  const { create, updates } = harness.resourceType;
  const all = [create, ...updates.filter((one) => one !== create)].flatMap((operation) => {
    const view = View.ofRequest(harness.document, operation);
    const names = view.names.filter((name) => isDeclaredUnique(view.member(name)));
    return names.map((name) => ({ operation, name, node: view.member(name).node }));
  });
  if (!all.some(({ operation }) => operation === create)) return;
  const first = await harness.createAndRead(label);
  const other = await harness.createAndRead(`${label} other`);
  for (const { operation, name, node } of all) {
    const used = first.resource.sent[name];
    const again = () => sendAgain(harness, operation, other, { [name]: used }, `${label} ${name}`);
    const sent = isScalar(used) ? await ifSent(again) : undefined;
    if (sent === undefined || !isSuccess(sent.exchange)) continue;
    // A request to create may return the first resource. If the value is the ID, 201 shows that it did not.
    const isOther = String(sent.resource.id) !== String(first.resource.id) || sent.exchange.response.status === 201;
    const shown = isOther ? await harness.shown(sent.resource) : undefined;
    if (shown === undefined || !isSame(used, shown.row[name], { name })) continue;
    const expected = `an error, because another resource has ${text(used)}`;
    yield differ('unique-ignored', operation, name, { expected, node, exchanges: [first.exchange, sent.exchange] });
  }
}

/** Creates or updates another resource with values of the first one. */
async function sendAgain(harness: ResourceHarness, by: Operation, other: Created, values: JsonObject, label: string) {
  if (by === harness.resourceType.create) {
    const known = need(await harness.callTo(label));
    const call = { ...known, body: { ...Object(known.body), ...values } };
    const exchange = await harness.session.send(call);
    return { exchange, resource: harness.resourceOf(call, exchange) };
  }
  const updating = new Updating(harness, by);
  const body = need([values, { ...updating.whole(other), ...values }].find((one) => updating.accepts(one)));
  return { exchange: await updating.send(other.resource, body), resource: other.resource };
}
