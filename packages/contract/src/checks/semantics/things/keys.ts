import { randomUUID } from 'node:crypto';
import type { Operation, Parameter } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { idOf } from '../../../run/pool.ts';
import type { CheckContext } from '../../checks.ts';
import { readCollection } from './collection.ts';
import { type Difference, type Look, text } from './probe.ts';
import { thingIn } from './thing-in.ts';
import { saidFlag } from './vocabulary.ts';

/** The parameter that makes a call repeatable. */
export function keyOf({ method, parameters }: Operation): Parameter | undefined {
  if (method === 'GET') return undefined;
  return parameters.find(({ in: place, name }) => place === 'header' && /^(?:x-)?idempotency-?key$/i.test(name));
}

/**
 * A key makes a call happen once: sent again, it answers the same and makes nothing.
 *
 * @param list where what the operation makes is listed.
 * @param callOf a call with texts of its own.
 */
export function keyed(
  context: CheckContext,
  operation: Operation,
  parameter: Parameter,
  list: Operation | undefined,
  callOf: (label: string) => Promise<Call | undefined>,
): Look {
  const { session } = context;
  return async (label) => {
    const call = await callOf(label);
    const [key, other] = [newKey(context, parameter), newKey(context, parameter)];
    if (call === undefined || key === undefined || other === undefined || saidFlag(operation, 'idempotent') === false)
      return undefined;
    const send = (one: Call, value: string) =>
      session.send({ ...one, headers: { ...one.headers, [parameter.name]: value } });
    const first = await send(call, key);
    if (!isSuccess(first)) return undefined;
    const before = list === undefined ? undefined : await readCollection(context, list, call.path);
    const replay = await send(call, key);
    const after = list === undefined ? undefined : await readCollection(context, list, call.path);
    const found: Difference[] = [];
    const differs = (check: string, title: string, expected: string, ...exchanges: Exchange[]) =>
      found.push({
        check,
        operation,
        about: '',
        title,
        expected,
        actual: exchanges
          .map(({ answer }) => `${answer.status} ${text(identityOf(answer.json?.value))}`)
          .join(', then '),
        node: parameter.node,
        fix: `Keep the answer with its ${parameter.name}, and give it again.`,
        exchanges,
      });
    if (!isSuccess(replay)) {
      if (![401, 403, 425, 429].includes(replay.answer.status) && replay.answer.status < 500)
        differs('key-refused', 'The same call with the same key is refused', 'the first answer again', first, replay);
      return found;
    }
    if (isAnother(first, replay))
      differs(
        'key-another',
        'The same call with the same key answers another thing',
        'the first answer again',
        first,
        replay,
      );
    else if (before?.isComplete === true && after?.isComplete === true && after.rows.length > before.rows.length)
      differs(
        'key-twice',
        'The same call with the same key makes a second thing',
        `${before.rows.length} rows in ${list?.id}, not ${after.rows.length}`,
        first,
        replay,
      );
    const fresh = await callOf(`${label} other`);
    if (fresh === undefined || found.length > 0) return found;
    if (tellsOfReuse(operation, parameter) && JSON.stringify(fresh.body) !== JSON.stringify(call.body)) {
      const reused = await send(fresh, key);
      if (isSuccess(reused))
        differs('key-reused', 'A key is accepted for another body', 'a refusal: 409 or 422', first, reused);
    }
    const separate = await send(fresh, other);
    if (isSuccess(separate) && hasId(first) && !isAnother(first, separate))
      differs('key-mixed', 'Another key answers the thing of the first', 'another thing', first, separate);
    return found;
  };
}

/** A key that nobody has used: servers remember keys of earlier runs. */
function newKey({ session }: CheckContext, { schema }: Parameter): string | undefined {
  const candidates = [randomUUID(), randomUUID().replaceAll('-', ''), `k${randomUUID().slice(0, 8)}`];
  return candidates.find((one) => session.validators.accepts(schema, one, 'request'));
}

function hasId(exchange: Exchange): boolean {
  return idOf(thingIn(exchange)) !== undefined;
}

function isAnother(first: Exchange, second: Exchange): boolean {
  const [one, other] = [idOf(thingIn(first)), idOf(thingIn(second))];
  return one !== undefined && other !== undefined && String(one) !== String(other);
}

function identityOf(value: unknown): unknown {
  return isObject(value) ? idOf(value) : undefined;
}

/** Whether the contract says that a key belongs to one body. */
function tellsOfReuse({ answers }: Operation, { node }: Parameter): boolean {
  const refusals = answers.filter(({ status }) => status === '409' || status === '422');
  const words = [node, ...refusals.map((answer) => answer.node)]
    .map(({ description }) => String(description ?? ''))
    .join(' ');
  return (
    refusals.length > 0 &&
    /\b(?:another|different|other|same)\s+(?:body|request|payload|content|parameters)/i.test(words)
  );
}
