import type { Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import type { Bench } from './bench.ts';
import { isGone } from './create.ts';
import { type Difference, type Look, text } from './probe.ts';
import { madeAndRead, untouched } from './update.ts';

/** What is deleted is gone, or shown as deleted, and nothing else is. */
export function removed(bench: Bench): Look {
  const { remove, read, lists } = bench.resource;
  return async (label) => {
    const made = await madeAndRead(bench, label);
    const other = await madeAndRead(bench, `${label} other`);
    if (remove === undefined || read === undefined || made === undefined) return undefined;
    const list = lists.find((one) => one.path === bench.resource.collection);
    const before = list === undefined ? undefined : await bench.list(list);
    const answer = await bench.remove(made.thing);
    if (answer === undefined || !isSuccess(answer) || answer.answer.status === 202) return undefined;
    const after = await bench.read(made.thing);
    if (after === undefined) return undefined;
    const differences: Difference[] = [];
    if (!isGone(after) && isSuccess(after) && isUnchanged(made.exchange, after))
      differences.push({
        check: 'delete-lost',
        operation: remove,
        about: '',
        title: `What ${remove.id} deletes is still there, as it was`,
        expected: '404 or 410, or a row that says that it is deleted',
        actual: `${after.answer.status} ${after.answer.text.slice(0, 160)}`,
        fix: 'Delete it, or mark it as deleted.',
        exchanges: [answer, after],
      });
    const gone = isGone(after);
    if (gone && list !== undefined && before !== undefined) {
      const now = await bench.list(list);
      const was = before.rows.find((row) => bench.isOf(made.thing, row));
      const is = now?.rows.find((row) => bench.isOf(made.thing, row));
      if (was !== undefined && is !== undefined && isSameRow(was, is))
        differences.push({
          check: 'delete-listed',
          operation: list,
          about: remove.id,
          title: `${list.id} still has what ${remove.id} deleted`,
          expected: `no row with ${text(made.thing.id)}`,
          actual: text(is),
          fix: 'Leave out of the list what is deleted.',
          exchanges: [answer, now?.exchanges.at(-1)],
        });
    }
    const again = await bench.remove(made.thing);
    differences.push(...(await untouched(bench, remove, other, again ?? answer)));
    if (isGone(after) && typeof made.thing.id === 'string' && made.thing.id.length > 7)
      bench.session.pool.forget(made.thing.id);
    return differences;
  };
}

function isUnchanged(before: Exchange, after: Exchange): boolean {
  return JSON.stringify(before.answer.json?.value) === JSON.stringify(after.answer.json?.value);
}

function isSameRow(one: JsonObject, other: JsonObject): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
