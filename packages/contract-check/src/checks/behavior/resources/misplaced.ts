import type { Exchange } from '../../../http/call.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { lastParameter } from '../../../run/names.ts';
import { readCollection } from './collection.ts';
import { type Difference, type Observation, text } from './probe.ts';
import type { Resource, ResourceHarness } from './resource-harness.ts';
import { resourceIn } from './resource-in.ts';
import { createdAndRead } from './update.ts';

/** Checks that a nested resource is not returned below another parent. */
export function misplaced(harness: ResourceHarness): Observation {
  const { collection, read, lists } = harness.resourceType;
  const parent = lastParameter(collection);
  return async (label) => {
    if (parent === undefined) return undefined;
    const created = await createdAndRead(harness, label);
    const others = created === undefined ? [] : othersThan(harness, created.resource, parent);
    if (created === undefined || others.length === 0) return undefined;
    const found: Difference[] = [];
    let isSeen = false;
    for (const other of others.slice(0, 2)) {
      const path = { [parent]: other };
      const call = read === undefined ? undefined : harness.callOn(read, created.resource);
      if (read !== undefined && call !== undefined && parent in call.path) {
        const there = await harness.session.send({ ...call, path: { ...call.path, ...path } });
        isSeen = true;
        if (isSuccess(there) && harness.isOf(created.resource, resourceIn(there)))
          found.push(differs(harness, read, created.resource, `${read.id} returns it below another ${parent}`, there));
      }
      for (const list of lists.filter(({ path: of }) => of === collection)) {
        const rows = await readCollection(harness.context, list, { ...created.resource.call.path, ...path });
        if (rows === undefined) continue;
        isSeen = true;
        if (rows.rows.some((row) => harness.isOf(created.resource, row)))
          found.push(
            differs(
              harness,
              list,
              created.resource,
              `${list.id} lists it below another ${parent}`,
              rows.exchanges.at(-1),
            ),
          );
      }
    }
    return isSeen ? [...new Map(found.map((one) => [one.title, one])).values()] : undefined;
  };
}

/** IDs of other parents of the same type. */
function othersThan({ session, resourceType }: ResourceHarness, resource: Resource, parent: string): unknown[] {
  const known = session.pool.forParameter(resourceType.create, parent, false).likely;
  return known.filter((value) => String(value) !== String(resource.call.path[parent]));
}

function differs(
  harness: ResourceHarness,
  operation: Difference['operation'],
  resource: Resource,
  title: string,
  exchange: Exchange | undefined,
): Difference {
  return {
    check: 'found-elsewhere',
    operation,
    about: '',
    title: `A resource created by ${harness.resourceType.create.id}: ${title}`,
    expected: `404, or no row with ${text(resource.id)}`,
    actual: `${exchange?.response.status} ${exchange?.response.text.slice(0, 150) ?? ''}`,
    fix: 'Return only resources that belong to the parent in the path.',
    exchanges: [resource.created, exchange],
  };
}
