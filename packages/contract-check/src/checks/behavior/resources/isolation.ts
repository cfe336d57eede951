import { extensionOf, type Operation, readAt } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Call, type Exchange, isSuccess } from '../../../http/call.ts';
import { isKey } from '../../../json.ts';
import type { Identity } from '../../../run/identities.ts';
import { collectionPath, pathNames } from '../../../run/names.ts';
import { ifSent } from '../../../run/parallel.ts';
import { identityIn, idOf } from '../../../run/pool.ts';
import { View } from '../../../schema/view.ts';
import { type Differences, differ, differIn, needs } from '../../observe.ts';
import { exactly, guardedIn } from '../../scopes.ts';
import { Listing } from '../lists/listing.ts';
import { isGone, isNothing, isSame, resourceIn } from './compare.ts';
import { descendantsOf } from './parent.ts';
import type { Resource, ResourceHarness, Shown } from './resource.ts';
import { Updating } from './update.ts';

function isPrivate({ security, node }: Operation): boolean {
  const isOpen = security.length === 0 || security.some((one) => Object.keys(one).length === 0);
  return extensionOf(node).private !== false && !isOpen;
}

/** What another tenant has in place of the first parameter of a path, such as its account; none if it has no other. */
async function ownPath({ context, session, resourceType }: ResourceHarness, { path }: Resource): Promise<Call['path']> {
  const [name = ''] = pathNames(resourceType.collection);
  const list = name === '' ? undefined : readAt(session.operations, collectionPath(resourceType.collection, name));
  const rows = (await (list && Listing.of(context, list, {}, 'otherTenant'))?.read([]))?.rows ?? [];
  const [own] = rows.map((row) => identityIn({ row, id: idOf(row) }, name)).filter(isKey);
  return own === undefined || String(own) === String(path[name]) ? {} : { [name]: own };
}

/** Another tenant cannot read, update or delete the caller's resources. */
export async function* separated(harness: ResourceHarness, label: string): Differences {
  const { session } = harness;
  const { create, updates, remove, actions } = harness.resourceType;
  if (!harness.session.identities.can('otherTenant')) return;
  const isPublic = ({ row }: Shown) => row.private === false || row.public === true || row.visibility === 'public';
  const first = await harness.createAndRead(label);
  const created = isPublic(first) ? await harness.createAndRead(label, 'varied') : first;
  const { resource, exchange } = created;
  needs(!isPublic(created));
  const parent = readAt(session.operations, create.path.slice(0, create.path.lastIndexOf('/')));
  const known = parent && harness.context.requests.of(parent)?.call;
  const above = known && (await session.send({ ...known, path: resource.call.path }, { identity: 'otherTenant' }));
  // What is below something public is public, too.
  needs(above === undefined || !isSuccess(above));
  let isSeparate = true;
  const differs = (check: CheckName, operation: Operation, first: Exchange, ...others: Exchange[]) => {
    isSeparate = false;
    return differ(check, operation, '', { actual: responseText(first), exchanges: [exchange, first, ...others] });
  };
  async function* shownTo(own: ResourceHarness, there: Resource): Differences {
    const { read: by, lists } = own.resourceType;
    const asOther = by && isPrivate(by) ? await own.read(there, {}, 'otherTenant') : undefined;
    if (by && asOther && isSuccess(asOther)) yield differs('tenant-reads', by, asOther);
    for (const list of lists.filter(isPrivate).slice(0, 2)) {
      const found = await own.finder(list, there, 'otherTenant')?.look();
      if (found?.row !== undefined) yield differs('tenant-lists', list, found.exchange);
    }
  }
  yield* shownTo(harness, resource);
  const own = await ownPath(harness, resource);
  if (Object.keys(own).length > 0) yield* shownTo(harness, { ...resource, path: { ...resource.path, ...own } });
  for (const below of isSeparate ? await descendantsOf(harness, resource, label) : [])
    yield* shownTo(below.own, below.resource);
  for (const update of [...updates, ...actions].filter(isPrivate)) {
    const [change] = new Updating(harness, update).changes(created, label);
    const body = actions.includes(update) ? harness.bodyOf(update) : change;
    const response = await ifSent(() => harness.change(update, resource, body, {}, 'otherTenant'));
    // A PUT may create a resource with the same name for the other tenant.
    const isOwn =
      update === create && (await harness.shown(resource))?.exchange.response.text === exchange.response.text;
    if (response && isSuccess(response) && !isOwn) yield differs('tenant-changes', update, response);
  }
  if (remove === undefined || !isPrivate(remove)) return;
  const response = await ifSent(() => harness.remove(resource, {}, 'otherTenant'));
  const after = await harness.read(resource);
  const isChanged = after && (isGone(after) || after.response.text !== exchange.response.text);
  if (response && isSuccess(response) && isChanged && isSeparate)
    yield differs('tenant-deletes', remove, response, after);
}

/** A property with scopes is shown to users with them, and neither shown to others nor changed by them. */
export async function* guardedFields(harness: ResourceHarness, label: string): Differences {
  const { session, document, resourceType } = harness;
  const { create, read, lists, updates } = resourceType;
  if (!session.identities.can('scopes ') || guardedIn(View.ofResponse(document, read)).length === 0) return;
  const created = await harness.createAndRead(label);
  const { resource, row, view } = created;
  const differs = (check: CheckName, by: Operation, name: string, actual: unknown, exchange: Exchange) => {
    const values = [check === 'field-shown' ? null : row[name], actual] as const;
    return differIn(check, by, name, values, [created.exchange, exchange], view);
  };
  const rowFor = async (by: Operation, identity: Identity | undefined) => {
    if (identity === undefined) return undefined;
    if (by !== read) return harness.finder(by, resource, identity)?.look();
    const exchange = await harness.read(resource, {}, identity);
    return exchange && isSuccess(exchange) ? { row: resourceIn(exchange), exchange } : undefined;
  };
  for (const { name, read: scopes } of guardedIn(view)) {
    if (scopes.length === 0 || isNothing(row[name])) continue;
    for (const by of [read, ...lists.slice(0, 2)].filter((one) => one !== undefined)) {
      const [less, more] = [await rowFor(by, exactly(session, by)), await rowFor(by, exactly(session, by, scopes))];
      if (less?.row && !isNothing(less.row[name]))
        yield differs('field-shown', by, name, less.row[name], less.exchange);
      if (more?.row && isNothing(more.row[name]))
        yield differs('field-hidden', by, name, more.row[name], more.exchange);
    }
  }
  for (const update of updates)
    for (const { name, write } of guardedIn(View.ofRequest(document, update))) {
      const identity = write.length > 0 ? exactly(session, update) : undefined;
      const changes = new Updating(harness, update).changes(created, label);
      const body = changes.find((one) => name in one && !isSame(one[name], row[name]));
      if (identity === undefined || body === undefined) continue;
      const response = await harness.change(update, resource, body, {}, identity);
      const after = isSuccess(response) ? await harness.shown(resource) : undefined;
      if (after && isSame(after.row[name], body[name], { name }))
        yield differs('field-written', update, name, after.row[name], response);
    }
  const written = View.ofRequest(document, create);
  for (const { name, write } of guardedIn(written)) {
    const identity = write.length > 0 ? exactly(session, create) : undefined;
    const call = identity && (await harness.callTo(`${label} ${name}`, 'varied'));
    const value = call && Object(call.body)[name];
    // What is stored without having been sent shows nothing.
    const isDefault = written.member(name).parts.some((part) => 'default' in part && isSame(part.default, value));
    if (identity === undefined || call === undefined || isDefault || isNothing(value)) continue;
    const response = await session.send(call, { identity });
    const after = isSuccess(response) ? await harness.shown(harness.resourceOf(call, response)) : undefined;
    if (after && isSame(after.row[name], value, { name }))
      yield differs('field-written', create, name, after.row[name], response);
  }
}
