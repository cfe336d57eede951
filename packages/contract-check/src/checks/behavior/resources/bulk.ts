import { randomUUID } from 'node:crypto';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { kindOfReference } from '../../../run/names.ts';
import { requestSchema } from '../../../schema/view.ts';
import { hasItemErrors, type ItemResult, itemResultsIn } from '../../outcome.ts';
import { type BehaviorCheck, type Difference, differ, need, text, valued } from '../observe.ts';
import {
  type AcceptedBulk,
  type Bulk,
  idIn,
  isKey,
  listIn,
  type Observed,
  observed,
  take,
  twoItems,
} from './bulk-calls.ts';
import { isServerOwned } from './compare.ts';
import { memberAt, unlikes } from './effects.ts';

export const bulked: BehaviorCheck<Bulk> = {
  name: 'bulk',
  describe: 'There is one result per item, each belongs to its item, and accepted items are stored as sent.',
  async run(bulk, label) {
    const sent = need(await take(bulk, label));
    const { call, exchange, results } = sent;
    const items = listIn(call, bulk.member).filter(isObject);
    const differs = (check: CheckName, about: string, facts: Pick<Difference, 'expected' | 'actual'>) =>
      differ(check, bulk.operation, about, { ...facts, exchanges: [exchange] });
    const indexes = results.map(({ index }) => index);
    if (results.length !== items.length || new Set(indexes).size < results.length) {
      const actual = `${results.length} results with the indexes ${indexes.join(', ')}`;
      return [differs('bulk-results', '', { expected: `${items.length} results, each with its own index`, actual })];
    }
    const found = miscounted(exchange, results).map(({ name, count, returned }) =>
      differs('bulk-count', name, valued(name, count, returned)),
    );
    for (const { index, row } of results) {
      const item = items[index] ?? {};
      const key = Object.keys(item).find(
        (name) => [item, row].every((one) => typeof one[name] === 'string') && isKey(name),
      );
      if (key !== undefined && item[key] !== row[key])
        found.push(differs('bulk-order', key, valued(key, item[key], row[key])));
    }
    for (const { index, row } of results.filter((one) => !one.isFailure).slice(0, 3))
      if (found.length === 0) found.push(...(await stored(bulk, items[index] ?? {}, row, exchange)));
    if (found.length > 0) return found;
    return [...(await repeated(bulk, sent)), ...(await withInvalidItem(bulk, sent))];
  },
};

/** Counts next to the results, such as the number of successes, that are wrong. */
function miscounted(
  { response }: Exchange,
  results: readonly ItemResult[],
): { name: string; returned: number; count: number }[] {
  const body = response.json?.value;
  const failed = results.filter(({ isFailure }) => isFailure).length;
  return Object.entries(isObject(body) ? body : {}).flatMap(([name, returned]) => {
    const [, what] =
      /^(total|created|updated|succeeded|successful|deleted|failed|failures|errors)[-_]?(?:count|items)?$/i.exec(
        name,
      ) ?? [];
    if (what === undefined || typeof returned !== 'number') return [];
    const isPart = !/total|fail|error/i.test(what);
    const count = /total/i.test(what) ? results.length : isPart ? results.length - failed : failed;
    // Some successes may be counted elsewhere, for example as updates.
    return returned === count || (isPart && returned < count) ? [] : [{ name, returned, count }];
  });
}

async function stored(bulk: Bulk, item: JsonObject, result: JsonObject, by: Exchange): Promise<Difference[]> {
  const shown = await observed(bulk, item, result);
  if (shown === undefined) return [];
  const exchanges = [by, shown.exchange];
  if (shown.row === undefined) {
    const facts = { expected: text(item), actual: responseText(shown.exchange), exchanges };
    return [differ('bulk-lost', bulk.operation, '', facts)];
  }
  return unlikes({ value: item, view: bulk.items }, { value: shown.row, view: shown.view }).map((one) => {
    const name = memberAt(one.pointer);
    return differ('bulk-lost', bulk.operation, name, { ...valued(name, one.sent, one.shown), exchanges });
  });
}

/** An upsert with the same keys must update the existing resource. */
async function repeated(
  { operation, member, context }: Bulk,
  { call, exchange, results }: AcceptedBulk,
): Promise<Difference[]> {
  const items = listIn(call, member).filter(isObject);
  const isKeyed = items.every((item) => Object.keys(item).some((name) => name !== 'type' && isKey(name)));
  if (!isKeyed || !/upsert/i.test(`${operation.id} ${operation.path}`)) return [];
  const again = await context.session.send(call);
  const second = isSuccess(again) ? (itemResultsIn(again) ?? []) : [];
  const other = results.find(({ index, row }) => {
    const same = second.find((one) => one.index === index && !one.isFailure);
    const [one, next] = [idIn(row), same && idIn(same.row)];
    return typeof one === 'string' && typeof next === 'string' && one !== next;
  });
  if (other === undefined) return [];
  const facts = { expected: text(idIn(other.row)), actual: text(second.map(({ row }) => idIn(row))) };
  return [differ('upsert-second', operation, '', { ...facts, exchanges: [exchange, again] })];
}

/** A rejected item must not affect the others. */
async function withInvalidItem(bulk: Bulk, { call }: AcceptedBulk): Promise<Difference[]> {
  const { operation, member, items, context } = bulk;
  const { validators } = context.session;
  const keys = operation.method === 'POST' ? 'new' : 'known';
  const fresh = twoItems(bulk, 'beside wrong', { keys, isFull: false }) ?? call;
  const [right, wrong = right] = listIn(fresh, member).filter(isObject);
  const reference = items.names.find(
    (name) => kindOfReference(name) !== undefined && items.member(name).format === 'uuid',
  );
  if (right === undefined || reference === undefined || !isObject(fresh.body)) return [];
  const body = { ...fresh.body, [member]: [right, { ...wrong, [reference]: randomUUID() }] };
  if (!validators.accepts(requestSchema(operation) ?? {}, body, 'request')) return [];
  const exchange = await context.session.send({ ...fresh, body });
  const results = isSuccess(exchange) ? (itemResultsIn(exchange) ?? []) : [];
  const [first, second] = [0, 1].map((place) => results.find(({ index }) => index === place));
  if (first === undefined || first.isFailure || second?.isFailure !== true) return [];
  const found = await stored(bulk, right, first.row, exchange);
  return found.map((one) => ({ ...one, check: 'bulk-others' }));
}

/** The row without fields that every change updates. */
function print(row: JsonObject | undefined): string {
  return JSON.stringify(row, (name, value: unknown) => (isServerOwned(name) && name !== 'active' ? undefined : value));
}

export const bulkRemoved: BehaviorCheck<{ removal: Bulk; creation: Bulk }> = {
  name: 'bulk delete',
  describe: 'Resources that a bulk call reports as deleted are gone, or marked as deleted.',
  async run({ removal, creation }, label) {
    const { session, baselines } = removal.context;
    const known = need(baselines.of(removal.operation)).call;
    const pattern = need(listIn(known, removal.member)[0]);
    const created = need(await take(creation, label));
    const there: { item: JsonObject; row: JsonObject; before: Observed }[] = [];
    for (const { row, index } of created.results.filter(({ isFailure }) => !isFailure)) {
      const item = listIn(created.call, creation.member)[index];
      const before = isObject(item) ? await observed(creation, item, row) : undefined;
      if (isObject(item) && before?.row !== undefined) there.push({ item, row, before });
    }
    const targets = there.map(({ item, row }) =>
      isObject(pattern)
        ? Object.fromEntries(Object.keys(pattern).map((name) => [name, item[name] ?? row[name]]))
        : idIn(row),
    );
    if (targets.length === 0) return undefined;
    const body = { ...(isObject(known.body) ? known.body : {}), [removal.member]: targets };
    const exchange = await session.send({ ...known, body });
    if (!isSuccess(exchange) || hasItemErrors(exchange)) return undefined;
    for (const { item, row, before } of there) {
      const after = await observed(creation, item, row);
      if (after?.row === undefined || print(after.row) !== print(before.row)) continue;
      const exchanges = [before.exchange, exchange, after.exchange];
      return [differ('delete-lost', removal.operation, '', { actual: text(after.row), exchanges })];
    }
    return [];
  },
};
