import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isSuccess } from '../../../run/baseline.ts';
import type { Bench } from './bench.ts';
import { listAs } from './collection.ts';
import { isGone } from './create.ts';
import { type Difference, type Look, text } from './probe.ts';
import { requestSchema } from './schema.ts';
import { changesOf, madeAndRead } from './update.ts';
import { saidFlag } from './vocabulary.ts';

/** What the caller made is not another tenant's to see, to change or to delete. */
export function separated(bench: Bench): Look {
  const { read, updates, remove, lists } = bench.resource;
  return async (label) => {
    const made = await madeAndRead(bench, label);
    if (made === undefined) return undefined;
    const { thing } = made;
    const found: Difference[] = [];
    const differs = (check: string, operation: Operation, title: string, ...exchanges: Exchange[]) =>
      found.push({
        check,
        operation,
        about: '',
        title,
        expected: '404 or 403, and nothing of it',
        actual: `${exchanges[0]?.answer.status} ${exchanges[0]?.answer.text.slice(0, 120)}`,
        fix: 'Look only among what the caller may see.',
        exchanges: [made.exchange, ...exchanges],
      });
    if (read !== undefined && isPrivate(read)) {
      const seen = await bench.read(thing, { identity: 'stranger' });
      if (seen !== undefined && isSuccess(seen))
        differs('stranger-reads', read, `Another tenant reads a ${bench.resource.kind} of the caller`, seen);
    }
    for (const list of lists.filter(isPrivate).slice(0, 2)) {
      const page = await listAs(bench.context, list, 'stranger');
      if (page?.rows.some((row) => bench.isOf(thing, row)))
        differs(
          'stranger-lists',
          list,
          `The ${text(thing.id)} of the caller is in another tenant's ${list.id}`,
          page.exchange,
        );
    }
    for (const update of updates.filter(isPrivate)) {
      const [body] = changesOf(bench, update, requestSchema(update) ?? {}, made, label);
      const answer = body === undefined ? undefined : await bench.change(update, thing, body, {}, 'stranger');
      if (answer !== undefined && isSuccess(answer))
        differs('stranger-changes', update, `Another tenant changes a ${bench.resource.kind} of the caller`, answer);
    }
    if (remove !== undefined && isPrivate(remove)) {
      const answer = await bench.remove(thing, {}, 'stranger');
      const after = await bench.read(thing);
      if (
        answer !== undefined &&
        isSuccess(answer) &&
        after !== undefined &&
        (isGone(after) || after.answer.text !== made.exchange.answer.text) &&
        found.length === 0
      )
        differs(
          'stranger-deletes',
          remove,
          `Another tenant deletes a ${bench.resource.kind} of the caller`,
          answer,
          after,
        );
    }
    return found.map((one) => ({ ...one, title: one.title.replaceAll(text(thing.id), bench.resource.kind) }));
  };
}

/** Whether an operation is for those who say who they are. */
function isPrivate(operation: Operation): boolean {
  const isOpen = operation.security.length === 0 || operation.security.some((one) => Object.keys(one).length === 0);
  return saidFlag(operation, 'private') !== false && !isOpen;
}
