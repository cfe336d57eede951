import type { Operation, Parameter } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { type BehaviorCheck, type Difference, differ, need, needs, text } from '../observe.ts';
import { isGone, isScalar } from './compare.ts';
import { anyOf } from './effects.ts';
import type { Created, ResourceHarness, Shown } from './harness.ts';
import { declares } from './resource-types.ts';
import { Updating } from './updating.ts';

/** Checks of ETags and preconditions (RFC 9110, 13.1). */

/** A time before any change. */
const longAgo = 'Thu, 01 Jan 1998 00:00:00 GMT';

const named = (operation: Operation | undefined, name: RegExp): Parameter | undefined =>
  operation?.parameters.find((one) => one.in === 'header' && name.test(one.name));

const statusesOf = (exchanges: readonly Exchange[]) =>
  exchanges.map(({ response }) => `${response.status} ${response.headers.etag ?? ''}`.trim()).join(', ');

const etagOf = (shown: Shown | undefined) => shown?.exchange.response.headers.etag;

export const tags: BehaviorCheck<Updating> = {
  name: 'tags',
  describe: 'An ETag is stable without changes, changes with every update, and protects updates with `If-Match`.',
  applies: ({ harness }) => harness.resourceType.read !== undefined,
  async run(updating, label) {
    const { created, found } = await tagged(updating.harness, label);
    if (found.length > 0) return found;
    const [first, ...others] = updating.changes(created, label);
    const second = others.find((body) => JSON.stringify(body) !== JSON.stringify(first)) ?? first;
    return first === undefined || second === undefined ? [] : guarded(updating, created, first, second);
  },
};

export const tagsOfRead: BehaviorCheck<ResourceHarness> = {
  name: 'tags',
  describe: 'An ETag is stable without changes.',
  run: async (harness, label) => (await tagged(harness, label)).found,
};

/** Creates a resource with an ETag, and reads it again. */
async function tagged(harness: ResourceHarness, label: string): Promise<{ created: Created; found: Difference[] }> {
  const read = need(harness.resourceType.read);
  const created = await harness.createAndRead(label);
  const etag = need(etagOf(created));
  const again = await harness.read(created.resource);
  const now = again?.response.headers.etag;
  const isMoved = now !== undefined && !isSameTag(now, etag) && again?.response.text === created.exchange.response.text;
  const moved = { expected: etag, actual: now ?? '', exchanges: [created.exchange, again] };
  const found = isMoved ? [differ('etag-moves', read, '', moved)] : [];
  if (declares(read, 304))
    found.push(...(await revalidated(harness, created, 'if-none-match', etag, '"of-no-version"')));
  return { created, found };
}

/** A conditional read returns 304 only for an unchanged resource. */
async function revalidated(
  harness: ResourceHarness,
  { resource, exchange }: Created,
  check: 'if-none-match' | 'if-modified-since',
  current: string,
  outdated: string,
): Promise<Difference[]> {
  const read = need(harness.resourceType.read);
  const node = named(read, new RegExp(`^${check}$`, 'i'))?.node;
  const same = await harness.read(resource, { headers: { [check]: current } });
  const other = await harness.read(resource, { headers: { [check]: outdated } });
  const differs = (about: string, expected: string, last: Exchange) =>
    differ(check, read, about, { expected, actual: statusesOf([last]), node, exchanges: [exchange, last] });
  return [
    ...(same && isSuccess(same) ? [differs('unchanged', '304, because the resource is unchanged', same)] : []),
    ...(other?.response.status === 304
      ? [differs('another version', '200, because the version is another', other)]
      : []),
  ];
}

export const readUnmodified: BehaviorCheck<ResourceHarness> = {
  name: 'modified',
  describe: '`If-Modified-Since` returns 304 only for unchanged resources.',
  applies: ({ resourceType: { read } }) =>
    read !== undefined && declares(read, 304) && named(read, /^if-modified-since$/i) !== undefined,
  async run(harness, label) {
    const created = await harness.createAndRead(label);
    const moment = need(created.exchange.response.headers['last-modified']);
    return revalidated(harness, created, 'if-modified-since', moment, longAgo);
  },
};

/** Updates with the current ETag, with an outdated one, with none, and with `*`. */
async function guarded(
  updating: Updating,
  created: Created,
  first: JsonObject,
  second: JsonObject,
): Promise<Difference[]> {
  const { harness, update } = updating;
  const { resource, exchange } = created;
  const etag = need(etagOf(created));
  const condition = named(update, /^if-match$/i);
  const differs = (check: CheckName, about: string, expected: string, ...exchanges: Exchange[]) => {
    const operation = check === 'etag-stays' ? need(harness.resourceType.read) : update;
    const node = operation === update ? condition?.node : undefined;
    return [differ(check, operation, about, { expected, actual: statusesOf(exchanges), node, exchanges })];
  };
  const { response: changed, after } = await updating.apply(created, first, condition && { 'if-match': etag });
  if (changed.response.status === 412)
    return differs('if-match-rejected', 'current', 'a successful update', exchange, changed);
  const now = etagOf(after);
  if (after === undefined || now === undefined || JSON.stringify(after.row) === JSON.stringify(created.row)) return [];
  if (isSameTag(now, etag))
    return differs('etag-stays', 'update', `an ETag other than ${etag}`, exchange, changed, after.exchange);
  const returned = changed.response.headers.etag;
  const isOtherTag = returned !== undefined && !isSameTag(returned, now);
  const found = isOtherTag ? differs('etag-response', 'update', now, changed, after.exchange) : [];
  if (condition === undefined || !declares(update, 412)) return found;
  const stale = await updating.send(resource, second, { 'if-match': etag });
  const later = await harness.shown(resource);
  const isStored = Object.keys(after.row).some(
    (name) => isScalar(after.row[name]) && after.row[name] !== later?.row[name],
  );
  const { status } = stale.response;
  if (isSuccess(stale)) found.push(...differs('if-match-ignored', 'stale', '412', after.exchange, stale));
  else if (status === 409) found.push(...differs('if-match-status', 'stale', '412', after.exchange, stale));
  else if (status === 412 && later && isStored)
    found.push(...differs('if-match-stored', 'stale', 'no change', after.exchange, stale, later.exchange));
  const without = declares(update, 428) ? await harness.changeUnconditionally(update, resource, second) : undefined;
  if (without && isSuccess(without)) found.push(...differs('if-match-missing', 'none', '428, as declared', without));
  // `If-Match: *` matches any existing resource, if the contract allows it (RFC 9110, 13.1.1).
  const isAnyAllowed = harness.session.validators.accepts(condition.schema, '*', 'request');
  const any = isAnyAllowed ? await updating.send(resource, second, { 'if-match': '*' }) : undefined;
  const current = any === undefined || isSuccess(any) ? undefined : etagOf(await harness.shown(resource));
  if (any === undefined || current === undefined) return found;
  const isOnlyAny = isSuccess(await updating.send(resource, second, { 'if-match': current }));
  return isOnlyAny ? [...found, ...differs('if-match-rejected', 'any', 'a successful update', any)] : found;
}

export const versioned: BehaviorCheck<Updating> = {
  name: 'version',
  describe: 'A version in the body protects updates like `If-Match`, if a conflict is declared.',
  applies: ({ update }) => declares(update, 409) || declares(update, 412),
  async run(updating, label) {
    const { harness, update, view } = updating;
    const isVersion = /^_?(?:version|revision|rev|lockVersion|lock_version)$/i;
    const name = need(view.names.find((one) => isVersion.test(one) && !view.member(one).has('readOnly')));
    const created = await harness.createAndRead(label);
    const version = created.row[name];
    const [first, second = first] = updating.changes(created, label);
    if (typeof version !== 'number' || first === undefined) return undefined;
    const after = need((await updating.apply(created, { ...first, [name]: version })).after);
    // A version that the server does not increment is an ordinary property.
    needs(typeof after.row[name] === 'number' && after.row[name] !== version);
    const { response: stale, after: later } = await updating.apply(created, { ...second, [name]: version });
    if (later === undefined || later.row[name] === version) return [];
    const actual = `${stale.response.status}, ${name}: ${text(later.row[name])}`;
    return [differ('version-ignored', update, name, { actual, exchanges: [after.exchange, stale] })];
  },
};

/** A write with a condition that does not hold: 412 without any effect. */
async function outdated(
  harness: ResourceHarness,
  operation: Operation,
  condition: Parameter,
  label: string,
): Promise<Difference[]> {
  const { name, node } = condition;
  const isDelete = operation === harness.resourceType.remove;
  const created = await harness.createAndRead(`${label} ${name}`);
  const headers = { [name.toLowerCase()]: need(staleFor(harness, condition, created.exchange.response.headers)) };
  const change = () => need(new Updating(harness, operation).changes(created, label)[0]);
  const response = isDelete
    ? await harness.remove(created.resource, headers)
    : await harness.change(operation, created.resource, change(), headers);
  needs(isSuccess(response) || response.response.status === 412);
  const after = isDelete ? await harness.read(created.resource) : undefined;
  const differs = (check: CheckName, ...exchanges: Exchange[]) => [
    differ(check, operation, name, { actual: statusesOf(exchanges), node, exchanges }),
  ];
  if (isSuccess(response)) return differs('if-match-ignored', created.exchange, response);
  return after !== undefined && isGone(after) ? differs('if-match-stored', response, after) : [];
}

export const changedUnmodified: BehaviorCheck<Updating> = {
  name: 'unmodified',
  describe: '`If-Unmodified-Since` rejects updates of resources that changed since.',
  applies: ({ update }) => declares(update, 412),
  run: async ({ harness, update }, label) =>
    outdated(harness, update, need(named(update, /^if-unmodified-since$/i)), label),
};

export const removedUnchanged: BehaviorCheck<ResourceHarness> = {
  name: 'delete unchanged',
  describe: 'A delete with a stale condition is rejected without effect.',
  applies: ({ resourceType: { remove } }) => remove !== undefined && declares(remove, 412),
  async run(harness, label) {
    const { remove } = harness.resourceType;
    const conditions = [named(remove, /^if-match$/i), named(remove, /^if-unmodified-since$/i)];
    return anyOf(...conditions.map((one) => async () => outdated(harness, need(remove), need(one), label)));
  },
};

/** A condition that does not hold: an early time, or the ETag of another version in the same format. */
function staleFor(
  { session }: ResourceHarness,
  { name, schema }: Parameter,
  { etag }: Readonly<Record<string, string>>,
): string | undefined {
  if (/since/i.test(name)) return longAgo;
  const other = etag?.replace(/[\da-z](?=[^\da-z]*$)/i, (last) => (last === '7' ? '3' : '7'));
  return other !== etag && session.validators.accepts(schema, other, 'request') ? other : undefined;
}

/** Weak comparison that ignores suffixes of compressing proxies. */
function isSameTag(one: string, other: string): boolean {
  const bare = (tag: string) => tag.replace(/^W\//, '').replace(/-{1,2}(?:gzip|br|deflate)(?="?$)/, '');
  return bare(one) === bare(other);
}
