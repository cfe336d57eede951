import type { Operation, Parameter } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { isGone } from './create.ts';
import type { Difference, Observation } from './probe.ts';
import type { ResourceHarness } from './resource-harness.ts';
import { requestSchema } from './schema.ts';
import { changesOf, createdAndRead } from './update.ts';

/** A time before any change. */
const longAgo = 'Thu, 01 Jan 1998 00:00:00 GMT';

/** Checks that a delete with a stale condition is rejected without effect (RFC 9110, 13.1.1 and 13.1.4). */
export function removedUnchanged(harness: ResourceHarness): Observation {
  const { remove } = harness.resourceType;
  return async (label) => {
    const conditions = remove === undefined ? [] : conditionsOf(remove);
    if (remove === undefined || conditions.length === 0) return undefined;
    const found: Difference[] = [];
    let isSeen = false;
    for (const condition of conditions) {
      const created = await createdAndRead(harness, `${label} ${condition.name}`);
      const value = created === undefined ? undefined : staleFor(harness, condition, created.exchange.response.headers);
      if (created === undefined || value === undefined) continue;
      const response = await harness.remove(created.resource, { [condition.name.toLowerCase()]: value });
      if (response === undefined || !(isSuccess(response) || response.response.status === 412)) continue;
      const after = await harness.read(created.resource);
      isSeen = true;
      if (isSuccess(response))
        found.push(differs(remove, condition, 'if-match-ignored', 'is accepted', [created.exchange, response]));
      else if (after !== undefined && isGone(after))
        found.push(differs(remove, condition, 'if-match-stored', 'is rejected, but takes effect', [response, after]));
    }
    return isSeen ? found : undefined;
  };
}

/** Checks that an update with a stale `If-Unmodified-Since` is rejected. */
export function changedUnmodified(harness: ResourceHarness, update: Operation): Observation {
  return async (label) => {
    const condition = conditionsOf(update).find(({ name }) => /since/i.test(name));
    const created = condition === undefined ? undefined : await createdAndRead(harness, label);
    const [body] = created === undefined ? [] : changesOf(harness, update, requestSchema(update) ?? {}, created, label);
    if (condition === undefined || created === undefined || body === undefined) return undefined;
    const response = await harness.change(update, created.resource, body, { [condition.name.toLowerCase()]: longAgo });
    if (response === undefined || !(isSuccess(response) || response.response.status === 412)) return undefined;
    return isSuccess(response)
      ? [differs(update, condition, 'if-match-ignored', 'is accepted', [created.exchange, response])]
      : [];
  };
}

/** Checks that `If-Modified-Since` returns 304 only for unchanged resources. */
export function readUnmodified(harness: ResourceHarness): Observation {
  const { read } = harness.resourceType;
  return async (label) => {
    const condition = read?.parameters.find(
      ({ in: place, name }) => place === 'header' && /^if-modified-since$/i.test(name),
    );
    if (read === undefined || condition === undefined || !read.responses.some(({ status }) => status === '304'))
      return undefined;
    const created = await createdAndRead(harness, label);
    const moment = created?.exchange.response.headers['last-modified'];
    if (created === undefined || moment === undefined) return undefined;
    const same = await harness.read(created.resource, { headers: { 'if-modified-since': moment } });
    const old = await harness.read(created.resource, { headers: { 'if-modified-since': longAgo } });
    const found = (title: string, expected: string, exchange: typeof same): Difference => ({
      check: 'if-modified-since',
      operation: read,
      about: title,
      title,
      expected,
      actual: String(exchange?.response.status),
      node: condition.node,
      fix: 'Compare If-Modified-Since with the time of the last change (RFC 9110, 13.1.3).',
      exchanges: [created.exchange, exchange],
    });
    return [
      ...(same !== undefined && isSuccess(same) ? [found('An unchanged resource is sent again', '304', same)] : []),
      ...(old?.response.status === 304 ? [found('304 for a resource that has changed since', '200', old)] : []),
    ];
  };
}

/** The declared preconditions of an operation that also declares 412. */
function conditionsOf({ parameters, responses }: Operation): Parameter[] {
  if (!responses.some(({ status }) => status === '412')) return [];
  return parameters.filter(
    ({ in: place, name }) => place === 'header' && /^if-(?:match|unmodified-since)$/i.test(name),
  );
}

/** A condition that does not hold: an early time, or the ETag of another version in the same format. */
function staleFor(
  { session }: ResourceHarness,
  { name, schema }: Parameter,
  headers: Readonly<Record<string, string>>,
): string | undefined {
  if (/since/i.test(name)) return longAgo;
  const { etag } = headers;
  const other = etag?.replace(/[\da-z](?=[^\da-z]*$)/i, (last) => (last === '7' ? '3' : '7'));
  return other === undefined || other === etag || !session.validators.accepts(schema, other, 'request')
    ? undefined
    : other;
}

function differs(
  operation: Operation,
  { name, node }: Parameter,
  check: CheckName,
  what: string,
  exchanges: Difference['exchanges'],
): Difference {
  return {
    check,
    operation,
    about: name,
    title: `${operation.id} with a stale ${name} ${what}`,
    expected: '412 without any effect',
    actual: exchanges.map((one) => one?.response.status).join(', '),
    node,
    fix: `Return 412 without any effect if ${name} does not hold (RFC 9110, 13.1).`,
    exchanges,
  };
}
