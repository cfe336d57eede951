import { eachOperation } from '../../../run/parallel.ts';
import { type BehaviorCheck, type CheckContext, runChecks } from '../../observe.ts';
import { bulked, bulkRemovalsOf, bulksOf, itemsApart, removedInBulk } from './bulk.ts';
import { bystanders } from './bystanders.ts';
import { conditionForms, createdTag, readTags, updateTags, updateVersions } from './conditions.ts';
import {
  givenId,
  idempotency,
  listed,
  location,
  putStatus,
  selfLink,
  stored,
  unique,
  unknownReference,
} from './create.ts';
import { guardedFields, separated } from './isolation.ts';
import { itemsOfJobs, jobStates } from './jobs.ts';
import { members, setsOf } from './members.ts';
import { operationChecks } from './operations.ts';
import { countChecks, leftBelow, ofParent } from './parent.ts';
import { agreement, readingsOf } from './read.ts';
import { inUse, removed, restored, unlisted } from './remove.ts';
import { ResourceHarness } from './resource.ts';
import { type ResourceType, resourceTypesOf } from './resource-types.ts';
import { transitions } from './transitions.ts';
import { changed, filteredAfter, masked, mergedDeep, otherId, replaced, Updating } from './update.ts';

const updateChecks: readonly BehaviorCheck<Updating>[] = [
  changed,
  filteredAfter,
  masked,
  mergedDeep,
  replaced,
  otherId,
  updateTags,
  updateVersions,
  conditionForms,
];

/** Checks the effects of operations that create, read, update and delete resources. */
export async function checkResources(context: CheckContext): Promise<void> {
  const { session, requests, onProgress } = context;
  const checkType = async (resourceType: ResourceType) => {
    if (!session.isOver) await checkResourceType(context, resourceType);
  };
  await eachOperation(resourceTypesOf(session), 1, checkType, onProgress);
  for (const reading of readingsOf(context)) await runChecks(session, [agreement], reading, [reading.read]);
  await eachOperation(session.judged, 1, async (operation) => {
    const known = requests.of(operation)?.call;
    if (known !== undefined)
      await runChecks(session, operationChecks(operation), { context, operation, known }, [operation]);
  });
  for (const set of setsOf(context)) await runChecks(session, [members], set, [set.put, set.post, set.remove]);
  for (const bulk of bulksOf(context)) await runChecks(session, [bulked, itemsApart], bulk, [bulk.operation]);
  for (const bulk of bulkRemovalsOf(context)) await runChecks(session, [removedInBulk], bulk, [bulk.operation]);
}

async function checkResourceType(context: CheckContext, resourceType: ResourceType): Promise<void> {
  const { session, requests } = context;
  const { read, create, remove, updates, lists, actions, hasCertainRead } = resourceType;
  const known = requests.of(create);
  const below = session.operations.filter(({ path }) => read !== undefined && path.startsWith(`${read.path}/`));
  const concerned = [create, read, remove, ...updates, ...lists, ...actions];
  if (known === undefined || !concerned.some((one) => one !== undefined && session.isJudged(one))) return;
  const harness = new ResourceHarness(context, resourceType, known);
  if ((await harness.start()) === undefined) return;
  // A call that creates nothing may return properties with the same names and other meanings.
  if (harness.isReadable || hasCertainRead || known.exchange.response.status === 201)
    await runChecks(session, stored, harness, [create]);
  for (const call of (await requests.branches(create)).slice(0, 4)) {
    const branch = new ResourceHarness(context, resourceType, { ...known, call });
    if ((await branch.start()) !== undefined && (branch.isReadable || hasCertainRead))
      await runChecks(session, stored, branch, [create]);
  }
  const creations = [location, unknownReference, listed, ofParent, putStatus, givenId, idempotency, createdTag];
  await runChecks(session, creations, harness, [create]);
  for (const update of updates.slice(0, 3))
    await runChecks(session, updateChecks, new Updating(harness, update), [update, ...lists]);
  if (read !== undefined) await runChecks(session, [readTags, selfLink], harness, [read]);
  await runChecks(session, [unique], harness, [create, ...updates]);
  const others = [separated, guardedFields, bystanders, ...countChecks(harness)];
  await runChecks(session, others, harness, [create, ...concerned]);
  await runChecks(session, [jobStates, itemsOfJobs, transitions], harness, [create, ...concerned, ...below]);
  if (remove !== undefined)
    await runChecks(session, [removed, leftBelow, unlisted, restored, inUse], harness, [remove, ...lists, ...actions]);
}
