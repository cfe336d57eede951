import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { isScalar } from './create.ts';
import { type Difference, type Observation, text } from './probe.ts';
import type { Resource, ResourceHarness } from './resource-harness.ts';
import { hasFlag, memberNames, memberOf, requestSchema } from './schema.ts';
import { changesOf, createdAndRead, isRejection } from './update.ts';

/** Checks that an `ETag` is stable without changes, changes with every update, and protects updates with `If-Match`. */
export function tagged(harness: ResourceHarness, update: Operation | undefined): Observation {
  const { read } = harness.resourceType;
  return async (label) => {
    const created = await createdAndRead(harness, label);
    const etag = created?.exchange.response.headers.etag;
    if (created === undefined || read === undefined || etag === undefined) return undefined;
    const again = await harness.read(created.resource);
    const found = [
      ...steady(read, etag, created.exchange, again),
      ...(await known(harness, read, created.resource, etag)),
    ];
    if (update === undefined || found.length > 0) return found;
    const bodies = changesOf(harness, update, requestSchema(update) ?? {}, created, label);
    const [first] = bodies;
    const second = bodies.find((body) => JSON.stringify(body) !== JSON.stringify(first));
    if (first === undefined) return found;
    return [...found, ...(await guarded(harness, update, read, { ...created, etag }, first, second ?? first))];
  };
}

function steady(read: Operation, etag: string, before: Exchange, after: Exchange | undefined): Difference[] {
  const now = after?.response.headers.etag;
  if (now === undefined || isSameTag(now, etag) || after?.response.text !== before.response.text) return [];
  return [
    {
      check: 'etag-moves',
      operation: read,
      about: '',
      title: 'The ETag changes without a change of the resource',
      expected: etag,
      actual: now,
      fix: 'Derive the ETag from the stored resource, not from the time.',
      exchanges: [before, after],
    },
  ];
}

/** Checks that `If-None-Match` returns 304 only for the current ETag. */
async function known(
  harness: ResourceHarness,
  read: Operation,
  resource: Resource,
  etag: string,
): Promise<Difference[]> {
  if (!read.responses.some(({ status }) => status === '304')) return [];
  const same = await harness.read(resource, { headers: { 'if-none-match': etag } });
  const other = await harness.read(resource, { headers: { 'if-none-match': '"of-no-version"' } });
  const differs = (title: string, expected: string, exchange: Exchange): Difference => ({
    check: 'if-none-match',
    operation: read,
    about: title,
    title,
    expected,
    actual: String(exchange.response.status),
    node: read.parameters.find(({ name }) => /^if-none-match$/i.test(name))?.node,
    fix: 'Compare If-None-Match with the ETag of the stored resource (RFC 9110, 13.1.2).',
    exchanges: [exchange],
  });
  return [
    ...(same !== undefined && isSuccess(same)
      ? [differs('A resource with a matching If-None-Match is sent again', '304', same)]
      : []),
    ...(other?.response.status === 304 ? [differs('304 for an ETag that the resource never had', '200', other)] : []),
  ];
}

interface Tagged {
  readonly resource: Resource;
  readonly row: JsonObject;
  readonly exchange: Exchange;
  readonly etag: string;
}

async function guarded(
  harness: ResourceHarness,
  update: Operation,
  read: Operation,
  created: Tagged,
  first: JsonObject,
  second: JsonObject,
): Promise<Difference[]> {
  const condition = update.parameters.find(({ in: place, name }) => place === 'header' && /^if-match$/i.test(name));
  const differs = (
    check: CheckName,
    operation: Operation,
    title: string,
    expected: string,
    exchanges: Difference['exchanges'],
  ): Difference => ({
    check,
    operation,
    about: title,
    title,
    expected,
    actual: exchanges
      .map((one) => (one === undefined ? '' : `${one.response.status} ${one.response.headers.etag ?? ''}`.trim()))
      .join(', '),
    node: operation === update ? condition?.node : undefined,
    fix: 'Compare If-Match with the ETag of the stored resource, and change the ETag with every version (RFC 9110, 13.1.1).',
    exchanges,
  });
  const changed = await harness.change(
    update,
    created.resource,
    first,
    condition === undefined ? {} : { 'if-match': created.etag },
  );
  if (changed === undefined) return [];
  if (changed.response.status === 412)
    return [
      differs('if-match-rejected', update, 'The current ETag is rejected as stale', 'a successful update', [
        created.exchange,
        changed,
      ]),
    ];
  const after = isSuccess(changed) ? await harness.shown(created.resource) : undefined;
  const now = after?.exchange.response.headers.etag;
  if (after === undefined || now === undefined || JSON.stringify(after.row) === JSON.stringify(created.row)) return [];
  if (isSameTag(now, created.etag))
    return [
      differs('etag-stays', read, 'An update does not change the ETag', `an ETag other than ${created.etag}`, [
        created.exchange,
        changed,
        after.exchange,
      ]),
    ];
  const returned = changed.response.headers.etag;
  const found: Difference[] =
    returned !== undefined && !isSameTag(returned, now)
      ? [
          differs('etag-response', update, 'An update returns another ETag than a read after it', now, [
            changed,
            after.exchange,
          ]),
        ]
      : [];
  if (condition === undefined || !declares(update, 412)) return found;
  const stale = await harness.change(update, created.resource, second, { 'if-match': created.etag });
  const later = await harness.shown(created.resource);
  if (stale !== undefined && isSuccess(stale))
    found.push(
      differs('if-match-ignored', update, 'An update with a stale If-Match is accepted', '412', [
        after.exchange,
        stale,
      ]),
    );
  else if (stale?.response.status === 409)
    found.push(
      differs('if-match-status', update, 'A stale If-Match returns 409 instead of 412', '412', [after.exchange, stale]),
    );
  else if (stale?.response.status === 412 && later !== undefined && differ(after.row, later.row))
    found.push(
      differs('if-match-stored', update, 'An update with a stale If-Match is rejected, but stored', 'no change', [
        after.exchange,
        stale,
        later.exchange,
      ]),
    );
  return [
    ...found,
    ...(await missingPrecondition(harness, update, created.resource, second, differs)),
    ...(await anyTagAccepted(harness, update, created.resource, second, differs)),
  ];
}

type Differs = (
  check: CheckName,
  operation: Operation,
  title: string,
  expected: string,
  exchanges: Difference['exchanges'],
) => Difference;

/** `If-Match: *` matches any existing resource, if the contract allows it (RFC 9110, 13.1.1). */
async function anyTagAccepted(
  harness: ResourceHarness,
  update: Operation,
  resource: Resource,
  body: JsonObject,
  differs: Differs,
): Promise<Difference[]> {
  const condition = update.parameters.find(({ in: place, name }) => place === 'header' && /^if-match$/i.test(name));
  const isAllowed = condition !== undefined && harness.session.validators.accepts(condition.schema, '*', 'request');
  const any = isAllowed ? await harness.change(update, resource, body, { 'if-match': '*' }) : undefined;
  if (any === undefined || isSuccess(any)) return [];
  const etag = (await harness.shown(resource))?.exchange.response.headers.etag;
  const current = etag === undefined ? undefined : await harness.change(update, resource, body, { 'if-match': etag });
  if (current === undefined || !isSuccess(current)) return [];
  return [
    differs('if-match-rejected', update, 'If-Match: * is rejected for an existing resource', 'a successful update', [
      any,
    ]),
  ];
}

async function missingPrecondition(
  harness: ResourceHarness,
  update: Operation,
  resource: Resource,
  body: JsonObject,
  differs: Differs,
): Promise<Difference[]> {
  if (!declares(update, 428)) return [];
  const withoutPrecondition = await harness.changeWithoutPrecondition(update, resource, body);
  return withoutPrecondition !== undefined && isSuccess(withoutPrecondition)
    ? [
        differs('if-match-missing', update, 'An update without If-Match is accepted, but 428 is declared', '428', [
          withoutPrecondition,
        ]),
      ]
    : [];
}

/** Checks that a version in the body protects updates like If-Match, if a conflict is declared. */
export function versioned(harness: ResourceHarness, update: Operation): Observation {
  return async (label) => {
    const schema = requestSchema(update);
    const name = memberNames(harness.document, schema).find(
      (one) =>
        !hasFlag(harness.document, memberOf(harness.document, [schema ?? {}], one), 'readOnly') &&
        /^_?(?:version|revision|rev|lockVersion|lock_version)$/i.test(one),
    );
    if (schema === undefined || name === undefined || !(declares(update, 409) || declares(update, 412)))
      return undefined;
    const created = await createdAndRead(harness, label);
    const version = created?.row[name];
    if (created === undefined || typeof version !== 'number') return undefined;
    const [first, second = first] = changesOf(harness, update, schema, created, label);
    if (first === undefined) return undefined;
    const changed = await harness.change(update, created.resource, { ...first, [name]: version });
    const after = changed !== undefined && isSuccess(changed) ? await harness.shown(created.resource) : undefined;
    // A version that the server does not increment is an ordinary property.
    if (after === undefined || typeof after.row[name] !== 'number' || after.row[name] === version) return undefined;
    const stale = await harness.change(update, created.resource, { ...second, [name]: version });
    if (stale === undefined || isRejection(stale)) return [];
    const later = await harness.shown(created.resource);
    if (!isSuccess(stale) || later === undefined || later.row[name] === version) return [];
    return [
      {
        check: 'version-ignored',
        operation: update,
        about: name,
        title: `An update with a stale ${name} is accepted`,
        expected: '409 or 412',
        actual: `${stale.response.status}, ${name}: ${text(later.row[name])}`,
        fix: `Reject an update whose ${name} is not the stored one.`,
        exchanges: [after.exchange, stale],
      },
    ];
  };
}

function declares({ responses }: Operation, status: number): boolean {
  return responses.some((response) => response.status === String(status));
}

function differ(one: JsonObject, other: JsonObject): boolean {
  return Object.keys(one).some((name) => isScalar(one[name]) && one[name] !== other[name]);
}

/** Weak comparison that ignores suffixes of compressing proxies. */
function isSameTag(one: string, other: string): boolean {
  const bare = (tag: string) => tag.replace(/^W\//, '').replace(/-{1,2}(?:gzip|br|deflate)(?="?$)/, '');
  return bare(one) === bare(other);
}
