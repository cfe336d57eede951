import { extensionOf, type Operation } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { Exchange } from '../../../http/call.ts';
import { escapeSegment, isObject, type JsonObject, put } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { idOf } from '../../../run/pool.ts';
import { View } from '../../../schema/view.ts';
import type { FullList } from '../lists/listing.ts';
import { type BehaviorCheck, type Difference, differ, need, text, valued } from '../observe.ts';
import { isGone, isNothing, isSame, isServerOwned, isSteady, ownId, resourceIn } from './compare.ts';
import { anyOf, innerView, memberAt, notKept, otherThanRead, type Side } from './effects.ts';
import { type Filling, locationIn, type Resource, type ResourceHarness } from './harness.ts';

type CreateCheck = BehaviorCheck<ResourceHarness>;

export const echo: CreateCheck = {
  name: 'echo',
  describe:
    'Created values are returned, in the response and when the resource is read; two values of booleans and enums.',
  applies: ({ resourceType }) => extensionOf(resourceType.create.node).echo !== false,
  run: (harness, label) =>
    anyOf(
      () => echoOf(harness, `${label} known`, 'known'),
      () => echoOf(harness, `${label} varied`, 'varied'),
    ),
};

async function echoOf(harness: ResourceHarness, label: string, filling: Filling): Promise<Difference[]> {
  const { document, resourceType } = harness;
  const { create, read, hasCertainRead } = resourceType;
  const resource = need(await harness.create(label, filling));
  const { created, body } = resource;
  need(created.response.status === 202 ? undefined : true);
  const sent = { value: resource.sent, view: View.ofRequest(document, create) };
  const returned = { row: body, view: View.ofResponse(document, create, created.response.status), isPartial: true };
  const found = notKept('create-echo', create, sent, returned, [created]);
  // Without a read, another check covers resources that are missing from their list.
  const exchange = await readWithRetry(harness, resource);
  if (exchange !== undefined && isGone(exchange)) {
    // More than names must indicate that a created resource can be read.
    const isReadable = hasCertainRead || harness.isReadable || (read && locationIn(read, created) !== undefined);
    const facts = { actual: responseText(exchange), exchanges: [created, exchange] };
    const expected = `${read?.id} returns ${text(resource.id)}`;
    return isReadable === true ? [...found, differ('create-lost', create, '', { expected, ...facts })] : found;
  }
  const isRead = exchange !== undefined && isSuccess(exchange) && isObject(exchange.response.json?.value);
  const listed = read === undefined ? await harness.shown(resource) : undefined;
  const shown = isRead
    ? { row: resourceIn(exchange), view: View.ofResponse(document, read, exchange.response.status) }
    : listed && { row: listed.row, view: View.of(document, listed.schema) };
  if (shown === undefined) return found;
  const exchanges = [created, exchange ?? listed?.exchange];
  const others = isRead ? otherThanRead('create-response', create, returned, shown, exchanges) : [];
  return [
    ...found,
    ...notKept('create-lost', create, sent, shown, exchanges),
    ...others.filter(({ about }) => isSteady(about) && !(about in resource.sent)),
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
  applies: ({ document, resourceType }) => !View.ofRequest(document, resourceType.create).isEmpty,
  run: (harness, label) =>
    anyOf(
      async () => defaultsIn(harness, need(await harness.create(label, 'least'))),
      async () => defaultsIn(harness, need(await harness.create(`${label} known`))),
    ),
};

async function defaultsIn(harness: ResourceHarness, resource: Resource): Promise<Difference[]> {
  const { document, resourceType } = harness;
  const { create, read } = resourceType;
  const shown = await harness.shown(resource);
  const row = shown?.row ?? resource.body;
  const ofResponse = View.ofResponse(document, shown === undefined ? create : (read ?? create));
  const view = innerView(shown?.schema === undefined ? ofResponse : View.of(document, shown.schema), row);
  const sent = { value: resource.sent, view: View.ofRequest(document, create) };
  return (
    leftOut(sent, { value: row, view }, '')
      // A default applies only if the branch has the property.
      .filter(({ pointer, source }) => harness.accepts(create, put(resource.sent, pointer, source.default)))
      .map(({ pointer, source, actual }) => {
        const name = memberAt(pointer);
        const exchanges = [resource.created, shown?.exchange];
        const facts = { ...valued(name, source.default, actual), node: source, exchanges };
        return differ('create-default', create, name, facts);
      })
  );
}

interface LeftOut {
  readonly pointer: string;
  readonly source: JsonObject;
  readonly actual: unknown;
}

/** Omitted properties with a default that are returned with another value. */
function leftOut(sent: Side, shown: Side, pointer: string): LeftOut[] {
  const [own, got] = [sent.value, shown.value];
  if (Array.isArray(own) && Array.isArray(got)) {
    const items = { view: sent.view.items };
    return leftOut({ value: own[0], ...items }, { value: got[0], view: shown.view.items }, `${pointer}/0`);
  }
  if (!isObject(own) || !isObject(got)) return [];
  return sent.view.names.flatMap((name): LeftOut[] => {
    const [left, right] = [sent.view.member(name), shown.view.member(name)];
    const at = `${pointer}/${escapeSegment(name)}`;
    if (name in own) return leftOut({ value: own[name], view: left }, { value: got[name], view: right }, at);
    const source = left.parts.find((part) => 'default' in part);
    if (source === undefined || right.isEmpty || isServerOwned(name)) return [];
    const [fallback, actual] = [source.default, got[name]];
    const isComposite = [fallback, actual].some((value) => typeof value === 'object' && value !== null);
    const isWithheld = left.has('writeOnly') || right.has('writeOnly');
    const isNone = actual === undefined && (isNothing(fallback) || fallback === false || fallback === 0);
    return isComposite || isWithheld || isNone || isSame(fallback, actual, { name, isWord: true })
      ? []
      : [{ pointer: at, source, actual }];
  });
}

export function listed(list: Operation): CreateCheck {
  return {
    name: `list ${list.id}`,
    describe: 'A created resource appears in the list, and the total counts it.',
    async run(harness, label) {
      const { create, kind } = harness.resourceType;
      const before = need(await harness.list(list));
      if (!(await isSameKind(harness, list, before))) return undefined;
      const resource = need(await harness.create(label));
      if (resource.id === undefined || resource.created.response.status === 202) return undefined;
      const after = need(await harness.list(list));
      const exchanges = [resource.created, after.exchange];
      const isIn = after.rows.some((row) => harness.isOf(resource, row));
      // A server that issues one ID twice fails when the first resource is read.
      if (before.rows.some((row) => harness.isOf(resource, row))) return undefined;
      const isShown = async () => (await harness.shown(resource))?.row ?? resource.body;
      if (!isIn && after.isComplete && !mayBeHidden(await isShown(), list, before)) {
        const expected = `a row with the ${kind} ${text(resource.id)} in ${list.id}`;
        const actual = `${after.rows.length} rows, none with it`;
        return [differ('create-not-listed', create, list.id, { expected, actual, node: list.node, exchanges })];
      }
      const [was, is] = [before.total, after.total];
      if (was === undefined || !isIn || is !== was || was > 5000) return [];
      const facts = { expected: String(was + 1), actual: String(is), exchanges: [before.exchange, ...exchanges] };
      return [differ('create-total', list, create.id, facts)];
    },
  };
}

/** Whether the rows can be read by ID as resources of this type. A list at the path of the create operation qualifies. */
async function isSameKind(harness: ResourceHarness, list: Operation, { rows }: FullList): Promise<boolean> {
  const { collection, read } = harness.resourceType;
  if (list.path === collection) return true;
  const [row] = rows;
  // Without a read, the type of the rows is unknown.
  if (read === undefined || row === undefined || !harness.isReadable) return false;
  const id = ownId(row);
  const resource = id === undefined ? undefined : await harness.create('of the same kind');
  const other = resource && (await harness.read({ ...resource, id }));
  return other !== undefined && isSuccess(other);
}

/** Whether a list may exclude the resource because of a filter with a default, or of a status or flag that no row has. */
function mayBeHidden(row: JsonObject, { parameters }: Operation, { rows, rowSchema }: FullList): boolean {
  const isFiltered = parameters.some(
    ({ in: place, name, schema }) =>
      place === 'query' && schema.default !== undefined && Object.hasOwn(row, name) && row[name] !== schema.default,
  );
  const isState = (name: string, value: unknown) =>
    typeof value === 'boolean' || /status|state|visib|publish|archiv|deleted/i.test(name);
  const isNew = (name: string, value: unknown) =>
    rows.every((other) => JSON.stringify(other[name]) !== JSON.stringify(value));
  return (
    isFiltered ||
    (rowSchema !== undefined && Object.entries(row).some(([name, value]) => isState(name, value) && isNew(name, value)))
  );
}

export const location: CreateCheck = {
  name: 'location',
  describe: '`Location` leads to the created resource, or to the status of its creation.',
  async run(harness, label) {
    const { session, resourceType } = harness;
    const { create } = resourceType;
    const resource = need(await harness.create(label));
    const { response, request } = resource.created;
    const target = need(response.headers.location);
    if (!URL.canParse(target, request.url)) return undefined;
    const { pathname, search } = new URL(target, request.url);
    const path = `${session.below(pathname)}${search}`;
    const there = await session.sendRaw({ method: 'GET', target: path, headers: { accept: '*/*' }, body: undefined });
    const isIt =
      resource.id === undefined ||
      !isObject(there.response.json?.value) ||
      idOf(resourceIn(there)) === undefined ||
      harness.isOf(resource, resourceIn(there)) ||
      there.response.text.includes(String(resource.id));
    if (!isGone(there) && (!isSuccess(there) || response.status === 202 || isIt)) return [];
    const declared = create.responses.find((one) => one.status === String(response.status));
    const node = declared?.headers.find(({ name }) => name.toLowerCase() === 'location')?.node;
    const facts = { expected: `${target} returns ${text(resource.id)}`, actual: responseText(there), node };
    return [differ('location', create, '', { ...facts, exchanges: [resource.created, there] })];
  },
};
