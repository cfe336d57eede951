import type { Operation } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { isOwnId } from '../../../run/names.ts';
import type { CheckContext } from '../../checks.ts';
import type { Bench } from './bench.ts';
import { listAs, readCollection } from './collection.ts';
import { isGone } from './create.ts';
import { type Difference, type Look, text } from './probe.ts';
import type { Reading } from './read.ts';
import { requestSchema } from './schema.ts';
import { thingIn } from './thing-in.ts';
import { changesOf, madeAndRead } from './update.ts';
import { saidFlag } from './vocabulary.ts';

/** What the caller made is not another tenant's to see, to change or to delete. */
export function separated(bench: Bench): Look {
  const { create, read, updates, remove, lists } = bench.resource;
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
      // What is put may be a thing of the other tenant's own, under the same name.
      const isOwn = update === create && (await bench.shown(thing))?.exchange.answer.text === made.exchange.answer.text;
      if (answer !== undefined && isSuccess(answer) && !isOwn)
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

/** What is in the caller's list and not in another tenant's is not another tenant's to read. */
export function unshared(context: CheckContext, { read, name, list }: Reading): Look {
  return async () => {
    if (!isPrivate(read) || !isPrivate(list)) return undefined;
    const known = context.baselines.of(read)?.call;
    const mine = (await readCollection(context, list))?.rows ?? [];
    const theirs = await listAs(context, list, 'stranger');
    if (known === undefined || theirs === undefined || mine.length === 0) return undefined;
    const idOf = (row: JsonObject) => row[name] ?? row[Object.keys(row).find(isOwnId) ?? ''];
    const others = new Set(theirs.rows.map(idOf));
    // Lists that have anything in common may be one list for all.
    const ids = mine.map(idOf).filter((id) => id !== undefined);
    if (ids.length === 0) return undefined;
    const shared = ids.find((id) => others.has(id));
    const call = { ...known, path: { ...known.path, [name]: shared ?? ids[0] } };
    if (shared !== undefined) return unreadable(context, read, list, call, theirs.exchange);
    const own = await context.session.send(call);
    const seen = await context.session.send(call, { identity: 'stranger' });
    if (!isSuccess(own)) return undefined;
    if (!isSuccess(seen) || idOf(thingIn(seen)) !== idOf(thingIn(own))) return [];
    return [
      {
        check: 'stranger-reads',
        operation: read,
        about: '',
        title: `Another tenant reads with ${read.id} what only the caller's ${list.id} shows`,
        expected: '404 or 403, and nothing of it',
        actual: `${seen.answer.status} ${seen.answer.text.slice(0, 120)}`,
        fix: 'Look only among what the caller may see.',
        exchanges: [theirs.exchange, own, seen],
      },
    ];
  };
}

/** A row in the lists of two tenants is one for both; but then either can read it. */
async function unreadable(
  { session }: CheckContext,
  read: Operation,
  list: Operation,
  call: Call,
  theirs: Exchange,
): Promise<Difference[]> {
  const seen = await session.send(call, { identity: 'stranger' });
  if (!isGone(seen) && seen.answer.status !== 403) return [];
  return [
    {
      check: 'stranger-lists',
      operation: list,
      about: '',
      title: `${list.id} shows another tenant what ${read.id} keeps from it`,
      expected: 'only what may be read one by one, too',
      actual: `a row in the list, and ${seen.answer.status} where it is read`,
      fix: 'Look only among what the caller may see.',
      exchanges: [theirs, seen],
    },
  ];
}

/** Whether an operation is for those who say who they are. */
function isPrivate(operation: Operation): boolean {
  const isOpen = operation.security.length === 0 || operation.security.some((one) => Object.keys(one).length === 0);
  return saidFlag(operation, 'private') !== false && !isOpen;
}
