import { isDeepStrictEqual } from 'node:util';
import type { Operation, Parameter } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isScalar, jsonText } from '../../../json.ts';
import { type Differences, differ, need, needs, text } from '../../observe.ts';

import type { ResourceHarness, Shown } from './resource.ts';
import { conditionOf, declares } from './resource-types.ts';
import type { Updating } from './update.ts';

/** Checks of ETags and preconditions (RFC 9110, 13.1). */

const statusesOf = (exchanges: readonly Exchange[]) =>
  exchanges.map(({ response }) => `${response.status} ${response.headers.etag ?? ''}`.trim()).join(', ');

const returnsTag = ({ responses }: Operation) =>
  responses.some(({ headers }) => headers.some(({ name }: Parameter) => /^etag$/i.test(name)));

export const etagOf = (shown: Shown | undefined) => shown?.exchange.response.headers.etag;

/** An ETag of the same form that is not the current one. */
export const staleTag = (etag = '"of-no-version"') =>
  etag.replace(/[a-z\d](?=[^a-z\d]*$)/i, (last) => (last === '7' ? '8' : '7'));

/** The ETag of a created resource is that of the next read. */
export async function* createdTag(harness: ResourceHarness, label: string): Differences {
  const { create, updates, remove } = harness.resourceType;
  // Some frameworks add an ETag of the response itself. It matters only if clients are told to use it.
  const isUsed = [...updates, remove].some((one) => one !== undefined && conditionOf(one) !== undefined);
  if (!returnsTag(create) && !isUsed) return;
  const created = await harness.createAndRead(label);
  const by = created.resource.created;
  const [actual, expected] = [need(by.response.headers.etag), need(etagOf(created))];
  if (!isSameTag(actual, expected))
    yield differ('etag-response', create, 'create', { expected, actual, exchanges: [by, created.exchange] });
}

/** `If-Match` is required where 428 is declared, and can be `*` (RFC 9110, 13.1.1). */
export async function* conditionForms(updating: Updating, label: string): Differences {
  const { harness, update } = updating;
  const condition = declares(update, 412) ? conditionOf(update) : undefined;
  if (condition === undefined) return;
  const created = await harness.createAndRead(label);
  const [body] = updating.changes(created, label);
  const send = async (value: string | null) => {
    const etag = need(etagOf(await harness.shown(created.resource)));
    const own = value?.replace('%', etag) ?? null;
    if (own !== null && !harness.session.validators.accepts(condition.schema, own)) return undefined;
    return updating.send(created.resource, need(body), { 'if-match': own });
  };
  needs(isSuccess(need(await send('%'))));
  const facts = (expected: string, exchange: Exchange) => {
    return { expected, actual: statusesOf([exchange]), node: condition.node, exchanges: [exchange] };
  };
  const without = declares(update, 428) ? await send(null) : undefined;
  if (without && isSuccess(without)) yield differ('if-match-missing', update, '', facts('428', without));
  const star = await send('*');
  if (star && [400, 412].includes(star.response.status))
    yield differ('if-match-rejected', update, '*', facts('a successful update', star));
}

/** `If-None-Match` returns 304 only for the current ETag, to GET and HEAD. */
export async function* readTags(harness: ResourceHarness, label: string): Differences {
  const { read } = harness.resourceType;
  if (read === undefined || !declares(read, 304)) return;
  const created = await harness.createAndRead(label);
  const etag = need(etagOf(created));
  const isHead = ({ method, path }: Operation) => method === 'HEAD' && path === read.path;
  for (const by of [read, ...harness.session.operations.filter(isHead)].filter((one) => declares(one, 304)))
    for (const [about, tag, expected] of [
      ['unchanged', etag, '304'],
      ['another version', '"of-no-version"', '200'],
    ] as const) {
      const call = need(harness.callOn(by, created.resource));
      const exchange = await harness.session.send({ ...call, raw: { headers: { 'if-none-match': tag } } });
      const isWrong = expected === '304' ? isSuccess(exchange) : exchange.response.status === 304;
      const facts = { expected, actual: statusesOf([exchange]), exchanges: [created.exchange, exchange] };
      if (isWrong) yield differ('if-none-match', by, about, facts);
    }
}

/** An ETag changes with every update, and protects updates with `If-Match`. */
export async function* updateTags(updating: Updating, label: string): Differences {
  const { harness, update } = updating;
  const { read } = harness.resourceType;
  if (read === undefined) return;
  const created = await harness.createAndRead(label);
  const { resource, exchange } = created;
  const etag = need(etagOf(created));
  const changes = updating.changes(created, label);
  const first = need(changes[0]);
  const second = changes.find((body) => jsonText(body) !== jsonText(first)) ?? first;
  const condition = conditionOf(update);
  const differs = (check: CheckName, about: string, expected: string, ...exchanges: Exchange[]) =>
    differ(check, update, about, { expected, actual: statusesOf(exchanges), node: condition?.node, exchanges });
  const { response: changed, after } = await updating.apply(created, first, condition && { 'if-match': etag });
  if (changed.response.status === 412)
    return yield differs('if-match-rejected', 'current', 'a successful update', exchange, changed);
  const now = etagOf(after);
  // That an ETag must change, another check says.
  if (after === undefined || now === undefined || isDeepStrictEqual(after.row, created.row)) return;
  if (isSameTag(now, etag)) return;
  const returned = changed.response.headers.etag;
  // Some frameworks add an ETag of the response itself. It matters only if clients are told to use it.
  const isDeclared = condition !== undefined || returnsTag(update);
  if (isDeclared && returned !== undefined && !isSameTag(returned, now))
    yield differs('etag-response', 'update', now, changed, after.exchange);
  if (condition === undefined || !declares(update, 412)) return;
  const stale = await updating.send(resource, second, { 'if-match': etag });
  const { status } = stale.response;
  const later = await harness.shown(resource);
  const isStored = Object.entries(after.row).some(([name, value]) => isScalar(value) && value !== later?.row[name]);
  if (isSuccess(stale)) yield differs('if-match-ignored', 'stale', '412', after.exchange, stale);
  if (status === 409) yield differs('if-match-status', 'stale', '412', after.exchange, stale);
  if (status === 412 && later && isStored)
    yield differs('if-match-stored', 'stale', 'no change', after.exchange, stale, later.exchange);
}

/** An update moves the version in its body, and is rejected with one that is not current. */
export async function* updateVersions(updating: Updating, label: string): Differences {
  const { harness, update } = updating;
  const name = harness.session.versions.nameIn(update);
  if (name === undefined) return;
  const created = await harness.createAndRead(label);
  const [first, second = first] = updating.changes(created, label);
  const { response, after } = await updating.apply(created, need(first));
  const [was, is] = [created.row[name], need(after).row[name]];
  needs(was !== undefined && !isDeepStrictEqual({ ...after?.row, [name]: was }, created.row));
  const facts = { node: updating.view.member(name).node, exchanges: [created.exchange, response] };
  if (was === is) return yield differ('update-timestamp', update, name, { actual: `${name}: ${text(was)}`, ...facts });
  // An earlier version, and one that does not exist yet.
  for (const version of [was, typeof is === 'number' ? is + 5 : staleTag(String(is))]) {
    const stale = await updating.send(created.resource, { ...second, [name]: version });
    const late = { expected: `409 or 412, because ${name} is ${text(is)}`, exchanges: [...facts.exchanges, stale] };
    if (isSuccess(stale)) return yield differ('if-match-ignored', update, name, { ...facts, ...late });
  }
}

/** Weak comparison that ignores suffixes of compressing proxies. */
function isSameTag(one: string, other: string): boolean {
  const bare = (tag: string) => tag.replace(/^W\//, '').replace(/-{1,2}(?:gzip|br|deflate)(?="?$)/, '');
  return bare(one) === bare(other);
}
