import { extensionOf, type Operation } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isReadingPost } from '../../../run/names.ts';
import type { CheckContext } from '../../check.ts';
import { type FullList, listAs, readCollection } from '../lists/listing.ts';
import { type BehaviorCheck, type Difference, differ, ifSeen, need, observe } from '../observe.ts';
import { isGone } from './compare.ts';
import type { ResourceHarness } from './harness.ts';
import { hasRows } from './resource-types.ts';
import { Updating } from './update.ts';

/** Whether an operation requires authentication. */
function isPrivate({ security, node }: Operation): boolean {
  const isOpen = security.length === 0 || security.some((one) => Object.keys(one).length === 0);
  return extensionOf(node).private !== false && !isOpen;
}

export const separated: BehaviorCheck<ResourceHarness> = {
  name: 'otherTenant',
  describe: "Another tenant cannot read, update or delete the caller's resources.",
  applies: ({ session }) => session.identities.can('otherTenant'),
  async run(harness, label) {
    const { create, read, updates, remove, lists, actions } = harness.resourceType;
    const created = await harness.createAndRead(label);
    const { resource, exchange } = created;
    const found: Difference[] = [];
    const differs = (check: CheckName, operation: Operation, first: Exchange, ...others: Exchange[]) => {
      const exchanges = [exchange, first, ...others];
      found.push(differ(check, operation, '', { actual: responseText(first), exchanges }));
    };
    const asOther = read && isPrivate(read) ? await harness.read(resource, {}, 'otherTenant') : undefined;
    if (read && asOther && isSuccess(asOther)) differs('tenant-reads', read, asOther);
    for (const list of lists.filter(isPrivate).slice(0, 2)) {
      const page = await listAs(harness.context, list, 'otherTenant');
      if (page?.rows.some((row) => harness.isOf(resource, row))) differs('tenant-lists', list, page.exchange);
    }
    for (const update of [...updates, ...actions].filter(isPrivate)) {
      const [change] = new Updating(harness, update).changes(created, label);
      const body = actions.includes(update) ? harness.context.requests.of(update)?.call.body : change;
      const response = await ifSeen(() => harness.change(update, resource, body, {}, 'otherTenant'));
      // A PUT may create a resource with the same name for the other tenant.
      const isOwn =
        update === create && (await harness.shown(resource))?.exchange.response.text === exchange.response.text;
      if (response && isSuccess(response) && !isOwn) differs('tenant-changes', update, response);
    }
    if (remove === undefined || !isPrivate(remove)) return found;
    const response = await ifSeen(() => harness.remove(resource, {}, 'otherTenant'));
    const after = await harness.read(resource);
    const isChanged = after && (isGone(after) || after.response.text !== exchange.response.text);
    if (response && isSuccess(response) && isChanged && found.length === 0)
      differs('tenant-deletes', remove, response, after);
    return found;
  },
};

/** Lists of activity, such as logs, grow by themselves. */
const isActivity =
  /audit|\blogs?\b|histor|deliver|session|token|usage|stat|metric|activit|trace|event|notification|access/i;

/** Reading must not change any list. */
export async function checkSafety(context: CheckContext): Promise<void> {
  const { session, requests } = context;
  const isReader = (one: Operation) =>
    (['GET', 'HEAD'].includes(one.method) || isReadingPost(one)) && requests.of(one) !== undefined;
  const readers = session.judged.filter((one) => isReader(one) && extensionOf(one.node).safe !== false);
  const lists = session.operations.filter(
    (one) => isReader(one) && !isActivity.test(one.path) && hasRows(session.document, one),
  );
  if (readers.length === 0 || lists.length === 0) return;
  const [first, second] = [await snapshot(context, lists), await snapshot(context, lists)];
  for (const operation of readers) await read(context, operation);
  const moved = movedIn(first, second, await snapshot(context, lists)).slice(0, 4);
  for (const operation of moved.length > 0 ? readers : [])
    await observe(session, operation, async () => {
      const [quiet, before] = [await snapshot(context, moved), await snapshot(context, moved)];
      const exchange = await read(context, operation);
      if (exchange === undefined || !isSuccess(exchange)) return undefined;
      const after = await snapshot(context, moved);
      const [list] = movedIn(quiet, before, after);
      return list && [changes(operation, list, [before.get(list)?.exchange, exchange, after.get(list)?.exchange])];
    });
  // A list that changes with every read cannot be compared with itself. It is reported only if it grows evenly.
  const unsteady = [...first.keys()].filter(
    (one) => readers.includes(one) && first.get(one)?.print !== second.get(one)?.print,
  );
  for (const list of unsteady)
    await observe(session, list, async () => {
      const reads: FullList[] = [];
      for (let turn = 0; turn < 4; turn += 1) reads.push(need(await readCollection(context, list)));
      const sizes = reads.map(({ total, rows }) => total ?? rows.length);
      const steps = sizes.slice(1).map((size, index) => size - (sizes[index] ?? 0));
      const isGrowing = steps.every((step) => step > 0 && step === steps[0]);
      const exchanges = reads.slice(-2).map(({ exchange }) => exchange);
      return isGrowing ? [changes(list, list, exchanges)] : [];
    });
}

async function read({ session, requests }: CheckContext, operation: Operation): Promise<Exchange | undefined> {
  const known = requests.of(operation)?.call;
  return known === undefined || session.isOver ? undefined : session.send(known);
}

/** The rows of lists as text, for comparison. */
type Snapshot = ReadonlyMap<Operation, { readonly print: string; readonly exchange: Exchange }>;

/** Properties that record reads. */
const changesOnRead =
  /last_?(?:seen|read|used|access|viewed|login|active)|views?|hits?|accessed|read_?at|expires|url$|token/i;

async function snapshot(context: CheckContext, lists: readonly Operation[]): Promise<Snapshot> {
  const prints = new Map<Operation, { print: string; exchange: Exchange }>();
  const without = (name: string, value: unknown) => (changesOnRead.test(name) ? undefined : value);
  for (const operation of lists) {
    const list = context.session.isOver ? undefined : await readCollection(context, operation);
    if (list === undefined) continue;
    prints.set(operation, { print: JSON.stringify([list.total, list.rows], without), exchange: list.exchange });
  }
  return prints;
}

/** The lists that differ between the last two of three snapshots, but not between the first two. */
function movedIn(quiet: Snapshot, before: Snapshot, after: Snapshot): Operation[] {
  return [...before.keys()].filter((list) => {
    const [first, second, third] = [quiet, before, after].map((prints) => prints.get(list)?.print);
    return first === second && second !== third && third !== undefined;
  });
}

function changes(operation: Operation, list: Operation, exchanges: Difference['exchanges']): Difference {
  return differ('read-changes', operation, '', { actual: `other rows of ${list.id} after a read`, exchanges });
}
