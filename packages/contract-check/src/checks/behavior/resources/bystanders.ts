import type { Operation } from '../../../document/operation.ts';
import { jsonText } from '../../../json.ts';
import { ifSent } from '../../../run/parallel.ts';
import { type Differences, differ, differIn, needs } from '../../observe.ts';
import { Listing } from '../lists/listing.ts';
import { isFleeting, isOpen, isServerOwned, phaseOf } from './compare.ts';
import type { Created, ResourceHarness, Shown } from './resource.ts';
import { isJob } from './resource-types.ts';
import { machineOf } from './states.ts';
import { Updating } from './update.ts';

/** Properties that a change of another resource may change: only one is the default, the latest or the first. */
const isOfOne = /default|primary|latest|current|main|active|order|index|number|count|total|sum|balance/i;
const isStable = (name: string) => !isFleeting.test(name) && (isServerOwned(name) || !isOfOne.test(name));

/** How often a resource is read before another one changes. */
const reads = 4;

/** What is known of other resources, and whether these are all. */
interface Others {
  readonly all: ReadonlyMap<string, Omit<Shown, 'view'>>;
  readonly isComplete: boolean;
}

/** Reading a resource, and creating, changing and deleting another one, change nothing in it. */
export async function* bystanders(harness: ResourceHarness, label: string): Differences {
  const { create, read, remove, updates, list } = harness.resourceType;
  // A job changes by itself.
  if (read === undefined || isJob(harness.document, create)) return;
  const first = await harness.createAndRead(label);
  const target = await harness.createAndRead(`${label} target`);
  // An action can leave its resource in a state in which it cannot be deleted.
  const deleted = await harness.createAndRead(`${label} deleted`);
  const created = [first, await harness.createAndRead(`${label} last`)];
  // Where creations return the same resource, it is no other one.
  needs(new Set([target, deleted, ...created].map(({ resource }) => String(resource.id))).size === 4);
  for (let count = 0; count < reads; count += 1) for (const { resource } of created) await harness.shown(resource);
  let before: Others = { all: new Map(created.map((one) => [String(one.resource.id), one])), isComplete: false };
  let isSteady = true;
  async function* compared(check: 'read-unsteady' | 'unrelated-change', by: Operation): Differences {
    const after = await othersOf(harness, [target, deleted], created);
    for (const [key, { row, exchange }] of before.all) {
      const now = after.all.get(key);
      const exchanges = [exchange, now?.exchange];
      // Rows of a list can be on another page.
      const mayBeElsewhere = key.startsWith('row ') && !(before.isComplete && after.isComplete);
      if (now === undefined && mayBeElsewhere) continue;
      // What runs ends by itself.
      if (now !== undefined && isOpen({ row }) && phaseOf(row) !== phaseOf(now.row)) continue;
      const names = Object.keys(row).filter((one) => isStable(one) && jsonText(row[one]) !== jsonText(now?.row[one]));
      isSteady &&= now !== undefined && names.length === 0;
      if (now === undefined) yield differ(check, by, 'gone', { actual: 'another resource is gone', exchanges });
      else for (const name of names) yield differIn(check, by, name, [row[name], now.row[name]], exchanges, first.view);
    }
    before = after;
  }
  yield* compared('read-unsteady', read);
  if (list !== undefined) yield* compared('read-unsteady', list);
  const action = machineOf(harness).moves.find(({ operation }) => operation.method === 'POST')?.operation;
  const known = action && harness.bodyOf(action);
  const change = async (update: Operation) => {
    const updating = new Updating(harness, update);
    const [body] = updating.changes(target, label);
    return body && updating.send(target.resource, body);
  };
  const steps: readonly (readonly [by: Operation | undefined, step: (by: Operation) => Promise<unknown>])[] = [
    [create, () => harness.create(`${label} another`)],
    ...updates.slice(0, 2).map((update) => [update, change] as const),
    [action, (by) => harness.change(by, target.resource, known)],
    [remove, () => harness.remove(deleted.resource)],
  ];
  for (const [by, step] of steps) {
    if (by === undefined || harness.session.isOver || !isSteady) continue;
    await ifSent(() => step(by));
    yield* compared('unrelated-change', by);
  }
}

/** What is read of two resources, and what their list has of all others but those that change. */
async function othersOf(
  harness: ResourceHarness,
  targets: readonly [Created, Created],
  created: readonly Created[],
): Promise<Others> {
  const { list } = harness.resourceType;
  const all = await (list && Listing.of(harness.context, list, targets[0].resource.call.path)?.walk());
  const own = [...targets, ...created].map((one) => one.resource);
  const rows = (all?.rows ?? []).filter((row) => !own.some((one) => harness.isOf(one, row)));
  const others: Map<string, Omit<Shown, 'view'>> = new Map(
    rows.flatMap((row) => (all ? [[`row ${all.keyOf(row)}`, { row, exchange: all.exchange }]] : [])),
  );
  for (const { resource } of created) {
    const shown = await harness.shown(resource);
    if (shown !== undefined) others.set(String(resource.id), shown);
  }
  return { all: others, isComplete: all?.isComplete === true };
}
