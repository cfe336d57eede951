import { Big } from 'big.js';
import { extensionOf, type Operation, type Parameter } from '../../../document/operation.ts';
import { agrees, calculationOf, numberOf, type Sum, sumOver } from '../../../run/arithmetic.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { kindOfPath, rowsSchema, singular } from '../../../run/names.ts';
import type { CheckContext } from '../../check.ts';
import { readCollection } from './collection.ts';
import { type Difference, type Observation, text } from './probe.ts';
import { resourceIn } from './resource-in.ts';
import { memberNames, memberOf, partsOf, responseSchema } from './schema.ts';

/** A number that aggregates a nested list. */
interface Tally {
  readonly name: string;
  readonly list: Operation;
  /** The sum to calculate; undefined for the number of rows. */
  readonly sum: Sum | undefined;
}

/**
 * Checks aggregates against their list: `tripsCount` of a resource with `/trips` below it, or a declared sum over
 * `trips`.
 */
export function counted(context: CheckContext, source: Operation): Observation {
  const { session, baselines } = context;
  return async () => {
    const known = baselines.of(source)?.call;
    const found: Difference[] = [];
    let isSeen = false;
    for (const { name, list, sum } of talliesOf(context, source)) {
      // Prefers a parent whose rows were created and deleted: manually maintained counts fail there first.
      const creation = session.operations.find(({ method, path }) => method === 'POST' && path === list.path);
      const path = ((creation === undefined ? undefined : baselines.of(creation)) ?? baselines.of(list))?.call.path;
      const all = path === undefined ? undefined : await readCollection(context, list, path);
      if (known === undefined || path === undefined || all?.isComplete !== true) continue;
      const exchange = await session.send({ ...known, path: { ...known.path, ...path } });
      const returned = resourceIn(exchange)[name];
      const expected = sum === undefined ? new Big(all.rows.length) : sumOver(all.rows, sum);
      if (!isSuccess(exchange) || expected === undefined || numberOf(returned) === undefined) continue;
      isSeen = true;
      if (agrees(returned, expected)) continue;
      const what = sum === undefined ? 'the number of rows' : `the sum of ${sum.member} in the rows`;
      found.push({
        check: 'count-disagrees',
        operation: source,
        about: name,
        title: `${name} in ${source.id} is not ${what} of ${list.id}`,
        expected: `${name}: ${expected.toFixed()}`,
        actual: `${name}: ${text(returned)}`,
        node: memberOf(session.document, [responseSchema(source) ?? {}], name)[0],
        fix: `Calculate ${name} from the rows of ${list.id}, or rename it.`,
        exchanges: [all.exchanges.at(-1), exchange],
      });
    }
    return isSeen ? found : undefined;
  };
}

/** The aggregates in a response whose list exists below the same resource, without default filters. */
function talliesOf({ session: { document, operations } }: CheckContext, source: Operation): Tally[] {
  const schema = responseSchema(source);
  const resource = source.path.slice(0, source.path.lastIndexOf('}') + 1);
  if (source.method !== 'GET' || resource === '' || rowsSchema(document, schema) !== undefined) return [];
  const beneath = operations.filter(
    ({ method, path, parameters }) =>
      method === 'GET' &&
      path.startsWith(`${resource}/`) &&
      !path.slice(resource.length + 1).includes('/') &&
      !parameters.some(leavesOut),
  );
  return memberNames(document, schema).flatMap((name) => {
    const parts = memberOf(document, [schema ?? {}], name).flatMap((one) => partsOf(document, one));
    if (parts.some((part) => extensionOf(part).calculated === false)) return [];
    const isWhole = parts.some(({ type }) => [type].flat().includes('integer'));
    const kind = isWhole ? kindCounted(name) : undefined;
    const sum = parts.map(calculationOf).find((one) => one !== undefined && 'member' in one);
    const list = beneath.find((one) => {
      const rows = rowsSchema(document, responseSchema(one));
      if (rows === undefined) return false;
      if (kind !== undefined) return kindOfPath(one.path) === kind;
      return sum !== undefined && kindOfPath(one.path) === singular(sum.of);
    });
    return list === undefined ? [] : [{ name, list, sum: kind === undefined ? sum : undefined }];
  });
}

function kindCounted(name: string): string | undefined {
  const [, before, after] = /^(?:(.+?)[-_]?(?:c|C)ount|(?:number_?[oO]f|num)[-_]?(.+))$/.exec(name) ?? [];
  const counted = before ?? after;
  return counted === undefined ? undefined : singular(counted);
}

/** Whether a list excludes rows by default: it has a boolean parameter, or a filter with a default. */
function leavesOut({ in: place, name, schema }: Parameter): boolean {
  const isPaging = /page|limit|size|offset|cursor|sort|order|direction|fields|include|expand/i.test(name);
  const isFlag = [schema.type].flat().includes('boolean');
  return place === 'query' && (isFlag || (!isPaging && schema.default !== undefined));
}
