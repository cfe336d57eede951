import type { Exchange } from '../../../http/call.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { lastParameter } from '../../../run/names.ts';
import type { Bench, Thing } from './bench.ts';
import { readCollection } from './collection.ts';
import { type Difference, type Look, text } from './probe.ts';
import { thingIn } from './thing-in.ts';
import { madeAndRead } from './update.ts';

/** What was made beneath one thing is not found beneath another. */
export function misplaced(bench: Bench): Look {
  const { collection, read, lists } = bench.resource;
  const parent = lastParameter(collection);
  return async (label) => {
    if (parent === undefined) return undefined;
    const made = await madeAndRead(bench, label);
    const others = made === undefined ? [] : othersThan(bench, made.thing, parent);
    if (made === undefined || others.length === 0) return undefined;
    const found: Difference[] = [];
    let isSeen = false;
    for (const other of others.slice(0, 2)) {
      const path = { [parent]: other };
      const call = read === undefined ? undefined : bench.callOn(read, made.thing);
      if (read !== undefined && call !== undefined && parent in call.path) {
        const there = await bench.session.send({ ...call, path: { ...call.path, ...path } });
        isSeen = true;
        if (isSuccess(there) && bench.isOf(made.thing, thingIn(there)))
          found.push(differs(bench, read, made.thing, `${read.id} finds it beneath another ${parent}`, there));
      }
      for (const list of lists.filter(({ path: of }) => of === collection)) {
        const rows = await readCollection(bench.context, list, { ...made.thing.call.path, ...path });
        if (rows === undefined) continue;
        isSeen = true;
        if (rows.rows.some((row) => bench.isOf(made.thing, row)))
          found.push(
            differs(bench, list, made.thing, `${list.id} has it beneath another ${parent}`, rows.exchanges.at(-1)),
          );
      }
    }
    return isSeen ? [...new Map(found.map((one) => [one.title, one])).values()] : undefined;
  };
}

/** Values that lead to other things of the kind that it was made beneath. */
function othersThan({ session, resource }: Bench, thing: Thing, parent: string): unknown[] {
  const known = session.pool.forParameter(resource.create, parent, false).likely;
  return known.filter((value) => String(value) !== String(thing.call.path[parent]));
}

function differs(
  bench: Bench,
  operation: Difference['operation'],
  thing: Thing,
  title: string,
  exchange: Exchange | undefined,
): Difference {
  return {
    check: 'found-elsewhere',
    operation,
    about: '',
    title: `What ${bench.resource.create.id} made beneath one thing: ${title}`,
    expected: `404, or no row with ${text(thing.id)}`,
    actual: `${exchange?.answer.status} ${exchange?.answer.text.slice(0, 150) ?? ''}`,
    fix: 'Look only among what belongs to the thing that the path names.',
    exchanges: [thing.made, exchange],
  };
}
