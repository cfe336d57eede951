import { extensionOf } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { Exchange } from '../../../http/call.ts';
import { escapeSegment, isObject, type JsonObject, put } from '../../../json.ts';
import { general } from '../../../judge/judge.ts';
import { isSuccess } from '../../../run/baseline.ts';
import {
  hasFlag,
  itemOf,
  memberNames,
  memberOf,
  partsOf,
  requestSchema,
  responseSchema,
} from '../../../schema/parts.ts';
import { type BehaviorCheck, type Difference, differ, text, valued } from '../observe.ts';
import {
  isGone,
  isNothing,
  isSame,
  isScalar,
  isServerOwned,
  isSteady,
  resourceIn,
  type Unlike,
  unlikes,
} from './compare.ts';
import { type Filling, locationIn, type Resource, type ResourceHarness } from './harness.ts';

type CreateCheck = BehaviorCheck<ResourceHarness>;

/** The name of a part of a body: `lines.*.price`. */
export function memberAt(pointer: string): string {
  return general(pointer).slice(1).replaceAll('/', '.');
}

/** One difference for each check and part. */
export function once(found: readonly Difference[]): Difference[] {
  return [...new Map(found.map((one) => [`${one.check} ${one.operation.id} ${one.about}`, one])).values()];
}

export const echo: CreateCheck = {
  name: 'echo',
  describe:
    'Created values are returned, in the response and when the resource is read; two values of booleans and enums.',
  applies: ({ resourceType }) => extensionOf(resourceType.create.node).echo !== false,
  async run(harness, label) {
    const known = await echoOf(harness, `${label} known`, 'known');
    const varied = await echoOf(harness, `${label} varied`, 'varied');
    return (known ?? varied) && once([...(known ?? []), ...(varied ?? [])]);
  },
};

async function echoOf(harness: ResourceHarness, label: string, filling: Filling): Promise<Difference[] | undefined> {
  const { create, read } = harness.resourceType;
  const resource = await harness.create(label, filling);
  if (resource === undefined || resource.created.response.status === 202) return undefined;
  const { created, body } = resource;
  const inResponse = unlikesOf(harness, resource, body, responseSchema(create, created.response.status))
    // A response may omit stored properties.
    .filter((unlike) => unlike.shown !== undefined)
    .map(({ pointer, sent, shown, schema }) => {
      const name = memberAt(pointer);
      const title = `The response has another ${name} than the request`;
      return differ('create-echo', create, name, {
        title,
        ...valued(name, sent, shown),
        node: schema,
        exchanges: [created],
      });
    });
  if (read === undefined) {
    // Another check covers resources that are missing from their list.
    const shown = await harness.shown(resource);
    const stored = shown === undefined ? [] : unlikesOf(harness, resource, shown.row, shown.schema);
    return [...inResponse, ...stored.map((unlike) => notStored(harness, resource, unlike, shown?.exchange))];
  }
  const exchange = await readWithRetry(harness, resource);
  if (exchange === undefined) return inResponse;
  if (isGone(exchange)) {
    // More than names must indicate that a created resource can be read.
    const { hasCertainRead } = harness.resourceType;
    const isReadable = hasCertainRead || harness.isReadable || locationIn(read, created) !== undefined;
    const lost = differ('create-lost', create, '', {
      title: `A resource created by ${create.id} cannot be read`,
      expected: `${read.id} returns ${text(resource.id)}`,
      actual: responseText(exchange),
      exchanges: [created, exchange],
    });
    return isReadable ? [...inResponse, lost] : inResponse;
  }
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
  const schemas = innerSchemas(harness, schema, shown);
  return unlikes(harness.document, { value: sent, schemas: [request] }, { value: shown, schemas });
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

function notStored(
  { resourceType: { create } }: ResourceHarness,
  resource: Resource,
  { pointer, sent, shown, schema }: Unlike,
  exchange: Exchange | undefined,
): Difference {
  const name = memberAt(pointer);
  return differ('create-lost', create, name, {
    title: isNothing(shown) ? `${name} is not stored` : `${name} is not stored as sent`,
    ...valued(name, sent, shown),
    node: schema,
    exchanges: [resource.created, exchange],
  });
}

/** Reports properties whose value in the create response differs from a later read. */
function otherThanReturned(
  harness: ResourceHarness,
  resource: Resource,
  row: JsonObject,
  exchange: Exchange,
): Difference[] {
  const { document } = harness;
  const { create, read } = harness.resourceType;
  const [before, after] = [responseSchema(create, resource.created.response.status), read && responseSchema(read)];
  if (before === undefined || after === undefined) return [];
  return memberNames(document, before)
    .filter((name) => memberOf(document, [after], name).length > 0 && isSteady(name) && !(name in resource.sent))
    .filter((name) => isScalar(resource.body[name]) && isScalar(row[name]))
    .filter((name) => !isSame(resource.body[name], row[name], { name }))
    .map((name) =>
      differ('create-response', create, name, {
        title: `${create.id} returns another ${name} than a read after it`,
        ...valued(name, row[name], resource.body[name]),
        node: memberOf(document, [before], name)[0],
        exchanges: [resource.created, exchange],
      }),
    );
}

/** Some servers are eventually consistent. */
async function readWithRetry(harness: ResourceHarness, resource: Resource): Promise<Exchange | undefined> {
  const read = await harness.read(resource);
  if (read === undefined || !isGone(read)) return read;
  await new Promise((resolve) => setTimeout(resolve, 300));
  return harness.read(resource);
}

export const defaults: CreateCheck = {
  name: 'default',
  describe: 'Omitted properties get their defaults, also in nested objects.',
  applies: ({ resourceType }) => requestSchema(resourceType.create) !== undefined,
  async run(harness, label) {
    const least = await defaultsIn(harness, await harness.create(label, 'least'));
    const known = await defaultsIn(harness, await harness.create(`${label} known`));
    return (least ?? known) && once([...(least ?? []), ...(known ?? [])]);
  },
};

async function defaultsIn(harness: ResourceHarness, resource: Resource | undefined): Promise<Difference[] | undefined> {
  const { create, read } = harness.resourceType;
  const schema = requestSchema(create);
  if (resource === undefined || schema === undefined) return undefined;
  const shown = await harness.shown(resource);
  const row = shown?.row ?? resource.body;
  const response = shown?.schema ?? responseSchema(shown === undefined ? create : (read ?? create));
  const returned = response === undefined ? [] : innerSchemas(harness, response, row);
  // A default applies only if the branch has the property.
  const isValid = ({ pointer, source }: LeftOut) =>
    harness.session.validators.accepts(schema, put(resource.sent, pointer, source.default), 'request');
  return leftOut(harness, { sent: resource.sent, requested: [schema], shown: row, returned, pointer: '' })
    .filter(isValid)
    .map(({ pointer, source, actual }) => {
      const name = memberAt(pointer);
      return differ('create-default', create, name, {
        title: `${name} does not get its default if it is omitted`,
        ...valued(name, source.default, actual),
        node: source,
        exchanges: [resource.created, shown?.exchange],
      });
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

interface LeftOut {
  readonly pointer: string;
  readonly source: JsonObject;
  readonly actual: unknown;
}

/** Omitted properties with a default that are returned with another value. */
function leftOut(harness: ResourceHarness, { sent, requested, shown, returned, pointer }: Sides): LeftOut[] {
  const { document } = harness;
  const names = new Set(requested.flatMap((one) => memberNames(document, one)));
  return [...names].flatMap((name): LeftOut[] => {
    const [ofSent, ofShown] = [memberOf(document, requested, name), memberOf(document, returned, name)];
    const at = `${pointer}/${escapeSegment(name)}`;
    const [own, got] = [sent[name], shown[name]];
    if (name in sent) {
      const inner = { requested: ofSent, returned: ofShown };
      if (isObject(own) && isObject(got)) return leftOut(harness, { sent: own, shown: got, ...inner, pointer: at });
      const [first, other] = [own, got].map((list) => (Array.isArray(list) ? (list[0] as unknown) : undefined));
      if (!isObject(first) || !isObject(other)) return [];
      const items = { requested: itemOf(document, ofSent), returned: itemOf(document, ofShown) };
      return leftOut(harness, { sent: first, shown: other, ...items, pointer: `${at}/0` });
    }
    const source = ofSent.flatMap((one) => partsOf(document, one)).find((part) => 'default' in part);
    if (source === undefined || ofShown.length === 0 || isServerOwned(name)) return [];
    const fallback = source.default;
    const isComposite = [fallback, got].some((value) => typeof value === 'object' && value !== null);
    const isWithheld = hasFlag(document, [...ofSent, ...ofShown], 'writeOnly');
    const isNone = got === undefined && (isNothing(fallback) || fallback === false || fallback === 0);
    return isComposite || isWithheld || isNone || isSame(fallback, got, { name, isWord: true })
      ? []
      : [{ pointer: at, source, actual: got }];
  });
}
