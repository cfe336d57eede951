import { extensionOf, type Operation } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { Listing } from '../lists/listing.ts';
import { type BehaviorCheck, type Difference, differ, ifSeen } from '../observe.ts';
import { isGone } from './compare.ts';
import type { ResourceHarness } from './resource.ts';
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
      const listing = Listing.of(harness.context, list);
      const page = listing?.pageOf(await listing.request(listing.widest, 'otherTenant'));
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
