import { extensionOf } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { Exchange } from '../../../http/call.ts';
import { escapeSegment, isObject, type JsonObject, put } from '../../../json.ts';
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
import { isGone, isNothing, isSame, isServerOwned, isSteady, resourceIn } from './compare.ts';
import { innerSchemas, memberAt, notKept, once, otherThanRead } from './effects.ts';
import { type Filling, locationIn, type Resource, type ResourceHarness } from './harness.ts';

type CreateCheck = BehaviorCheck<ResourceHarness>;

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
  const { document } = harness;
  const { create, read, hasCertainRead } = harness.resourceType;
  const resource = await harness.create(label, filling);
  if (resource === undefined || resource.created.response.status === 202) return undefined;
  const { created, sent, body } = resource;
  const returned = { row: body, schema: responseSchema(create, created.response.status), isPartial: true };
  const found = notKept(document, 'create-echo', create, sent, returned, [created]);
  // Without a read, another check covers resources that are missing from their list.
  const exchange = await readWithRetry(harness, resource);
  const listed = read === undefined ? await harness.shown(resource) : undefined;
  if (exchange !== undefined && isGone(exchange)) {
    // More than names must indicate that a created resource can be read.
    const isReadable =
      hasCertainRead || harness.isReadable || (read && locationIn(read, created) !== undefined) === true;
    const facts = { actual: responseText(exchange), exchanges: [created, exchange] };
    return isReadable
      ? [
          ...found,
          differ('create-lost', create, '', { expected: `${read?.id} returns ${text(resource.id)}`, ...facts }),
        ]
      : found;
  }
  const isRead = exchange !== undefined && isSuccess(exchange) && isObject(exchange.response.json?.value);
  const shown = isRead
    ? { row: resourceIn(exchange), schema: read && responseSchema(read, exchange.response.status) }
    : listed && { row: listed.row, schema: listed.schema };
  if (shown === undefined) return found;
  const exchanges = [created, exchange ?? listed?.exchange];
  return [
    ...found,
    ...notKept(document, 'create-lost', create, sent, shown, exchanges),
    ...(isRead ? otherThanRead(document, 'create-response', create, returned, shown, exchanges) : []).filter(
      ({ about }) => isSteady(about) && !(about in sent),
    ),
  ];
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
  const returned = response === undefined ? [] : innerSchemas(harness.document, response, row);
  // A default applies only if the branch has the property.
  const isValid = ({ pointer, source }: LeftOut) =>
    harness.session.validators.accepts(schema, put(resource.sent, pointer, source.default), 'request');
  return leftOut(harness, { sent: resource.sent, requested: [schema], shown: row, returned, pointer: '' })
    .filter(isValid)
    .map(({ pointer, source, actual }) => {
      const name = memberAt(pointer);
      const exchanges = [resource.created, shown?.exchange];
      return differ('create-default', create, name, {
        ...{ ...valued(name, source.default, actual), node: source, exchanges },
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
