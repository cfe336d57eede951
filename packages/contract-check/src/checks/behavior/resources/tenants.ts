import { extensionOf, type Operation } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { listAs } from '../lists/listing.ts';
import { type BehaviorCheck, type Difference, differ, ifSeen } from '../observe.ts';
import { isGone } from './compare.ts';
import type { ResourceHarness } from './harness.ts';
import { Updating } from './updating.ts';

/** Whether an operation requires authentication. */
export function isPrivate({ security, node }: Operation): boolean {
  const isOpen = security.length === 0 || security.some((one) => Object.keys(one).length === 0);
  return extensionOf(node).private !== false && !isOpen;
}

export const separated: BehaviorCheck<ResourceHarness> = {
  name: 'otherTenant',
  describe: "Another tenant cannot read, update or delete the caller's resources.",
  applies: ({ session }) => session.can('otherTenant'),
  async run(harness, label) {
    const { create, read, updates, remove, lists } = harness.resourceType;
    const created = await harness.createAndRead(label);
    const { resource, exchange } = created;
    const found: Difference[] = [];
    const differs = (check: CheckName, operation: Operation, first: Exchange, ...others: Exchange[]) => {
      const exchanges = [exchange, first, ...others];
      found.push(differ(check, operation, '', { actual: responseText(first), exchanges }));
    };
    const asOther = read && isPrivate(read) ? await harness.read(resource, { identity: 'otherTenant' }) : undefined;
    if (read && asOther && isSuccess(asOther)) differs('tenant-reads', read, asOther);
    for (const list of lists.filter(isPrivate).slice(0, 2)) {
      const page = await listAs(harness.context, list, 'otherTenant');
      if (page?.rows.some((row) => harness.isOf(resource, row))) differs('tenant-lists', list, page.exchange);
    }
    for (const update of updates.filter(isPrivate)) {
      const [body] = new Updating(harness, update).changes(created, label);
      const response = body && (await ifSeen(() => harness.change(update, resource, body, {}, 'otherTenant')));
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
