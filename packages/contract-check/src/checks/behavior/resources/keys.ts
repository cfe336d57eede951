import { randomUUID } from 'node:crypto';
import type { Operation, Parameter } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { idOf } from '../../../run/pool.ts';
import type { CheckContext } from '../../check.ts';
import { readCollection } from './collection.ts';
import { type Difference, type Observation, text } from './probe.ts';
import { resourceIn } from './resource-in.ts';
import { declaredFlag } from './vocabulary.ts';

/** The idempotency key parameter of an operation. */
export function keyOf({ method, parameters }: Operation): Parameter | undefined {
  if (method === 'GET') return undefined;
  return parameters.find(({ in: place, name }) => place === 'header' && /^(?:x-)?idempotency-?key$/i.test(name));
}

/**
 * Checks that a repeated request with the same key returns the same response and creates nothing.
 *
 * @param list the list of the created resources.
 * @param callOf a call with fresh texts.
 */
export function keyed(
  context: CheckContext,
  operation: Operation,
  parameter: Parameter,
  list: Operation | undefined,
  callOf: (label: string) => Promise<Call | undefined>,
): Observation {
  const { session } = context;
  return async (label) => {
    const call = await callOf(label);
    const [key, other] = [newKey(context, parameter), newKey(context, parameter)];
    if (
      call === undefined ||
      key === undefined ||
      other === undefined ||
      declaredFlag(operation, 'idempotent') === false
    )
      return undefined;
    const send = (one: Call, value: string) =>
      session.send({ ...one, headers: { ...one.headers, [parameter.name]: value } });
    const first = await send(call, key);
    if (!isSuccess(first)) return undefined;
    const before = list === undefined ? undefined : await readCollection(context, list, call.path);
    const replay = await send(call, key);
    const after = list === undefined ? undefined : await readCollection(context, list, call.path);
    const found: Difference[] = [];
    const differs = (check: CheckName, title: string, expected: string, ...exchanges: Exchange[]) =>
      found.push({
        check,
        operation,
        about: '',
        title,
        expected,
        actual: exchanges
          .map(({ response }) => `${response.status} ${text(identityOf(response.json?.value))}`)
          .join(', then '),
        node: parameter.node,
        fix: `Store the response with its ${parameter.name}, and return it again.`,
        exchanges,
      });
    if (!isSuccess(replay)) {
      if (![401, 403, 425, 429].includes(replay.response.status) && replay.response.status < 500)
        differs(
          'key-rejected',
          'A repeated request with the same key is rejected',
          'the first response again',
          first,
          replay,
        );
      return found;
    }
    if (isOtherResource(first, replay))
      differs(
        'key-another',
        'A repeated request with the same key returns another resource',
        'the first response again',
        first,
        replay,
      );
    else if (before?.isComplete === true && after?.isComplete === true && after.rows.length > before.rows.length)
      differs(
        'key-twice',
        'A repeated request with the same key creates a second resource',
        `${before.rows.length} rows in ${list?.id}, not ${after.rows.length}`,
        first,
        replay,
      );
    const fresh = await callOf(`${label} other`);
    if (fresh === undefined || found.length > 0) return found;
    if (reportsReuse(operation, parameter) && JSON.stringify(fresh.body) !== JSON.stringify(call.body)) {
      const reused = await send(fresh, key);
      if (isSuccess(reused))
        differs('key-reused', 'The same key is accepted with another body', '409 or 422', first, reused);
    }
    const separate = await send(fresh, other);
    if (isSuccess(separate) && hasId(first) && !isOtherResource(first, separate))
      differs(
        'key-mixed',
        'A request with another key returns the resource of the first request',
        'another resource',
        first,
        separate,
      );
    return found;
  };
}

/** A random key, because servers remember keys of earlier runs. */
function newKey({ session }: CheckContext, { schema }: Parameter): string | undefined {
  const candidates = [randomUUID(), randomUUID().replaceAll('-', ''), `k${randomUUID().slice(0, 8)}`];
  return candidates.find((one) => session.validators.accepts(schema, one, 'request'));
}

function hasId(exchange: Exchange): boolean {
  return idOf(resourceIn(exchange)) !== undefined;
}

function isOtherResource(first: Exchange, second: Exchange): boolean {
  const [one, other] = [idOf(resourceIn(first)), idOf(resourceIn(second))];
  return one !== undefined && other !== undefined && String(one) !== String(other);
}

function identityOf(value: unknown): unknown {
  return isObject(value) ? idOf(value) : undefined;
}

/** Whether the contract says that a key cannot be reused with another body. */
function reportsReuse({ responses }: Operation, { node }: Parameter): boolean {
  const rejections = responses.filter(({ status }) => status === '409' || status === '422');
  const words = [node, ...rejections.map((response) => response.node)]
    .map(({ description }) => String(description ?? ''))
    .join(' ');
  return (
    rejections.length > 0 &&
    /\b(?:another|different|other|same)\s+(?:body|request|payload|content|parameters)/i.test(words)
  );
}
