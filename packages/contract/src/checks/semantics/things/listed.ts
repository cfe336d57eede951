import type { Operation } from '../../../document/operation.ts';
import type { JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import type { Bench, Thing } from './bench.ts';
import type { Collection } from './collection.ts';
import { type Difference, type Look, text } from './probe.ts';

/** What is created is in the list, with an id of its own, and counts in the total. */
export function listed(bench: Bench, list: Operation): Look {
  const { create, kind } = bench.resource;
  return async (label) => {
    const before = await bench.list(list);
    if (before === undefined || !(await isSameKind(bench, list, before))) return undefined;
    const thing = await bench.make(label);
    if (thing === undefined || thing.id === undefined || thing.made.answer.status === 202) return undefined;
    const after = await bench.list(list);
    if (after === undefined) return undefined;
    const exchanges = [thing.made, after.exchanges.at(-1)];
    const isIn = after.rows.some((row) => bench.isOf(thing, row));
    if (before.rows.some((row) => bench.isOf(thing, row))) return [sameId(bench, thing, exchanges)];
    if (!isIn && after.isComplete && !mayBeHidden((await bench.shown(thing))?.row ?? thing.body, before))
      return [
        {
          check: 'create-not-listed',
          operation: create,
          about: list.id,
          title: `What ${create.id} made is not in ${list.id}`,
          expected: `a row with the ${kind} ${text(thing.id)}`,
          actual: `${after.rows.length} rows, none of them with it`,
          node: list.node,
          fix: 'Show in the list what is created, or say in the contract which rows it leaves out.',
          exchanges,
        },
      ];
    if (
      before.total === undefined ||
      after.total === undefined ||
      !isIn ||
      after.total !== before.total ||
      before.total > 5000
    )
      return [];
    return [
      {
        check: 'create-total',
        operation: list,
        about: create.id,
        title: `The total of ${list.id} does not count what is created`,
        expected: String(before.total + 1),
        actual: String(after.total),
        fix: 'Count all rows that the list has.',
        exchanges: [before.exchanges.at(-1), ...exchanges],
      },
    ];
  };
}

function sameId(bench: Bench, thing: Thing, exchanges: Difference['exchanges']): Difference {
  return {
    check: 'create-same-id',
    operation: bench.resource.create,
    about: '',
    title: `${bench.resource.create.id} answers the id of a thing that was there before`,
    expected: 'an id of its own for each thing',
    actual: text(thing.id),
    fix: 'Give each thing an id of its own.',
    exchanges,
  };
}

/** Whether the rows are things that can be read by their ids; a list at the path of the creation surely has them. */
async function isSameKind(bench: Bench, list: Operation, { rows }: Collection): Promise<boolean> {
  const { collection, read } = bench.resource;
  if (list.path === collection) return true;
  const [row] = rows;
  // Of what cannot be read, nobody knows whether it is of the kind at all.
  if (read === undefined || row === undefined || !bench.isReadable) return false;
  const id = row.id ?? row[Object.keys(row).find((key) => /^_?(?:id|uuid)$/i.test(key)) ?? ''];
  const thing = await bench.make('of the same kind');
  if (thing === undefined || id === undefined) return false;
  const name = Object.keys(thing.address).at(-1) ?? '';
  const other = await bench.read({ ...thing, id, address: { ...thing.address, [name]: id } });
  return other !== undefined && isSuccess(other);
}

/** Whether a list may leave the thing out for what it is: a word or flag of it that no row has. */
function mayBeHidden(row: JsonObject, { rows, rowSchema }: Collection): boolean {
  if (rowSchema === undefined) return false;
  return Object.entries(row).some(
    ([name, value]) =>
      (typeof value === 'boolean' || /status|state|visib|publish|archiv|deleted/i.test(name)) &&
      rows.every((other) => JSON.stringify(other[name]) !== JSON.stringify(value)),
  );
}
