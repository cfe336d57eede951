import type { Operation } from '../../../document/operation.ts';
import { jsonText } from '../../../json.ts';
import type { View } from '../../../schema/view.ts';
import { Listing } from '../lists/listing.ts';
import { type BehaviorCheck, type Difference, differ, ifSeen, valued } from '../observe.ts';
import { isFleeting, isServerOwned } from './compare.ts';
import { machineOf } from './machine.ts';
import type { Created, ResourceHarness, Shown } from './resource.ts';
import { declares } from './resource-types.ts';
import { Updating } from './update.ts';

/** Properties that a change of another resource may change: only one is the default, the latest or the first. */
const isOfOne = /default|primary|latest|current|main|active|order|index|number|count|total|sum|balance/i;
const isStable = (name: string) => !isFleeting.test(name) && (isServerOwned(name) || !isOfOne.test(name));

/** How often a resource is read before another one changes. */
const reads = 4;

type Row = Omit<Shown, 'view'>;

/** What is known of other resources, and whether these are all. */
interface Others {
  readonly all: ReadonlyMap<string, Row>;
  readonly isComplete: boolean;
}

export const bystanders: BehaviorCheck<ResourceHarness> = {
  name: 'bystanders',
  describe: 'Reading a resource, and creating, changing and deleting another one, change nothing in it.',
  // A job changes by itself.
  applies: ({ resourceType: { read, create } }) => read !== undefined && !declares(create, 202),
  async run(harness, label) {
    const { create, read = create, remove, updates, list } = harness.resourceType;
    const first = await harness.createAndRead(label);
    const target = await harness.createAndRead(`${label} target`);
    const last = await harness.createAndRead(`${label} last`);
    for (let count = 0; count < reads; count += 1)
      for (const { resource } of [first, last]) await harness.shown(resource);
    const look = () => othersOf(harness, target, [first, last]);
    let before: Others = {
      all: new Map([first, last].map((one) => [String(one.resource.id), one])),
      isComplete: false,
    };
    const found: Difference[] = [];
    const compare = async (check: 'read-unsteady' | 'unrelated-change', by: Operation) => {
      const after = await look();
      found.push(...moved(check, by, first.view, before, after));
      before = after;
    };
    await compare('read-unsteady', read);
    if (list !== undefined) await compare('read-unsteady', list);
    const { moves } = machineOf(harness);
    const action = moves.find(({ operation }) => operation.method === 'POST')?.operation;
    const known = action && harness.context.requests.of(action)?.call.body;
    const steps: readonly (readonly [by: Operation | undefined, step: (by: Operation) => Promise<unknown>])[] = [
      [create, () => harness.create(`${label} another`)],
      ...updates.slice(0, 2).map((update) => [update, () => changed(harness, update, target, label)] as const),
      [action, (by) => harness.change(by, target.resource, known)],
      [remove, () => harness.remove(target.resource)],
    ];
    for (const [by, step] of steps) {
      if (by === undefined || harness.session.isOver || found.length > 0) continue;
      await ifSeen(() => step(by));
      await compare('unrelated-change', by);
    }
    return found;
  },
};

async function changed(harness: ResourceHarness, update: Operation, target: Created, label: string): Promise<unknown> {
  const updating = new Updating(harness, update);
  const [body] = updating.changes(target, label);
  return body && updating.send(target.resource, body);
}

/** What is read of two resources, and what their list has of all others but the one that changes. */
async function othersOf(
  harness: ResourceHarness,
  { resource: target }: Created,
  created: readonly Created[],
): Promise<Others> {
  const { list } = harness.resourceType;
  const all = await (list && Listing.of(harness.context, list, target.call.path)?.walk());
  const rows = (all?.rows ?? []).filter(
    (row) => ![target, ...created.map((one) => one.resource)].some((one) => harness.isOf(one, row)),
  );
  const others = new Map(
    rows.flatMap((row) => (all ? [[`row ${all.keyOf(row)}`, { row, exchange: all.exchange }]] : [])),
  );
  for (const { resource } of created) {
    const shown = await harness.shown(resource);
    if (shown !== undefined) others.set(String(resource.id), shown);
  }
  return { all: others, isComplete: all?.isComplete === true };
}

/** What is there no more, or has other values. Rows of a list can be on another page. */
function moved(
  check: 'read-unsteady' | 'unrelated-change',
  by: Operation,
  view: View,
  before: Others,
  after: Others,
): Difference[] {
  return [...before.all].flatMap(([key, { row, exchange }]) => {
    const now = after.all.get(key);
    const exchanges = [exchange, now?.exchange];
    if (now === undefined)
      return key.startsWith('row ') && !(before.isComplete && after.isComplete)
        ? []
        : [differ(check, by, 'gone', { actual: 'another resource is gone', exchanges })];
    const names = Object.keys(row).filter((name) => isStable(name) && jsonText(row[name]) !== jsonText(now.row[name]));
    return names.map((name) => {
      const { node } = view.member(name);
      return differ(check, by, name, { ...valued(name, row[name], now.row[name]), node, exchanges });
    });
  });
}
