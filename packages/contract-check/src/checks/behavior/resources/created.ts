import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { extensionOf, type Operation, type Parameter } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { lastParameter } from '../../../run/names.ts';
import { idOf } from '../../../run/pool.ts';
import { View } from '../../../schema/view.ts';
import { readCollection } from '../lists/listing.ts';
import { type BehaviorCheck, type Difference, differ, ifSeen, need, text } from '../observe.ts';
import { isGone, isSame, resourceIn } from './compare.ts';
import { once } from './effects.ts';
import type { ResourceHarness } from './harness.ts';
import type { Updating } from './updating.ts';

/** Checks of what else a creation does: idempotency keys, uniqueness, read-only properties, parents. */

type CreateCheck = BehaviorCheck<ResourceHarness>;

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
    const { create, list } = harness.resourceType;
    const { session } = harness;
    const parameter = need(keyOf(create));
    const call = need(await harness.callTo(create, label));
    // Random, because servers remember keys of earlier runs.
    const keys = [randomUUID(), randomUUID().replaceAll('-', ''), `k${randomUUID().slice(0, 8)}`];
    const key = need(keys.find((one) => session.validators.accepts(parameter.schema, one, 'request')));
    const send = (one: Call) => session.send({ ...one, headers: { ...one.headers, [parameter.name]: key } });
    const first = await send(call);
    if (!isSuccess(first)) return undefined;
    const listing = async () => list && (await readCollection(harness.context, list, call.path));
    const before = await listing();
    const replay = await send(call);
    const after = await listing();
    const idIn = (exchange: Exchange) => idOf(resourceIn(exchange));
    const isOther = (exchange: Exchange) =>
      idIn(first) !== undefined && idIn(exchange) !== undefined && String(idIn(first)) !== String(idIn(exchange));
    const differs = (check: CheckName, last: Exchange, expected?: string): Difference[] => {
      const shown = (one: Exchange) => `${one.response.status} ${text(idIn(one))}`;
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
    const isDeclared = extensionOf(parameter.node).reused === false;
    const isRejected = isDeclared || create.responses.some((one) => one.status === '422');
    if (fresh === undefined || !isRejected || isDeepStrictEqual(fresh.body, call.body)) return [];
    const reused = await send(fresh);
    // A server may also return the first response again, unless the contract says that it does not.
    const isReused = isSuccess(reused) && (isDeclared || isOther(reused));
    return isReused ? differs('key-reused', reused, '409 or 422') : [];
  },
};

/** The properties that `x-contract-check` declares as unique. */
function uniqueNames({ document, resourceType }: ResourceHarness): string[] {
  const view = View.ofRequest(document, resourceType.create);
  return view.names.filter((name) => view.member(name).states('unique', true));
}

export const unique: CreateCheck = {
  name: 'unique',
  describe: 'Unique values are rejected a second time, in create and update requests.',
  applies: (harness) => uniqueNames(harness).length > 0,
  async run(harness, label) {
    const { create, updates } = harness.resourceType;
    const created = await harness.createAndRead(label);
    const found: Difference[] = [];
    for (const name of uniqueNames(harness).filter((one) => typeof created.resource.sent[one] === 'string')) {
      const used = created.resource.sent[name];
      const twice = (operation: Operation, exchange: Exchange) =>
        differ('unique-ignored', operation, name, {
          expected: `an error for ${text(used)}, which already exists`,
          actual: responseText(exchange),
          node: View.ofRequest(harness.document, operation).member(name).node,
          exchanges: [created.resource.created, exchange],
        });
      const second = await harness.callTo(create, `${label} second`);
      if (!isObject(second?.body)) continue;
      const exchange = await harness.session.send({ ...second, body: { ...second.body, [name]: used } });
      const id = isSuccess(exchange) ? harness.resourceOf(second, exchange).id : undefined;
      if (id !== undefined && id !== created.resource.id) found.push(twice(create, exchange));
      const update = updates.find(({ method }) => method === 'PATCH');
      if (update === undefined || !harness.accepts(update, { [name]: used })) continue;
      const other = await ifSeen(() => harness.createAndRead(`${label} other ${name}`));
      if (other === undefined) continue;
      const changed = await ifSeen(() => harness.change(update, other.resource, { [name]: used }));
      const after = changed && isSuccess(changed) ? await harness.shown(other.resource) : undefined;
      if (changed && after?.row[name] === used) found.push(twice(update, changed));
    }
    return found;
  },
};

/** Values of read-only properties that differ from those that the server sets. */
function forgedFor({ document, session }: ResourceHarness, operation: Operation, label: string, usual: JsonObject) {
  const view = View.ofRequest(document, operation);
  const entries = view.names.map((name) => {
    const { target } = view.member(name);
    const samples = [0, 1, 2, 3].map((turn) =>
      target && view.member(name).has('readOnly')
        ? session.values.sample(target, 'response', 'some', session.seedFor(`${operation.id} ${label} owned ${turn}`))
            ?.value
        : undefined,
    );
    return [name, samples.find((value) => !isSame(value, usual[name], { name }))] as const;
  });
  const forged = Object.fromEntries(entries.filter(([, value]) => ['string', 'number'].includes(typeof value)));
  return need(Object.keys(forged).length === 0 ? undefined : forged);
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
      const { node } = View.ofRequest(document, operation).member(name);
      const actual = `${name}: ${text(value)}, as sent`;
      return differ('read-only-accepted', operation, name, { actual, node, exchanges });
    });
}

export const ownedInCreation: CreateCheck = {
  name: 'owned',
  describe: 'A create request cannot set read-only properties.',
  async run(harness, label) {
    const { create } = harness.resourceType;
    const call = await harness.callTo(create, label);
    const usual = need(await harness.create(`${label} usual`));
    const forged = forgedFor(harness, create, label, (await harness.shown(usual))?.row ?? usual.body);
    if (!isObject(call?.body)) return undefined;
    const created = await harness.session.send({ ...call, body: { ...call.body, ...forged } });
    if (!isSuccess(created)) return [];
    const resource = harness.resourceOf(call, created);
    const shown = await harness.shown(resource);
    return applied(harness, create, forged, shown?.row ?? resource.body, [created, shown?.exchange]);
  },
};

export const ownedInChange: BehaviorCheck<Updating> = {
  name: 'owned',
  describe: 'An update cannot set read-only properties.',
  async run(updating, label) {
    const { harness, update } = updating;
    const created = await harness.createAndRead(label);
    const forged = forgedFor(harness, update, label, created.row);
    const [right] = updating.changes(created, label);
    const response = right && (await updating.send(created.resource, { ...right, ...forged }));
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
    const { resource } = await harness.createAndRead(label);
    const known = harness.session.pool.forParameter(create, parent, false).likely;
    const others = known.filter((value) => String(value) !== String(resource.call.path[parent]));
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
