import type { Operation } from '../../../document/operation.ts';
import type { Baseline } from '../../../run/baseline.ts';
import { isCreating, isDeleting } from '../../../run/names.ts';
import { eachOperation, ifSent } from '../../../run/parallel.ts';
import type { CheckContext } from '../../check.ts';
import { actionEffects } from './actions.ts';
import { bulked, bulkRemoved, bulksOf } from './bulk.ts';
import { counted } from './counts.ts';
import { defaulted, echoed } from './create.ts';
import { keyed, keyOf } from './keys.ts';
import { linked } from './links.ts';
import { listed } from './listed.ts';
import { located } from './location.ts';
import { misplaced } from './misplaced.ts';
import { omitted } from './omitted.ts';
import { separated, unshared } from './other-tenants.ts';
import { ownedInChange, ownedInCreation } from './owned.ts';
import { changedUnmodified, readUnmodified, removedUnchanged } from './preconditions.ts';
import { probe } from './probe.ts';
import { agreed, readingsOf, unknown } from './read.ts';
import { removed } from './remove.ts';
import { ResourceHarness } from './resource-harness.ts';
import { type ResourceType, resourceTypesOf } from './resource-types.ts';
import { checkSafety, headed } from './safe.ts';
import { tagged, versioned } from './tags.ts';
import { unique } from './unique.ts';
import { changed, rejected, replaced } from './update.ts';
import { replacedAsAWhole } from './whole.ts';

/** Checks the effects of operations that create, read, update and delete resources. */
export async function checkResources(context: CheckContext): Promise<void> {
  const { session, onProgress } = context;
  const resourceTypes = resourceTypesOf(session.document, session.operations);
  let done = 0;
  await eachOperation(resourceTypes, 1, async (resourceType) => {
    if (!session.isOver) await checkResourceType(context, resourceType);
    done += 1;
    onProgress(done, resourceTypes.length);
  });
  for (const reading of readingsOf(context)) {
    await probe(session, reading.read, `agree ${reading.list.id}`, agreed(context, reading));
    if (session.can('otherTenant'))
      await probe(session, reading.read, `unshared ${reading.list.id}`, unshared(context, reading));
  }
  await eachOperation(session.judged, 1, (operation) => checkOperation(context, operation));
  const bulks = bulksOf(context);
  for (const bulk of bulks) {
    if (!isDeleting(bulk.operation)) {
      await probe(session, bulk.operation, 'bulk', bulked(context, bulk));
      continue;
    }
    const creation = bulks.find((one) => one.kind === bulk.kind && isCreating(one.operation));
    if (creation !== undefined)
      await probe(session, bulk.operation, 'bulk delete', bulkRemoved(context, bulk, creation));
  }
  await ifSent(() => checkSafety(context));
}

/** Checks that do not require a create operation. */
async function checkOperation(context: CheckContext, operation: Operation): Promise<void> {
  const { session, baselines } = context;
  if (baselines.of(operation) === undefined) return;
  await probe(session, operation, 'unknown', unknown(context, operation));
  await probe(session, operation, 'omitted', omitted(context, operation));
  await probe(session, operation, 'counts', counted(context, operation));
  if (operation.method === 'HEAD') await probe(session, operation, 'head', headed(context, operation));
  await probe(session, operation, 'links', linked(context, operation));
}

/** Checks each branch of a schema with alternatives. */
async function checkBranches(context: CheckContext, resourceType: ResourceType, baseline: Baseline): Promise<void> {
  const { session, baselines } = context;
  const branches = await baselines.branches(resourceType.create);
  for (const [index, call] of branches.slice(0, 4).entries()) {
    const harness = new ResourceHarness(context, resourceType, { ...baseline, call });
    if ((await harness.start()) === undefined || !(harness.isReadable || resourceType.hasCertainRead)) continue;
    await probe(session, resourceType.create, `echo branch ${index}`, echoed(harness));
    await probe(session, resourceType.create, `default branch ${index}`, defaulted(harness));
  }
}

async function checkResourceType(context: CheckContext, resourceType: ResourceType): Promise<void> {
  const { session, baselines } = context;
  const { read, create, remove, updates, lists, actions } = resourceType;
  const baseline = baselines.of(create);
  const concerned = [create, read, remove, ...updates, ...lists, ...actions];
  if (baseline === undefined || !concerned.some((one) => one !== undefined && session.isJudged(one))) return;
  const harness = new ResourceHarness(context, resourceType, baseline);
  if ((await harness.start()) === undefined) return;
  // A call that creates nothing may return properties with the same names and other meanings.
  if (harness.isReadable || resourceType.hasCertainRead || baseline.exchange.response.status === 201) {
    await probe(session, create, 'echo', echoed(harness));
    await probe(session, create, 'default', defaulted(harness));
    await probe(session, create, 'owned', ownedInCreation(harness));
  }
  await checkBranches(context, resourceType, baseline);
  await probe(session, create, 'location', located(harness));
  for (const list of lists.slice(0, 3)) await probe(session, create, `list ${list.id}`, listed(harness, list));
  for (const update of updates.slice(0, 3)) {
    await probe(session, update, 'change', changed(harness, update));
    await probe(session, update, 'replace', replaced(harness, update));
    await probe(session, update, 'whole', replacedAsAWhole(harness, update));
    await probe(session, update, 'refused', rejected(harness, update));
    await probe(session, update, 'owned', ownedInChange(harness, update));
    await probe(session, update, 'tags', tagged(harness, update));
    await probe(session, update, 'version', versioned(harness, update));
    await probe(session, update, 'unmodified', changedUnmodified(harness, update));
  }
  if (updates.length === 0 && read !== undefined) await probe(session, read, 'tags', tagged(harness, undefined));
  const key = keyOf(create);
  const list = lists.find((one) => one.path === resourceType.collection);
  if (key !== undefined)
    await probe(
      session,
      create,
      'key',
      keyed(context, create, key, list, (label) => harness.callTo(create, label)),
    );
  await probe(session, create, 'unique', unique(harness), updates);
  if (session.can('otherTenant')) await probe(session, create, 'otherTenant', separated(harness), concerned);
  if (read !== undefined) await probe(session, read, 'modified', readUnmodified(harness));
  await probe(session, create, 'elsewhere', misplaced(harness), concerned);
  const [action] = actions;
  if (action !== undefined) await probe(session, action, 'actions', actionEffects(harness, actions), actions);
  if (remove === undefined) return;
  await probe(session, remove, 'delete', removed(harness));
  await probe(session, remove, 'delete unchanged', removedUnchanged(harness));
}
