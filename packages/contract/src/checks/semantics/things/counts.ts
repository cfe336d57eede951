import type { Operation, Parameter } from '../../../document/operation.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { kindOfPath, rowsSchema, singular } from '../../../run/names.ts';
import type { CheckContext } from '../../checks.ts';
import { readCollection } from './collection.ts';
import { type Difference, type Look, text } from './probe.ts';
import { answerSchema, memberNames, memberOf, partsOf } from './schema.ts';
import { thingIn } from './thing-in.ts';

/** A member that counts, and the list of what it counts. */
interface Counting {
  readonly name: string;
  readonly list: Operation;
}

/** How many things stand beneath another is told as the list of them shows: `tripsCount` of what has `/trips` beneath it. */
export function counted(context: CheckContext, teller: Operation): Look {
  const { session, baselines } = context;
  return async () => {
    const known = baselines.of(teller)?.call;
    const found: Difference[] = [];
    let isSeen = false;
    for (const { name, list } of countingOf(context, teller)) {
      // Where things were made and deleted, a count that is kept by hand is the likeliest to be wrong.
      const maker = session.operations.find(({ method, path }) => method === 'POST' && path === list.path);
      const path = ((maker === undefined ? undefined : baselines.of(maker)) ?? baselines.of(list))?.call.path;
      const all = path === undefined ? undefined : await readCollection(context, list, path);
      if (known === undefined || path === undefined || all?.isComplete !== true) continue;
      const exchange = await session.send({ ...known, path: { ...known.path, ...path } });
      const told = thingIn(exchange)[name];
      if (!isSuccess(exchange) || typeof told !== 'number') continue;
      isSeen = true;
      if (told === all.rows.length) continue;
      found.push({
        check: 'count-disagrees',
        operation: teller,
        about: name,
        title: `${name} in ${teller.id} is another number than ${list.id} has rows`,
        expected: `${name}: ${all.rows.length}`,
        actual: `${name}: ${text(told)}`,
        node: memberOf(session.document, [answerSchema(teller) ?? {}], name)[0],
        fix: `Count what ${list.id} lists, or name ${name} after what it counts.`,
        exchanges: [all.exchanges.at(-1), exchange],
      });
    }
    return isSeen ? found : undefined;
  };
}

/** What an operation counts of what stands beneath the same thing, and can be listed there without any condition. */
function countingOf({ session: { document, operations } }: CheckContext, teller: Operation): Counting[] {
  const schema = answerSchema(teller);
  const thing = teller.path.slice(0, teller.path.lastIndexOf('}') + 1);
  if (teller.method !== 'GET' || thing === '' || rowsSchema(document, schema) !== undefined) return [];
  return memberNames(document, schema).flatMap((name) => {
    const kind = kindCounted(name);
    const isWhole = memberOf(document, [schema ?? {}], name)
      .flatMap((one) => partsOf(document, one))
      .some(({ type }) => [type].flat().includes('integer'));
    if (kind === undefined || !isWhole) return [];
    const list = operations.find(
      (one) =>
        one.method === 'GET' &&
        one.path.startsWith(`${thing}/`) &&
        !one.path.slice(thing.length + 1).includes('/') &&
        kindOfPath(one.path) === kind &&
        rowsSchema(document, answerSchema(one)) !== undefined &&
        !one.parameters.some(leavesOut),
    );
    return list === undefined ? [] : [{ name, list }];
  });
}

function kindCounted(name: string): string | undefined {
  const [, before, after] = /^(?:(.+?)[-_]?(?:c|C)ount|(?:number_?[oO]f|num)[-_]?(.+))$/.exec(name) ?? [];
  const counted = before ?? after;
  return counted === undefined ? undefined : singular(counted);
}

/** Whether a list may leave something out that nobody asked it to: it has a flag for more, or a condition by default. */
function leavesOut({ in: place, name, schema }: Parameter): boolean {
  const isPaging = /page|limit|size|offset|cursor|sort|order|direction|fields|include|expand/i.test(name);
  const isFlag = [schema.type].flat().includes('boolean');
  return place === 'query' && (isFlag || (!isPaging && schema.default !== undefined));
}
