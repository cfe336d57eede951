import type { Operation, Parameter } from '../../../document/operation.ts';
import { isSuccess } from '../../../run/baseline.ts';
import type { Bench } from './bench.ts';
import { isGone } from './create.ts';
import type { Difference, Look } from './probe.ts';
import { requestSchema } from './schema.ts';
import { changesOf, madeAndRead } from './update.ts';

/** A time at which nothing was as it is now. */
const longAgo = 'Thu, 01 Jan 1998 00:00:00 GMT';

/** A deletion of what has changed since is refused, and deletes nothing (RFC 9110, 13.1.1 and 13.1.4). */
export function removedUnchanged(bench: Bench): Look {
  const { remove } = bench.resource;
  return async (label) => {
    const conditions = remove === undefined ? [] : conditionsOf(remove);
    if (remove === undefined || conditions.length === 0) return undefined;
    const found: Difference[] = [];
    let isSeen = false;
    for (const condition of conditions) {
      const made = await madeAndRead(bench, `${label} ${condition.name}`);
      const value = made === undefined ? undefined : staleFor(bench, condition, made.exchange.answer.headers);
      if (made === undefined || value === undefined) continue;
      const answer = await bench.remove(made.thing, { [condition.name.toLowerCase()]: value });
      if (answer === undefined || !(isSuccess(answer) || answer.answer.status === 412)) continue;
      const after = await bench.read(made.thing);
      isSeen = true;
      if (isSuccess(answer))
        found.push(differs(remove, condition, 'if-match-ignored', 'is accepted', [made.exchange, answer]));
      else if (after !== undefined && isGone(after))
        found.push(differs(remove, condition, 'if-match-stored', 'is refused and done', [answer, after]));
    }
    return isSeen ? found : undefined;
  };
}

/** Nor is what has changed since the time that a change names changed by it. */
export function changedUnmodified(bench: Bench, update: Operation): Look {
  return async (label) => {
    const condition = conditionsOf(update).find(({ name }) => /since/i.test(name));
    const made = condition === undefined ? undefined : await madeAndRead(bench, label);
    const [body] = made === undefined ? [] : changesOf(bench, update, requestSchema(update) ?? {}, made, label);
    if (condition === undefined || made === undefined || body === undefined) return undefined;
    const answer = await bench.change(update, made.thing, body, { [condition.name.toLowerCase()]: longAgo });
    if (answer === undefined || !(isSuccess(answer) || answer.answer.status === 412)) return undefined;
    return isSuccess(answer)
      ? [differs(update, condition, 'if-match-ignored', 'is accepted', [made.exchange, answer])]
      : [];
  };
}

/** `If-Modified-Since` spares the body of what has not changed since. */
export function readUnmodified(bench: Bench): Look {
  const { read } = bench.resource;
  return async (label) => {
    const condition = read?.parameters.find(
      ({ in: place, name }) => place === 'header' && /^if-modified-since$/i.test(name),
    );
    if (read === undefined || condition === undefined || !read.answers.some(({ status }) => status === '304'))
      return undefined;
    const made = await madeAndRead(bench, label);
    const moment = made?.exchange.answer.headers['last-modified'];
    if (made === undefined || moment === undefined) return undefined;
    const same = await bench.read(made.thing, { headers: { 'if-modified-since': moment } });
    const old = await bench.read(made.thing, { headers: { 'if-modified-since': longAgo } });
    const found = (title: string, expected: string, exchange: typeof same): Difference => ({
      check: 'if-modified-since',
      operation: read,
      about: title,
      title,
      expected,
      actual: String(exchange?.answer.status),
      node: condition.node,
      fix: 'Compare If-Modified-Since with the time of the last change (RFC 9110, 13.1.3).',
      exchanges: [made.exchange, exchange],
    });
    return [
      ...(same !== undefined && isSuccess(same)
        ? [found('What has not changed since is sent again', '304', same)]
        : []),
      ...(old?.answer.status === 304 ? [found('304 for what has changed since', '200', old)] : []),
    ];
  };
}

/** The conditions under which an operation does what it does, where it declares what it answers without them. */
function conditionsOf({ parameters, answers }: Operation): Parameter[] {
  if (!answers.some(({ status }) => status === '412')) return [];
  return parameters.filter(
    ({ in: place, name }) => place === 'header' && /^if-(?:match|unmodified-since)$/i.test(name),
  );
}

/** A condition that does not hold: a time long ago, or the tag of another version that is written alike. */
function staleFor(
  { session }: Bench,
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
  check: string,
  what: string,
  exchanges: Difference['exchanges'],
): Difference {
  return {
    check,
    operation,
    about: name,
    title: `${operation.id} with a stale ${name} ${what}`,
    expected: '412, and nothing is done',
    actual: exchanges.map((one) => one?.answer.status).join(', '),
    node,
    fix: `Do nothing where ${name} does not hold (RFC 9110, 13.1).`,
    exchanges,
  };
}
