import type { Exchange } from '../../../http/call.ts';
import { escapeSegment, isObject, type JsonObject, put } from '../../../json.ts';
import { general } from '../../../judge/judge.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { locationIn } from './address.ts';
import { isNothing, isSame, isServerOwned, type Unlike, unlikes } from './compare.ts';
import { type Difference, type Observation, text } from './probe.ts';
import type { Filling, Resource, ResourceHarness } from './resource-harness.ts';
import { resourceIn } from './resource-in.ts';
import { hasFlag, itemOf, memberNames, memberOf, partsOf, requestSchema, responseSchema } from './schema.ts';
import { declaredFlag } from './vocabulary.ts';

/**
 * Checks that created values are returned, in the response and in a later read. Sends two values for booleans and
 * enums.
 */
export function echoed(harness: ResourceHarness): Observation {
  return async (label) => {
    if (declaredFlag(harness.resourceType.create, 'echo') === false) return undefined;
    const known = await echoOf(harness, `${label} known`, 'known');
    const varied = await echoOf(harness, `${label} varied`, 'varied');
    if (known === undefined && varied === undefined) return undefined;
    const found = [...(known ?? []), ...(varied ?? [])];
    return [...new Map(found.map((one) => [`${one.check} ${one.about}`, one])).values()];
  };
}

async function echoOf(harness: ResourceHarness, label: string, filling: Filling): Promise<Difference[] | undefined> {
  const { create, read } = harness.resourceType;
  const resource = await harness.create(label, filling);
  if (resource === undefined || resource.created.response.status === 202) return undefined;
  const inResponse = unlikesOf(
    harness,
    resource,
    resource.body,
    responseSchema(create, resource.created.response.status),
  )
    // A response may omit stored properties.
    .filter(({ shown }) => shown !== undefined)
    .map((unlike) => notEchoed(harness, resource, unlike, resource.created));
  if (read === undefined) {
    // Another check covers resources that are missing from their list.
    const shown = await harness.shown(resource);
    const unlike = shown === undefined ? [] : unlikesOf(harness, resource, shown.row, shown.schema);
    return [
      ...inResponse,
      ...(shown === undefined ? [] : unlike.map((one) => notStored(harness, resource, one, shown.exchange))),
    ];
  }
  const exchange = await readWithRetry(harness, resource);
  if (exchange === undefined) return inResponse;
  if (isGone(exchange))
    return isReadableFor(harness, resource) ? [...inResponse, lost(harness, resource, exchange)] : inResponse;
  if (!isSuccess(exchange) || !isObject(exchange.response.json?.value)) return inResponse;
  const row = resourceIn(exchange);
  const stored = unlikesOf(harness, resource, row, responseSchema(read, exchange.response.status));
  return [
    ...inResponse,
    ...stored.map((unlike) => notStored(harness, resource, unlike, exchange)),
    ...otherThanReturned(harness, resource, row, exchange),
  ];
}

/** The differences between a created resource and its request. */
function unlikesOf(
  harness: ResourceHarness,
  { sent, call }: Resource,
  shown: JsonObject,
  schema: JsonObject | undefined,
): Unlike[] {
  const request = requestSchema(call.operation);
  if (request === undefined || schema === undefined) return [];
  const inner = innerSchemas(harness, schema, shown);
  return unlikes(harness.document, { value: sent, schemas: [request] }, { value: shown, schemas: inner });
}

/** The schemas of the resource if the response wraps it in an object. */
export function innerSchemas({ document }: ResourceHarness, schema: JsonObject, shown: JsonObject): JsonObject[] {
  const names = memberNames(document, schema);
  const keys = Object.keys(shown);
  if (keys.length === 0 || keys.some((key) => names.includes(key))) return [schema];
  return names
    .flatMap((name) => memberOf(document, [schema], name))
    .flatMap((one) => [one, ...partsOf(document, one)])
    .slice(0, 4);
}

function notEchoed(
  harness: ResourceHarness,
  resource: Resource,
  { pointer, sent, shown, schema }: Unlike,
  exchange: Exchange,
): Difference {
  const member = general(pointer).slice(1).replaceAll('/', '.');
  return {
    check: 'create-echo',
    operation: harness.resourceType.create,
    about: member,
    title: `The response has another ${member} than the request`,
    expected: `${member}: ${text(sent)}`,
    actual: `${member}: ${text(shown)}`,
    node: schema,
    fix: `Return ${member} as sent, or declare it readOnly if the server sets it.`,
    exchanges: [resource.created, exchange].slice(0, 1),
  };
}

function notStored(
  harness: ResourceHarness,
  resource: Resource,
  { pointer, sent, shown, schema }: Unlike,
  exchange: Exchange,
): Difference {
  const member = general(pointer).slice(1).replaceAll('/', '.');
  return {
    check: 'create-lost',
    operation: harness.resourceType.create,
    about: member,
    title: shown === undefined || shown === null ? `${member} is not stored` : `${member} is not stored as sent`,
    expected: `${member}: ${text(sent)} when it is read`,
    actual: `${member}: ${text(shown)}`,
    node: schema,
    fix: `Store ${member} as sent, or declare it readOnly if the server sets it.`,
    exchanges: [resource.created, exchange],
  };
}

function lost(harness: ResourceHarness, resource: Resource, exchange: Exchange): Difference {
  return {
    check: 'create-lost',
    operation: harness.resourceType.create,
    about: '',
    title: `A resource created by ${harness.resourceType.create.id} cannot be read`,
    expected: `${harness.resourceType.read?.id} returns ${text(resource.id)}`,
    actual: `${exchange.response.status} ${exchange.response.text.slice(0, 120)}`,
    fix: 'Store the resource before the response is sent.',
    exchanges: [resource.created, exchange],
  };
}

/** Reports properties whose value in the create response differs from a later read. */
function otherThanReturned(
  harness: ResourceHarness,
  resource: Resource,
  row: JsonObject,
  exchange: Exchange,
): Difference[] {
  const { create, read } = harness.resourceType;
  if (read === undefined) return [];
  const [before, after] = [responseSchema(create, resource.created.response.status), responseSchema(read)];
  if (before === undefined || after === undefined) return [];
  const names = memberNames(harness.document, before).filter(
    (name) => memberOf(harness.document, [after], name).length > 0,
  );
  return names
    .filter(
      (name) => isSignificant(name) && isScalar(resource.body[name]) && isScalar(row[name]) && !(name in resource.sent),
    )
    .filter((name) => !isSame(resource.body[name], row[name], { name }))
    .map((name) => ({
      check: 'create-response',
      operation: create,
      about: name,
      title: `${create.id} returns another ${name} than a read after it`,
      expected: `${name}: ${text(row[name])}, as in ${read.id}`,
      actual: `${name}: ${text(resource.body[name])}`,
      node: memberOf(harness.document, [before], name)[0],
      fix: `Return ${name} as stored.`,
      exchanges: [resource.created, exchange],
    }));
}

/** Whether a property is stable without writes. */
export function isSignificant(name: string): boolean {
  return (
    !/(?:status|state|phase|progress|count|total|url|href|link|token|secret|expires|remaining|age|last|seen|position|rank)/i.test(
      name,
    ) && !/(?:at|on)$|(?:A|_a)t$|(?:D|_d)ate$|updated|modified|version|etag|revision/i.test(name)
  );
}

export function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

export function isGone({ response }: Exchange): boolean {
  return response.status === 404 || response.status === 410;
}

/** Whether more than names indicates that a created resource can be read. */
function isReadableFor(harness: ResourceHarness, { created }: Resource): boolean {
  const { read, hasCertainRead } = harness.resourceType;
  return hasCertainRead || harness.isReadable || (read !== undefined && locationIn(read, created) !== undefined);
}

/** Some servers are eventually consistent. */
async function readWithRetry(harness: ResourceHarness, resource: Resource): Promise<Exchange | undefined> {
  const read = await harness.read(resource);
  if (read === undefined || !isGone(read)) return read;
  await new Promise((resolve) => setTimeout(resolve, 300));
  return harness.read(resource);
}

/** Checks that omitted properties get their defaults, also in nested objects. */
export function defaulted(harness: ResourceHarness): Observation {
  return async (label) => {
    const schema = requestSchema(harness.resourceType.create);
    if (schema === undefined) return undefined;
    const least = await defaultsIn(harness, schema, await harness.create(label, 'least'));
    const known = await defaultsIn(harness, schema, await harness.create(`${label} known`));
    if (least === undefined && known === undefined) return undefined;
    return [...new Map([...(least ?? []), ...(known ?? [])].map((one) => [one.about, one])).values()];
  };
}

async function defaultsIn(
  harness: ResourceHarness,
  schema: JsonObject,
  resource: Resource | undefined,
): Promise<Difference[] | undefined> {
  if (resource === undefined) return undefined;
  const { create } = harness.resourceType;
  const shown = await harness.shown(resource);
  const row = shown?.row ?? resource.body;
  const response =
    shown?.schema ?? responseSchema(shown === undefined ? create : (harness.resourceType.read ?? create));
  const returned = response === undefined ? [] : innerSchemas(harness, response, row);
  const sides = { sent: resource.sent, requested: [schema], shown: row, returned, pointer: '' };
  return leftOut(harness, sides)
    .filter(({ pointer, source }) =>
      // A default applies only if the branch has the property.
      harness.session.validators.accepts(schema, put(resource.sent, pointer, source.default), 'request'),
    )
    .map(({ pointer, source, actual }) => {
      const name = general(pointer).slice(1).replaceAll('/', '.');
      return {
        check: 'create-default',
        operation: create,
        about: name,
        title: `${name} does not get its default if it is omitted`,
        expected: `${name}: ${text(source.default)}`,
        actual: `${name}: ${text(actual)}`,
        node: source,
        fix: `Store ${text(source.default)} if ${name} is omitted, or declare another default.`,
        exchanges: [resource.created, shown?.exchange],
      };
    });
}

/** A sent object and its returned version, with their schemas. */
interface Sides {
  readonly sent: JsonObject;
  readonly requested: readonly JsonObject[];
  readonly shown: JsonObject;
  readonly returned: readonly JsonObject[];
  readonly pointer: string;
}

/** Omitted properties with a default that are returned with another value. */
function leftOut(
  harness: ResourceHarness,
  { sent, requested, shown, returned, pointer }: Sides,
): { readonly pointer: string; readonly source: JsonObject; readonly actual: unknown }[] {
  const { document } = harness;
  const names = requested.flatMap((one) => memberNames(document, one));
  return [...new Set(names)].flatMap((name) => {
    const [ofSent, ofShown] = [memberOf(document, requested, name), memberOf(document, returned, name)];
    const at = `${pointer}/${escapeSegment(name)}`;
    const [sentValue, got] = [sent[name], shown[name]];
    if (name in sent) {
      if (isObject(sentValue) && isObject(got))
        return leftOut(harness, { sent: sentValue, requested: ofSent, shown: got, returned: ofShown, pointer: at });
      const [first, other] = [sentValue, got].map((list) => (Array.isArray(list) ? (list[0] as unknown) : undefined));
      if (!isObject(first) || !isObject(other)) return [];
      const [items, rows] = [itemOf(document, ofSent), itemOf(document, ofShown)];
      return leftOut(harness, { sent: first, requested: items, shown: other, returned: rows, pointer: `${at}/0` });
    }
    const source = ofSent.flatMap((one) => partsOf(document, one)).find((part) => 'default' in part);
    if (source === undefined || ofShown.length === 0 || isServerOwned(name)) return [];
    const fallback = source.default;
    const isSignificant = !isObject(fallback) && !Array.isArray(fallback) && !isObject(got) && !Array.isArray(got);
    const isWithheld = hasFlag(document, [...ofSent, ...ofShown], 'writeOnly');
    const isNone = got === undefined && (isNothing(fallback) || fallback === false || fallback === 0);
    return !isSignificant || isWithheld || isNone || isSame(fallback, got, { name, isWord: true })
      ? []
      : [{ pointer: at, source, actual: got }];
  });
}
