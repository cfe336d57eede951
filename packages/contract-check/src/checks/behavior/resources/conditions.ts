import { isDeepStrictEqual } from 'node:util';
import type { Operation, Parameter } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { jsonText } from '../../../json.ts';
import { type BehaviorCheck, type Difference, differ, need } from '../observe.ts';
import { isScalar } from './compare.ts';
import type { ResourceHarness, Shown } from './resource.ts';
import { conditionOf, declares } from './resource-types.ts';
import type { Updating } from './update.ts';

/** Checks of ETags and preconditions (RFC 9110, 13.1). */

const statusesOf = (exchanges: readonly Exchange[]) =>
  exchanges.map(({ response }) => `${response.status} ${response.headers.etag ?? ''}`.trim()).join(', ');

const isTag = ({ name }: Parameter) => /^etag$/i.test(name);

export const etagOf = (shown: Shown | undefined) => shown?.exchange.response.headers.etag;

/** An ETag of the same form that is not the current one. */
export const staleTag = (etag = '"of-no-version"') =>
  etag.replace(/[a-z\d](?=[^a-z\d]*$)/i, (last) => (last === '7' ? '8' : '7'));

export const createdTag: BehaviorCheck<ResourceHarness> = {
  name: 'created tag',
  describe: 'The ETag of a created resource is that of the next read.',
  applies: ({ resourceType: { create } }) => create.responses.some(({ headers }) => headers.some(isTag)),
  async run(harness, label) {
    const created = await harness.createAndRead(label);
    const { resource, exchange } = created;
    const [sent, now] = [need(resource.created.response.headers.etag), need(etagOf(created))];
    if (isSameTag(sent, now)) return [];
    const facts = { expected: now, actual: sent, exchanges: [resource.created, exchange] };
    return [differ('etag-response', harness.resourceType.create, 'create', facts)];
  },
};

export const conditionForms: BehaviorCheck<Updating> = {
  name: 'forms',
  describe: '`If-Match` is required where 428 is declared, and can be `*` (RFC 9110, 13.1.1).',
  applies: ({ update }) => conditionOf(update) !== undefined && declares(update, 412),
  async run(updating, label) {
    const { harness, update } = updating;
    const { schema } = need(conditionOf(update));
    const created = await harness.createAndRead(label);
    const [body] = updating.changes(created, label);
    const found: Difference[] = [];
    const send = async (condition: string | null) => {
      const etag = need(etagOf(await harness.shown(created.resource)));
      const own = condition?.replace('%', etag) ?? null;
      if (own !== null && !harness.session.validators.accepts(schema, own, 'request')) return undefined;
      return updating.send(created.resource, need(body), { 'if-match': own });
    };
    const known = await send('%');
    if (known === undefined || !isSuccess(known)) return undefined;
    const without = declares(update, 428) ? await send(null) : undefined;
    const facts = (expected: string, exchange: Exchange) => {
      return { expected, actual: statusesOf([exchange]), node: conditionOf(update)?.node, exchanges: [exchange] };
    };
    if (without && isSuccess(without)) found.push(differ('if-match-missing', update, '', facts('428', without)));
    const star = await send('*');
    if (star?.response.status === 412 || star?.response.status === 400)
      found.push(differ('if-match-rejected', update, '*', facts('a successful update', star)));
    return found;
  },
};

export const readTags: BehaviorCheck<ResourceHarness> = {
  name: 'tags',
  describe: '`If-None-Match` returns 304 only for the current ETag, to GET and HEAD.',
  applies: ({ resourceType: { read } }) => read !== undefined && declares(read, 304),
  async run(harness, label) {
    const read = need(harness.resourceType.read);
    const created = await harness.createAndRead(label);
    const etag = need(etagOf(created));
    const found: Difference[] = [];
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
        if (isWrong) found.push(differ('if-none-match', by, about, facts));
      }
    return found;
  },
};

export const updateTags: BehaviorCheck<Updating> = {
  name: 'preconditions',
  describe: 'An ETag changes with every update, and protects updates with `If-Match`.',
  applies: ({ harness }) => harness.resourceType.read !== undefined,
  async run(updating, label) {
    const { harness, update } = updating;
    const created = await harness.createAndRead(label);
    const { resource, exchange } = created;
    const etag = need(etagOf(created));
    const changes = updating.changes(created, label);
    const first = need(changes[0]);
    const second = changes.find((body) => jsonText(body) !== jsonText(first)) ?? first;
    const condition = conditionOf(update);
    const found: Difference[] = [];
    const differs = (check: CheckName, about: string, expected: string, ...exchanges: Exchange[]) => {
      const operation = check === 'etag-stays' ? need(harness.resourceType.read) : update;
      const node = operation === update ? condition?.node : undefined;
      found.push(differ(check, operation, about, { expected, actual: statusesOf(exchanges), node, exchanges }));
      return found;
    };
    const { response: changed, after } = await updating.apply(created, first, condition && { 'if-match': etag });
    if (changed.response.status === 412)
      return differs('if-match-rejected', 'current', 'a successful update', exchange, changed);
    const now = etagOf(after);
    if (after === undefined || now === undefined || isDeepStrictEqual(after.row, created.row)) return [];
    if (isSameTag(now, etag))
      return differs('etag-stays', 'update', `an ETag other than ${etag}`, exchange, changed, after.exchange);
    const returned = changed.response.headers.etag;
    // Some frameworks add an ETag of the response itself. It matters only if clients are told to use it.
    const isDeclared = condition !== undefined || update.responses.some(({ headers }) => headers.some(isTag));
    if (isDeclared && returned !== undefined && !isSameTag(returned, now))
      differs('etag-response', 'update', now, changed, after.exchange);
    if (condition === undefined || !declares(update, 412)) return found;
    const stale = await updating.send(resource, second, { 'if-match': etag });
    const { status } = stale.response;
    const later = await harness.shown(resource);
    const isStored = Object.keys(after.row).some(
      (name) => isScalar(after.row[name]) && after.row[name] !== later?.row[name],
    );
    if (isSuccess(stale)) differs('if-match-ignored', 'stale', '412', after.exchange, stale);
    if (status === 409) differs('if-match-status', 'stale', '412', after.exchange, stale);
    if (status === 412 && later && isStored)
      differs('if-match-stored', 'stale', 'no change', after.exchange, stale, later.exchange);
    return found;
  },
};

/** Weak comparison that ignores suffixes of compressing proxies. */
function isSameTag(one: string, other: string): boolean {
  const bare = (tag: string) => tag.replace(/^W\//, '').replace(/-{1,2}(?:gzip|br|deflate)(?="?$)/, '');
  return bare(one) === bare(other);
}
