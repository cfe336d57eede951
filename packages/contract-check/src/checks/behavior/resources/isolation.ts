import { extensionOf, type Operation } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import type { Identity } from '../../../run/identities.ts';
import { View } from '../../../schema/view.ts';
import { exactly, guardedIn } from '../../scopes.ts';
import { Listing } from '../lists/listing.ts';
import { type BehaviorCheck, type Difference, differ, ifSeen, valued } from '../observe.ts';
import { isGone, isNothing, isSame, resourceIn } from './compare.ts';
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

export const guardedFields: BehaviorCheck<ResourceHarness> = {
  name: 'fields',
  describe: 'A property with scopes is shown to users with them, and neither shown to others nor changed by them.',
  applies: ({ session, document, resourceType: { read } }) =>
    session.identities.can('scopes ') && guardedIn(View.ofResponse(document, read)).length > 0,
  async run(harness, label) {
    const { session, document, resourceType } = harness;
    const { read, lists, updates } = resourceType;
    const created = await harness.createAndRead(label);
    const { resource, row, view } = created;
    const found: Difference[] = [];
    const differs = (check: CheckName, by: Operation, name: string, actual: unknown, exchange: Exchange) => {
      const facts = {
        ...valued(name, check === 'field-shown' ? null : row[name], actual),
        node: view.member(name).node,
      };
      found.push(differ(check, by, name, { ...facts, exchanges: [created.exchange, exchange] }));
    };
    const rowFor = async (by: Operation, identity: Identity | undefined) => {
      if (identity === undefined) return undefined;
      const listing = by === read ? undefined : Listing.of(harness.context, by);
      const exchange = listing
        ? await listing.request(listing.widest, identity)
        : await harness.read(resource, {}, identity);
      if (exchange === undefined || !isSuccess(exchange)) return undefined;
      const rows = listing ? (listing.pageOf(exchange)?.rows ?? []) : [resourceIn(exchange)];
      const shown = rows.find((one) => harness.isOf(resource, one));
      return shown && { shown, exchange };
    };
    for (const { name, read: scopes } of guardedIn(view)) {
      if (scopes.length === 0 || isNothing(row[name])) continue;
      for (const by of [read, ...lists.slice(0, 2)].filter((one) => one !== undefined)) {
        const [less, more] = [await rowFor(by, exactly(session, by)), await rowFor(by, exactly(session, by, scopes))];
        if (less && !isNothing(less.shown[name])) differs('field-shown', by, name, less.shown[name], less.exchange);
        if (more && isNothing(more.shown[name])) differs('field-hidden', by, name, more.shown[name], more.exchange);
      }
    }
    for (const update of updates)
      for (const { name, write } of guardedIn(View.ofRequest(document, update))) {
        const identity = write.length > 0 ? exactly(session, update) : undefined;
        const body = new Updating(harness, update)
          .changes(created, label)
          .find((one) => !isSame(one[name], row[name]) && name in one);
        if (identity === undefined || body === undefined) continue;
        const response = await harness.change(update, resource, body, {}, identity);
        const after = isSuccess(response) ? await harness.shown(resource) : undefined;
        if (after && isSame(after.row[name], body[name], { name }))
          differs('field-written', update, name, after.row[name], response);
      }
    return found;
  },
};
