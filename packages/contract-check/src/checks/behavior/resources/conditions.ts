import type { Operation, Parameter } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { hasFlag, memberNames, memberOf, requestSchema } from '../../../schema/parts.ts';
import { type BehaviorCheck, type Difference, differ, text } from '../observe.ts';
import { changesOf } from './bodies.ts';
import { isGone, isRejection, isScalar } from './compare.ts';
import type { Created, ResourceHarness } from './harness.ts';
import { declares } from './resource-types.ts';
import type { Updating } from './update.ts';

/** Checks of ETags and preconditions (RFC 9110, 13.1). */

/** A time before any change. */
const longAgo = 'Thu, 01 Jan 1998 00:00:00 GMT';

const named = (operation: Operation | undefined, name: RegExp): Parameter | undefined =>
  operation?.parameters.find((one) => one.in === 'header' && name.test(one.name));

export const tags: BehaviorCheck<{ harness: ResourceHarness; update: Operation | undefined }> = {
  name: 'tags',
  describe: 'An ETag is stable without changes, changes with every update, and protects updates with `If-Match`.',
  applies: ({ harness }) => harness.resourceType.read !== undefined,
  async run({ harness, update }, label) {
    const { read } = harness.resourceType;
    const created = await harness.createAndRead(label);
    const etag = created?.exchange.response.headers.etag;
    if (created === undefined || read === undefined || etag === undefined) return undefined;
    const again = await harness.read(created.resource);
    const now = again?.response.headers.etag;
    const found: Difference[] = [];
    if (now !== undefined && !isSameTag(now, etag) && again?.response.text === created.exchange.response.text)
      found.push(
        differ('etag-moves', read, '', {
          title: 'The ETag changes without a change of the resource',
          expected: etag,
          actual: now,
          exchanges: [created.exchange, again],
        }),
      );
    if (declares(read, 304)) {
      const same = await harness.read(created.resource, { headers: { 'if-none-match': etag } });
      const other = await harness.read(created.resource, { headers: { 'if-none-match': '"of-no-version"' } });
      const node = named(read, /^if-none-match$/i)?.node;
      found.push(...revalidation('if-none-match', read, same, other, [], node));
    }
    if (update === undefined || found.length > 0) return found;
    const [first, ...others] = changesOf(harness, update, created, label);
    const second = others.find((body) => JSON.stringify(body) !== JSON.stringify(first)) ?? first;
    return first === undefined || second === undefined
      ? found
      : [...found, ...(await guarded(harness, update, read, { ...created, etag }, first, second))];
  },
};

/** A conditional read returns 304 only for an unchanged resource. */
function revalidation(
  check: 'if-none-match' | 'if-modified-since',
  read: Operation,
  same: Exchange | undefined,
  other: Exchange | undefined,
  exchanges: readonly Exchange[],
  node: object | undefined,
): Difference[] {
  const differs = (title: string, expected: string, exchange: Exchange) =>
    differ(check, read, title, {
      title,
      expected,
      actual: String(exchange.response.status),
      node,
      exchanges: [...exchanges, exchange],
    });
  return [
    ...(same && isSuccess(same) ? [differs('An unchanged resource is sent again', '304', same)] : []),
    ...(other?.response.status === 304 ? [differs('304 for a resource of another version', '200', other)] : []),
  ];
}

async function guarded(
  harness: ResourceHarness,
  update: Operation,
  read: Operation,
  created: Created & { readonly etag: string },
  first: JsonObject,
  second: JsonObject,
): Promise<Difference[]> {
  const condition = named(update, /^if-match$/i);
  const { resource, etag } = created;
  const differs = (check: CheckName, title: string, expected: string, ...exchanges: Exchange[]): Difference[] => {
    const operation = check === 'etag-stays' ? read : update;
    const actual = exchanges
      .map(({ response }) => `${response.status} ${response.headers.etag ?? ''}`.trim())
      .join(', ');
    const node = operation === update ? condition?.node : undefined;
    return [differ(check, operation, title, { title, expected, actual, node, exchanges })];
  };
  const changed = await harness.change(update, resource, first, condition === undefined ? {} : { 'if-match': etag });
  if (changed === undefined) return [];
  if (changed.response.status === 412)
    return differs(
      'if-match-rejected',
      'The current ETag is rejected as stale',
      'a successful update',
      created.exchange,
      changed,
    );
  const after = isSuccess(changed) ? await harness.shown(resource) : undefined;
  const now = after?.exchange.response.headers.etag;
  if (after === undefined || now === undefined || JSON.stringify(after.row) === JSON.stringify(created.row)) return [];
  if (isSameTag(now, etag)) {
    const all = [created.exchange, changed, after.exchange];
    return differs('etag-stays', 'An update does not change the ETag', `an ETag other than ${etag}`, ...all);
  }
  const returned = changed.response.headers.etag;
  const title = 'An update returns another ETag than a read after it';
  const found =
    returned === undefined || isSameTag(returned, now)
      ? []
      : differs('etag-response', title, now, changed, after.exchange);
  if (condition === undefined || !declares(update, 412)) return found;
  const stale = await harness.change(update, resource, second, { 'if-match': etag });
  const later = await harness.shown(resource);
  const isStored =
    later && Object.keys(after.row).some((name) => isScalar(after.row[name]) && after.row[name] !== later.row[name]);
  if (stale && isSuccess(stale))
    found.push(
      ...differs('if-match-ignored', 'An update with a stale If-Match is accepted', '412', after.exchange, stale),
    );
  else if (stale?.response.status === 409)
    found.push(...differs('if-match-status', 'A stale If-Match returns 409', '412', after.exchange, stale));
  else if (stale?.response.status === 412 && later && isStored) {
    const all = [after.exchange, stale, later.exchange];
    found.push(
      ...differs('if-match-stored', 'An update with a stale If-Match is rejected, but stored', 'no change', ...all),
    );
  }
  const without = declares(update, 428) ? await harness.changeWithoutPrecondition(update, resource, second) : undefined;
  if (without && isSuccess(without))
    found.push(
      ...differs('if-match-missing', 'An update without If-Match is accepted, but 428 is declared', '428', without),
    );
  // `If-Match: *` matches any existing resource, if the contract allows it (RFC 9110, 13.1.1).
  const isAnyAllowed = harness.session.validators.accepts(condition.schema, '*', 'request');
  const any = isAnyAllowed ? await harness.change(update, resource, second, { 'if-match': '*' }) : undefined;
  if (any === undefined || isSuccess(any)) return found;
  const current = (await harness.shown(resource))?.exchange.response.headers.etag;
  const right =
    current === undefined ? undefined : await harness.change(update, resource, second, { 'if-match': current });
  const isOnlyAny = right !== undefined && isSuccess(right);
  const rejected = 'If-Match: * is rejected for an existing resource';
  return isOnlyAny ? [...found, ...differs('if-match-rejected', rejected, 'a successful update', any)] : found;
}

export const versioned: BehaviorCheck<Updating> = {
  name: 'version',
  describe: 'A version in the body protects updates like `If-Match`, if a conflict is declared.',
  applies: ({ update }) => declares(update, 409) || declares(update, 412),
  async run({ harness, update }, label) {
    const schema = requestSchema(update) ?? {};
    const { document } = harness;
    const name = memberNames(document, schema).find(
      (one) =>
        !hasFlag(document, memberOf(document, [schema], one), 'readOnly') &&
        /^_?(?:version|revision|rev|lockVersion|lock_version)$/i.test(one),
    );
    const created = name === undefined ? undefined : await harness.createAndRead(label);
    const version = created?.row[name ?? ''];
    if (name === undefined || created === undefined || typeof version !== 'number') return undefined;
    const [first, second = first] = changesOf(harness, update, created, label);
    const changed = first && (await harness.change(update, created.resource, { ...first, [name]: version }));
    const after = changed && isSuccess(changed) ? await harness.shown(created.resource) : undefined;
    // A version that the server does not increment is an ordinary property.
    if (after === undefined || typeof after.row[name] !== 'number' || after.row[name] === version) return undefined;
    const stale = await harness.change(update, created.resource, { ...second, [name]: version });
    const later = stale && isSuccess(stale) && !isRejection(stale) ? await harness.shown(created.resource) : undefined;
    if (stale === undefined || later === undefined || later.row[name] === version) return [];
    return [
      differ('version-ignored', update, name, {
        title: `An update with a stale ${name} is accepted`,
        expected: '409 or 412',
        actual: `${stale.response.status}, ${name}: ${text(later.row[name])}`,
        exchanges: [after.exchange, stale],
      }),
    ];
  },
};

function stale(
  operation: Operation,
  { name, node }: Parameter,
  check: CheckName,
  what: string,
  exchanges: Exchange[],
): Difference {
  return differ(check, operation, name, {
    title: `${operation.id} with a stale ${name} ${what}`,
    expected: '412 without any effect',
    actual: exchanges.map((one) => one.response.status).join(', '),
    node,
    exchanges,
  });
}

export const changedUnmodified: BehaviorCheck<Updating> = {
  name: 'unmodified',
  describe: 'An update with a stale `If-Unmodified-Since` is rejected.',
  applies: ({ update }) => declares(update, 412) && named(update, /^if-unmodified-since$/i) !== undefined,
  async run({ harness, update }, label) {
    const condition = named(update, /^if-unmodified-since$/i);
    const created = await harness.createAndRead(label);
    const [body] = created === undefined ? [] : changesOf(harness, update, created, label);
    if (condition === undefined || created === undefined || body === undefined) return undefined;
    const response = await harness.change(update, created.resource, body, { [condition.name.toLowerCase()]: longAgo });
    if (response === undefined || !(isSuccess(response) || response.response.status === 412)) return undefined;
    const exchanges = [created.exchange, response];
    return isSuccess(response) ? [stale(update, condition, 'if-match-ignored', 'is accepted', exchanges)] : [];
  },
};

export const removedUnchanged: BehaviorCheck<ResourceHarness> = {
  name: 'delete unchanged',
  describe: 'A delete with a stale condition is rejected without effect.',
  applies: ({ resourceType: { remove } }) => remove !== undefined && declares(remove, 412),
  async run(harness, label) {
    const { remove } = harness.resourceType;
    if (remove === undefined) return undefined;
    const found: Difference[] = [];
    let isSeen = false;
    for (const name of [/^if-match$/i, /^if-unmodified-since$/i]) {
      const condition = named(remove, name);
      const created = condition && (await harness.createAndRead(`${label} ${condition.name}`));
      const value = created && staleFor(harness, condition, created.exchange.response.headers);
      if (created === undefined || condition === undefined || value === undefined) continue;
      const response = await harness.remove(created.resource, { [condition.name.toLowerCase()]: value });
      if (response === undefined || !(isSuccess(response) || response.response.status === 412)) continue;
      const after = await harness.read(created.resource);
      isSeen = true;
      if (isSuccess(response))
        found.push(stale(remove, condition, 'if-match-ignored', 'is accepted', [created.exchange, response]));
      else if (after !== undefined && isGone(after))
        found.push(stale(remove, condition, 'if-match-stored', 'is rejected, but takes effect', [response, after]));
    }
    return isSeen ? found : undefined;
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

export const readUnmodified: BehaviorCheck<ResourceHarness> = {
  name: 'modified',
  describe: '`If-Modified-Since` returns 304 only for unchanged resources.',
  applies: ({ resourceType: { read } }) =>
    read !== undefined && declares(read, 304) && named(read, /^if-modified-since$/i) !== undefined,
  async run(harness, label) {
    const { read } = harness.resourceType;
    const created = await harness.createAndRead(label);
    const moment = created?.exchange.response.headers['last-modified'];
    if (read === undefined || created === undefined || moment === undefined) return undefined;
    const same = await harness.read(created.resource, { headers: { 'if-modified-since': moment } });
    const old = await harness.read(created.resource, { headers: { 'if-modified-since': longAgo } });
    return revalidation(
      'if-modified-since',
      read,
      same,
      old,
      [created.exchange],
      named(read, /^if-modified-since$/i)?.node,
    );
  },
};

/** Weak comparison that ignores suffixes of compressing proxies. */
function isSameTag(one: string, other: string): boolean {
  const bare = (tag: string) => tag.replace(/^W\//, '').replace(/-{1,2}(?:gzip|br|deflate)(?="?$)/, '');
  return bare(one) === bare(other);
}
