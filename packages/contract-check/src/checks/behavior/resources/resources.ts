import { isCreating, isDeleting } from '../../../run/names.ts';
import { eachOperation, ifSent } from '../../../run/parallel.ts';
import type { CheckContext } from '../../check.ts';
import { type BehaviorCheck, runChecks } from '../observe.ts';
import { actionEffects } from './actions.ts';
import { bulked, bulkRemoved } from './bulk.ts';
import { bulksOf } from './bulk-calls.ts';
import { changedUnmodified, readUnmodified, removedUnchanged, tags, tagsOfRead, versioned } from './conditions.ts';
import { defaults, echo, listed, location } from './create.ts';
import { idempotency, misplaced, ownedInChange, ownedInCreation, unique } from './created.ts';
import { ResourceHarness } from './harness.ts';
import { operationChecks } from './operations.ts';
import { agreement, readingsOf, unshared } from './read.ts';
import { removed } from './remove.ts';
import { type ResourceType, resourceTypesOf } from './resource-types.ts';
import { checkSafety } from './safe.ts';
import { separated } from './tenants.ts';
import { changed, rejected, replaced, replacedAsAWhole } from './update.ts';
import { Updating } from './updating.ts';

const updateChecks: readonly BehaviorCheck<Updating>[] = [
  ...[changed, replaced, replacedAsAWhole, rejected, ownedInChange, tags, versioned, changedUnmodified],
];

/** Checks the effects of operations that create, read, update and delete resources. */
export async function checkResources(context: CheckContext): Promise<void> {
  const { session, baselines, onProgress } = context;
  const resourceTypes = resourceTypesOf(session.document, session.operations);
  let done = 0;
  await eachOperation(resourceTypes, 1, async (resourceType) => {
    if (!session.isOver) await checkResourceType(context, resourceType);
    done += 1;
    onProgress(done, resourceTypes.length);
  });
  for (const reading of readingsOf(context)) await runChecks(session, [agreement, unshared], reading, [reading.read]);
  await eachOperation(session.judged, 1, async (operation) => {
    const known = baselines.of(operation)?.call;
    if (known !== undefined) await runChecks(session, operationChecks, { context, operation, known }, [operation]);
  });
  const bulks = bulksOf(context);
  for (const bulk of bulks) {
    if (!isDeleting(bulk.operation)) await runChecks(session, [bulked], bulk, [bulk.operation]);
    const creation = bulks.find((one) => one.kind === bulk.kind && isCreating(one.operation));
    if (isDeleting(bulk.operation) && creation !== undefined)
      await runChecks(session, [bulkRemoved], { removal: bulk, creation }, [bulk.operation]);
  }
  await ifSent(() => checkSafety(context));
}

async function checkResourceType(context: CheckContext, resourceType: ResourceType): Promise<void> {
  const { session, baselines } = context;
  const { read, create, remove, updates, lists, actions, hasCertainRead } = resourceType;
  const baseline = baselines.of(create);
  const concerned = [create, read, remove, ...updates, ...lists, ...actions];
  if (baseline === undefined || !concerned.some((one) => one !== undefined && session.isJudged(one))) return;
  const harness = new ResourceHarness(context, resourceType, baseline);
  if ((await harness.start()) === undefined) return;
  // A call that creates nothing may return properties with the same names and other meanings.
  if (harness.isReadable || hasCertainRead || baseline.exchange.response.status === 201)
    await runChecks(session, [echo, defaults, ownedInCreation], harness, [create]);
  for (const call of (await baselines.branches(create)).slice(0, 4)) {
    const branch = new ResourceHarness(context, resourceType, { ...baseline, call });
    if ((await branch.start()) !== undefined && (branch.isReadable || hasCertainRead))
      await runChecks(session, [echo, defaults], branch, [create]);
  }
  await runChecks(session, [location, ...lists.slice(0, 3).map(listed)], harness, [create]);
  for (const update of updates.slice(0, 3))
    await runChecks(session, updateChecks, new Updating(harness, update), [update]);
  if (updates.length === 0 && read !== undefined) await runChecks(session, [tagsOfRead], harness, [read]);
  await runChecks(session, [idempotency], harness, [create]);
  await runChecks(session, [unique], harness, [create, ...updates]);
  await runChecks(session, [separated], harness, [create, ...concerned]);
  if (read !== undefined) await runChecks(session, [readUnmodified], harness, [read]);
  await runChecks(session, [misplaced], harness, [create, ...concerned]);
  const [action] = actions;
  if (action !== undefined) await runChecks(session, [actionEffects], harness, [action, ...actions]);
  if (remove !== undefined) await runChecks(session, [removed, removedUnchanged], harness, [remove]);
}
