import { randomUUID } from 'node:crypto';
import { extensionOf, type Operation, type Parameter } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { isOwnId, lastParameter } from '../../../run/names.ts';
import { idOf } from '../../../run/pool.ts';
import { extensionsIn, hasFlag, memberNames, memberOf, requestSchema, targetOf } from '../../../schema/parts.ts';
import { type BehaviorCheck, type Difference, differ, text } from '../observe.ts';
import { changesOf } from './bodies.ts';
import { type Collection, readCollection } from './collection.ts';
import { isGone, isSame, resourceIn } from './compare.ts';
import { once } from './effects.ts';
import type { Resource, ResourceHarness } from './harness.ts';

/** Checks of what else a creation does: lists, `Location`, idempotency keys, uniqueness, read-only properties, parents. */

type CreateCheck = BehaviorCheck<ResourceHarness>;

export function listed(list: Operation): CreateCheck {
  return {
    name: `list ${list.id}`,
    describe: 'A created resource appears in the list with a new ID, and the total counts it.',
    async run(harness, label) {
      const { create, kind } = harness.resourceType;
      const before = await harness.list(list);
      if (before === undefined || !(await isSameKind(harness, list, before))) return undefined;
      const resource = await harness.create(label);
      if (resource?.id === undefined || resource.created.response.status === 202) return undefined;
      const after = await harness.list(list);
      if (after === undefined) return undefined;
      const exchanges = [resource.created, after.exchange];
      const isIn = after.rows.some((row) => harness.isOf(resource, row));
      if (before.rows.some((row) => harness.isOf(resource, row)))
        return [differ('create-same-id', create, '', { actual: text(resource.id), exchanges })];
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
async function isSameKind(harness: ResourceHarness, list: Operation, { rows }: Collection): Promise<boolean> {
  const { collection, read } = harness.resourceType;
  if (list.path === collection) return true;
  const [row] = rows;
  // Without a read, the type of the rows is unknown.
  if (read === undefined || row === undefined || !harness.isReadable) return false;
  const id = row[Object.keys(row).find(isOwnId) ?? ''];
  const resource = id === undefined ? undefined : await harness.create('of the same kind');
  const other = resource && (await harness.read({ ...resource, id }));
  return other !== undefined && isSuccess(other);
}

/** Whether a list may exclude the resource because of a filter with a default, or of a status or flag that no row has. */
function mayBeHidden(row: JsonObject, { parameters }: Operation, { rows, rowSchema }: Collection): boolean {
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
    const { create } = harness.resourceType;
    const { session } = harness;
    const resource = await harness.create(label);
    const target = resource?.created.response.headers.location;
    if (resource === undefined || target === undefined || !URL.canParse(target, resource.created.request.url))
      return undefined;
    const { pathname, search } = new URL(target, resource.created.request.url);
    const wire = {
      method: 'GET',
      target: `${session.below(pathname)}${search}`,
      headers: { accept: '*/*' },
      body: undefined,
    };
    const there = await session.sendRaw(wire);
    const { status } = resource.created.response;
    const declared = create.responses.find((one) => one.status === String(status));
    const isIt =
      resource.id === undefined ||
      !isObject(there.response.json?.value) ||
      harness.isOf(resource, resourceIn(there)) ||
      there.response.text.includes(String(resource.id));
    if (!isGone(there) && (!isSuccess(there) || status === 202 || isIt)) return [];
    const node = declared?.headers.find(({ name }) => name.toLowerCase() === 'location')?.node;
    const facts = { expected: `${target} returns ${text(resource.id)}`, actual: responseText(there), node };
    return [differ('location', create, '', { ...facts, exchanges: [resource.created, there] })];
  },
};

/** The idempotency key parameter of an operation. */
function keyOf({ method, parameters }: Operation): Parameter | undefined {
  const isKey = ({ in: place, name }: Parameter) => place === 'header' && /^(?:x-)?idempotency-?key$/i.test(name);
  return method === 'GET' ? undefined : parameters.find(isKey);
}

export const idempotency: CreateCheck = {
  name: 'key',
  describe: 'A repeated request with the same key returns the same response and creates nothing.',
  applies: ({ resourceType: { create } }) =>
    keyOf(create) !== undefined && extensionOf(create.node).idempotent !== false,
  async run(harness, label) {
    const { create, lists, collection } = harness.resourceType;
    const { session } = harness;
    const list = lists.find((one) => one.path === collection);
    const parameter = keyOf(create);
    const call = await harness.callTo(create, label);
    // Random, because servers remember keys of earlier runs.
    const newKey = () =>
      [randomUUID(), randomUUID().replaceAll('-', ''), `k${randomUUID().slice(0, 8)}`].find((one) =>
        session.validators.accepts(parameter?.schema ?? {}, one, 'request'),
      );
    const [key, other] = [newKey(), newKey()];
    if (call === undefined || key === undefined || other === undefined || parameter === undefined) return undefined;
    const send = (one: typeof call, value: string) =>
      session.send({ ...one, headers: { ...one.headers, [parameter.name]: value } });
    const first = await send(call, key);
    if (!isSuccess(first)) return undefined;
    const listing = async () => list && (await readCollection(harness.context, list, call.path));
    const before = await listing();
    const replay = await send(call, key);
    const after = await listing();
    const ids = (exchange: Exchange) => idOf(resourceIn(exchange));
    const isOther = (exchange: Exchange) =>
      ids(first) !== undefined && ids(exchange) !== undefined && String(ids(first)) !== String(ids(exchange));
    const differs = (check: CheckName, last: Exchange, expected?: string): Difference[] => {
      const shown = ({ response }: Exchange) => `${response.status} ${text(ids({ ...first, response }))}`;
      const facts = { actual: `${shown(first)}, then ${shown(last)}`, node: parameter.node, exchanges: [first, last] };
      return [differ(check, create, '', expected === undefined ? facts : { expected, ...facts })];
    };
    const { status } = replay.response;
    if (!isSuccess(replay))
      return [401, 403, 425, 429].includes(status) || status >= 500 ? [] : differs('key-rejected', replay);
    if (isOther(replay)) return differs('key-another', replay);
    if (before?.isComplete === true && after?.isComplete === true && after.rows.length > before.rows.length)
      return differs('key-twice', replay, `${before.rows.length} rows in ${list?.id}, not ${after.rows.length}`);
    const fresh = await harness.callTo(create, `${label} other`);
    if (fresh === undefined) return [];
    const isDeclared = extensionOf(parameter.node).reused === false;
    const isRejected = isDeclared || create.responses.some((one) => one.status === '422');
    const isOtherBody = JSON.stringify(fresh.body) !== JSON.stringify(call.body);
    const reused = isRejected && isOtherBody ? await send(fresh, key) : undefined;
    const separate = await send(fresh, other);
    // A server may also return the first response again, unless the contract says that it does not.
    const isReused = reused !== undefined && isSuccess(reused) && (isDeclared || isOther(reused));
    const isMixed = isSuccess(separate) && ids(first) !== undefined && !isOther(separate);
    return [
      ...(isReused ? differs('key-reused', reused, '409 or 422') : []),
      ...(isMixed ? differs('key-mixed', separate) : []),
    ];
  },
};

/** The properties that `x-contract-check` declares as unique. */
function uniqueNames({ document, resourceType }: ResourceHarness): string[] {
  const schema = requestSchema(resourceType.create);
  return memberNames(document, schema).filter((name) =>
    extensionsIn(document, memberOf(document, [schema ?? {}], name)).some(({ unique: is }) => is === true),
  );
}

export const unique: CreateCheck = {
  name: 'unique',
  describe: 'Unique values are rejected a second time, in create and update requests.',
  applies: (harness) => uniqueNames(harness).length > 0,
  async run(harness, label) {
    const { create, updates } = harness.resourceType;
    const created = await harness.createAndRead(label);
    if (created === undefined) return undefined;
    const found: Difference[] = [];
    for (const name of uniqueNames(harness).filter((one) => typeof created.resource.sent[one] === 'string')) {
      const used = created.resource.sent[name];
      const twice = (operation: Operation, exchange: Exchange) =>
        differ('unique-ignored', operation, name, {
          expected: `an error for ${text(used)}, which already exists`,
          actual: responseText(exchange),
          node: memberOf(harness.document, [requestSchema(operation) ?? {}], name)[0],
          exchanges: [created.resource.created, exchange],
        });
      const second = await harness.callTo(create, `${label} second`);
      if (!isObject(second?.body)) continue;
      const exchange = await harness.session.send({ ...second, body: { ...second.body, [name]: used } });
      const id = isSuccess(exchange) ? harness.resourceOf(second, exchange).id : undefined;
      if (id !== undefined && id !== created.resource.id) found.push(twice(create, exchange));
      const update = updates.find(({ method }) => method === 'PATCH');
      const schema = update && requestSchema(update);
      if (update === undefined || !schema || !harness.session.validators.accepts(schema, { [name]: used }, 'request'))
        continue;
      const other = await harness.createAndRead(`${label} other ${name}`);
      const changed = other && (await harness.change(update, other.resource, { [name]: used }));
      const after = other && changed && isSuccess(changed) ? await harness.shown(other.resource) : undefined;
      if (changed !== undefined && after?.row[name] === used) found.push(twice(update, changed));
    }
    return found;
  },
};

/** Values of read-only properties that differ from those that the server sets. */
function forgedFor(
  { document, session }: ResourceHarness,
  operation: Operation,
  label: string,
  usual: JsonObject,
): JsonObject {
  const schema = requestSchema(operation);
  const entries = memberNames(document, schema).flatMap((name) => {
    const members = memberOf(document, [schema ?? {}], name);
    const target = hasFlag(document, members, 'readOnly') ? targetOf(document, members) : undefined;
    const samples = [0, 1, 2, 3].map(
      (turn) =>
        target &&
        session.values.sample(target, 'response', 'some', session.seedFor(`${operation.id} ${label} owned ${turn}`))
          ?.value,
    );
    return [[name, samples.find((value) => !isSame(value, usual[name], { name }))] as const];
  });
  return Object.fromEntries(entries.filter(([, value]) => ['string', 'number'].includes(typeof value)));
}

function applied(
  { document }: ResourceHarness,
  operation: Operation,
  forged: JsonObject,
  row: JsonObject,
  exchanges: Difference['exchanges'],
): Difference[] {
  return Object.entries(forged)
    .filter(([name, value]) => row[name] === value)
    .map(([name, value]) => {
      const [node] = memberOf(document, [requestSchema(operation) ?? {}], name);
      return differ('read-only-accepted', operation, name, {
        ...{ actual: `${name}: ${text(value)}, as sent`, node, exchanges },
      });
    });
}

export const ownedInCreation: CreateCheck = {
  name: 'owned',
  describe: 'A create request cannot set read-only properties.',
  async run(harness, label) {
    const { create } = harness.resourceType;
    const call = await harness.callTo(create, label);
    const usual = await harness.create(`${label} usual`);
    const forged = usual && forgedFor(harness, create, label, (await harness.shown(usual))?.row ?? usual.body);
    if (forged === undefined || Object.keys(forged).length === 0 || !isObject(call?.body)) return undefined;
    const created = await harness.session.send({ ...call, body: { ...call.body, ...forged } });
    if (!isSuccess(created)) return [];
    const resource = harness.resourceOf(call, created);
    const shown = await harness.shown(resource);
    return applied(harness, create, forged, shown?.row ?? resource.body, [created, shown?.exchange]);
  },
};

export const ownedInChange: BehaviorCheck<{ harness: ResourceHarness; update: Operation }> = {
  name: 'owned',
  describe: 'An update cannot set read-only properties.',
  async run({ harness, update }, label) {
    const created = await harness.createAndRead(label);
    const forged = created && forgedFor(harness, update, label, created.row);
    if (created === undefined || forged === undefined || Object.keys(forged).length === 0) return undefined;
    const [right] = changesOf(harness, update, created, label);
    const response = right && (await harness.change(update, created.resource, { ...right, ...forged }));
    if (response === undefined || !isSuccess(response)) return [];
    const after = await harness.read(created.resource);
    // If the ID is not found anymore, the update changed it.
    const row = after !== undefined && isGone(after) ? forged : (await harness.shown(created.resource))?.row;
    return applied(harness, update, forged, row ?? {}, [response, after]);
  },
};

export const misplaced: CreateCheck = {
  name: 'elsewhere',
  describe: 'A nested resource is not returned below another parent.',
  applies: ({ resourceType }) => lastParameter(resourceType.collection) !== undefined,
  async run(harness, label) {
    const { collection, read, lists, create } = harness.resourceType;
    const parent = lastParameter(collection) ?? '';
    const resource: Resource | undefined = (await harness.createAndRead(label))?.resource;
    const known = harness.session.pool.forParameter(create, parent, false).likely;
    const others = known.filter((value) => String(value) !== String(resource?.call.path[parent]));
    if (resource === undefined || others.length === 0) return undefined;
    const found: Difference[] = [];
    let isSeen = false;
    const differs = (operation: Operation, exchange: Exchange | undefined) =>
      differ('found-elsewhere', operation, '', {
        expected: `404, or no row with ${text(resource.id)}`,
        actual: exchange === undefined ? '' : responseText(exchange),
        exchanges: [resource.created, exchange],
      });
    for (const other of others.slice(0, 2)) {
      const call = read && harness.callOn(read, resource);
      if (read !== undefined && call !== undefined && parent in call.path) {
        const there = await harness.session.send({ ...call, path: { ...call.path, [parent]: other } });
        isSeen = true;
        if (isSuccess(there) && harness.isOf(resource, resourceIn(there))) found.push(differs(read, there));
      }
      for (const list of lists.filter(({ path }) => path === collection)) {
        const rows = await readCollection(harness.context, list, { ...resource.call.path, [parent]: other });
        isSeen ||= rows !== undefined;
        if (rows?.rows.some((row) => harness.isOf(resource, row))) found.push(differs(list, rows.exchange));
      }
    }
    return isSeen ? once(found) : undefined;
  },
};
