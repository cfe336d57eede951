import type { Operation } from '../../../document/operation.ts';
import type { Baseline } from '../../../run/baseline.ts';
import { isMaking, isRemoving } from '../../../run/names.ts';
import type { CheckContext } from '../../checks.ts';
import { acted } from './actions.ts';
import { Bench } from './bench.ts';
import { bulked, bulkRemoved, bulksOf } from './bulk.ts';
import { counted } from './counts.ts';
import { defaulted, echoed } from './create.ts';
import { keyed, keyOf } from './keys.ts';
import { linked } from './links.ts';
import { listed } from './listed.ts';
import { located } from './location.ts';
import { misplaced } from './misplaced.ts';
import { omitted } from './omitted.ts';
import { ownedInChange, ownedInCreation } from './owned.ts';
import { changedUnmodified, readUnmodified, removedUnchanged } from './preconditions.ts';
import { probe } from './probe.ts';
import { agreed, readingsOf, unknown } from './read.ts';
import { removed } from './remove.ts';
import { type Resource, resourcesOf } from './resources.ts';
import { checkSafety, headed } from './safe.ts';
import { separated, unshared } from './strangers.ts';
import { tagged, versioned } from './tags.ts';
import { unique } from './unique.ts';
import { changed, refused, replaced } from './update.ts';
import { replacedAsAWhole } from './whole.ts';

/** What operations that create, read, change and delete do to the things that they name. */
export async function checkThings(context: CheckContext): Promise<void> {
  const { session, onProgress } = context;
  const resources = resourcesOf(session.document, session.operations);
  for (const [index, resource] of resources.entries()) {
    if (session.isOver) return;
    await checkResource(context, resource);
    onProgress(index + 1, resources.length);
  }
  for (const reading of readingsOf(context)) {
    await probe(session, reading.read, `agree ${reading.list.id}`, agreed(context, reading));
    if (session.can('stranger'))
      await probe(session, reading.read, `unshared ${reading.list.id}`, unshared(context, reading));
  }
  for (const operation of session.judged) {
    if (session.isOver) return;
    await checkOperation(context, operation);
  }
  const bulks = bulksOf(context);
  for (const bulk of bulks) {
    if (!isRemoving(bulk.operation)) {
      await probe(session, bulk.operation, 'bulk', bulked(context, bulk));
      continue;
    }
    const maker = bulks.find((one) => one.kind === bulk.kind && isMaking(one.operation));
    if (maker !== undefined) await probe(session, bulk.operation, 'bulk delete', bulkRemoved(context, bulk, maker));
  }
  await checkSafety(context);
}

/** What can be seen of an operation without knowing what makes its things. */
async function checkOperation(context: CheckContext, operation: Operation): Promise<void> {
  const { session, baselines } = context;
  if (baselines.of(operation) === undefined) return;
  await probe(session, operation, 'unknown', unknown(context, operation));
  await probe(session, operation, 'omitted', omitted(context, operation));
  await probe(session, operation, 'counts', counted(context, operation));
  if (operation.method === 'HEAD') await probe(session, operation, 'head', headed(context, operation));
  await probe(session, operation, 'links', linked(context, operation));
}

/** Of a choice between several forms, each is stored. */
async function checkBranches(context: CheckContext, resource: Resource, baseline: Baseline): Promise<void> {
  const { session, baselines } = context;
  const branches = await baselines.branches(resource.create);
  for (const [index, call] of branches.slice(0, 4).entries()) {
    const bench = new Bench(context, resource, { ...baseline, call });
    if ((await bench.start()) === undefined || !(bench.isReadable || resource.isReadSure)) continue;
    await probe(session, resource.create, `echo branch ${index}`, echoed(bench));
    await probe(session, resource.create, `default branch ${index}`, defaulted(bench));
  }
}

async function checkResource(context: CheckContext, resource: Resource): Promise<void> {
  const { session, baselines } = context;
  const { read, create, remove, updates, lists, actions } = resource;
  const baseline = baselines.of(create);
  const concerned = [create, read, remove, ...updates, ...lists, ...actions];
  if (baseline === undefined || !concerned.some((one) => one !== undefined && session.isJudged(one))) return;
  const bench = new Bench(context, resource, baseline);
  if ((await bench.start()) === undefined) return;
  // A call that makes nothing may answer the same names with other meanings.
  if (bench.isReadable || resource.isReadSure || baseline.exchange.answer.status === 201) {
    await probe(session, create, 'echo', echoed(bench));
    await probe(session, create, 'default', defaulted(bench));
    await probe(session, create, 'owned', ownedInCreation(bench));
  }
  await checkBranches(context, resource, baseline);
  await probe(session, create, 'location', located(bench));
  for (const list of lists.slice(0, 3)) await probe(session, create, `list ${list.id}`, listed(bench, list));
  for (const update of updates.slice(0, 3)) {
    await probe(session, update, 'change', changed(bench, update));
    await probe(session, update, 'replace', replaced(bench, update));
    await probe(session, update, 'whole', replacedAsAWhole(bench, update));
    await probe(session, update, 'refused', refused(bench, update));
    await probe(session, update, 'owned', ownedInChange(bench, update));
    await probe(session, update, 'tags', tagged(bench, update));
    await probe(session, update, 'version', versioned(bench, update));
    await probe(session, update, 'unmodified', changedUnmodified(bench, update));
  }
  if (updates.length === 0 && read !== undefined) await probe(session, read, 'tags', tagged(bench, undefined));
  const key = keyOf(create);
  const list = lists.find((one) => one.path === resource.collection);
  if (key !== undefined)
    await probe(
      session,
      create,
      'key',
      keyed(context, create, key, list, (label) => bench.callTo(create, label)),
    );
  await probe(session, create, 'unique', unique(bench), updates);
  if (session.can('stranger')) await probe(session, create, 'stranger', separated(bench), concerned);
  if (read !== undefined) await probe(session, read, 'modified', readUnmodified(bench));
  await probe(session, create, 'elsewhere', misplaced(bench), concerned);
  const [action] = actions;
  if (action !== undefined) await probe(session, action, 'actions', acted(bench, actions), actions);
  if (remove === undefined) return;
  await probe(session, remove, 'delete', removed(bench));
  await probe(session, remove, 'delete unchanged', removedUnchanged(bench));
}
