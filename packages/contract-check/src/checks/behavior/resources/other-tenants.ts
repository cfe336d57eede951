import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { isOwnId } from '../../../run/names.ts';
import type { CheckContext } from '../../check.ts';
import { listAs, readCollection } from './collection.ts';
import { isGone } from './create.ts';
import { type Difference, type Observation, text } from './probe.ts';
import type { Reading } from './read.ts';
import type { ResourceHarness } from './resource-harness.ts';
import { resourceIn } from './resource-in.ts';
import { requestSchema } from './schema.ts';
import { changesOf, createdAndRead } from './update.ts';
import { declaredFlag } from './vocabulary.ts';

/** Checks that another tenant cannot read, update or delete the caller's resources. */
export function separated(harness: ResourceHarness): Observation {
  const { create, read, updates, remove, lists } = harness.resourceType;
  return async (label) => {
    const created = await createdAndRead(harness, label);
    if (created === undefined) return undefined;
    const { resource } = created;
    const found: Difference[] = [];
    const differs = (check: CheckName, operation: Operation, title: string, ...exchanges: Exchange[]) =>
      found.push({
        check,
        operation,
        about: '',
        title,
        expected: '404 or 403 without data',
        actual: `${exchanges[0]?.response.status} ${exchanges[0]?.response.text.slice(0, 120)}`,
        fix: 'Restrict every query to the tenant of the caller.',
        exchanges: [created.exchange, ...exchanges],
      });
    if (read !== undefined && isPrivate(read)) {
      const asOther = await harness.read(resource, { identity: 'otherTenant' });
      if (asOther !== undefined && isSuccess(asOther))
        differs('tenant-reads', read, `Another tenant can read a ${harness.resourceType.kind} of the caller`, asOther);
    }
    for (const list of lists.filter(isPrivate).slice(0, 2)) {
      const page = await listAs(harness.context, list, 'otherTenant');
      if (page?.rows.some((row) => harness.isOf(resource, row)))
        differs(
          'tenant-lists',
          list,
          `${text(resource.id)} of the caller is in ${list.id} of another tenant`,
          page.exchange,
        );
    }
    for (const update of updates.filter(isPrivate)) {
      const [body] = changesOf(harness, update, requestSchema(update) ?? {}, created, label);
      const response = body === undefined ? undefined : await harness.change(update, resource, body, {}, 'otherTenant');
      // A PUT may create a resource with the same name for the other tenant.
      const isOwn =
        update === create && (await harness.shown(resource))?.exchange.response.text === created.exchange.response.text;
      if (response !== undefined && isSuccess(response) && !isOwn)
        differs(
          'tenant-changes',
          update,
          `Another tenant can update a ${harness.resourceType.kind} of the caller`,
          response,
        );
    }
    if (remove !== undefined && isPrivate(remove)) {
      const response = await harness.remove(resource, {}, 'otherTenant');
      const after = await harness.read(resource);
      if (
        response !== undefined &&
        isSuccess(response) &&
        after !== undefined &&
        (isGone(after) || after.response.text !== created.exchange.response.text) &&
        found.length === 0
      )
        differs(
          'tenant-deletes',
          remove,
          `Another tenant can delete a ${harness.resourceType.kind} of the caller`,
          response,
          after,
        );
    }
    return found.map((one) => ({ ...one, title: one.title.replaceAll(text(resource.id), harness.resourceType.kind) }));
  };
}

/** Checks that another tenant cannot read resources that appear only in the caller's list. */
export function unshared(context: CheckContext, { read, name, list }: Reading): Observation {
  return async () => {
    if (!isPrivate(read) || !isPrivate(list)) return undefined;
    const known = context.baselines.of(read)?.call;
    const ownRows = (await readCollection(context, list))?.rows ?? [];
    const otherRows = await listAs(context, list, 'otherTenant');
    if (known === undefined || otherRows === undefined || ownRows.length === 0) return undefined;
    const idOf = (row: JsonObject) => row[name] ?? row[Object.keys(row).find(isOwnId) ?? ''];
    const others = new Set(otherRows.rows.map(idOf));
    // Lists with a common row may be shared by all tenants.
    const ids = ownRows.map(idOf).filter((id) => id !== undefined);
    if (ids.length === 0) return undefined;
    const shared = ids.find((id) => others.has(id));
    const call = { ...known, path: { ...known.path, [name]: shared ?? ids[0] } };
    if (shared !== undefined) return unreadable(context, read, list, call, otherRows.exchange);
    const own = await context.session.send(call);
    const asOther = await context.session.send(call, { identity: 'otherTenant' });
    if (!isSuccess(own)) return undefined;
    if (!isSuccess(asOther) || idOf(resourceIn(asOther)) !== idOf(resourceIn(own))) return [];
    return [
      {
        check: 'tenant-reads',
        operation: read,
        about: '',
        title: `Another tenant can read, with ${read.id}, a resource that only ${list.id} of the caller lists`,
        expected: '404 or 403 without data',
        actual: `${asOther.response.status} ${asOther.response.text.slice(0, 120)}`,
        fix: 'Restrict every query to the tenant of the caller.',
        exchanges: [otherRows.exchange, own, asOther],
      },
    ];
  };
}

/** A row in the lists of both tenants is shared, so both must be able to read it. */
async function unreadable(
  { session }: CheckContext,
  read: Operation,
  list: Operation,
  call: Call,
  otherExchange: Exchange,
): Promise<Difference[]> {
  const asOther = await session.send(call, { identity: 'otherTenant' });
  if (!isGone(asOther) && asOther.response.status !== 403) return [];
  return [
    {
      check: 'tenant-lists',
      operation: list,
      about: '',
      title: `${list.id} lists resources for another tenant that ${read.id} does not return to it`,
      expected: 'only resources that the tenant can also read one by one',
      actual: `a row in the list, but ${asOther.response.status} for its id`,
      fix: 'Restrict every query to the tenant of the caller.',
      exchanges: [otherExchange, asOther],
    },
  ];
}

/** Whether an operation requires authentication. */
function isPrivate(operation: Operation): boolean {
  const isOpen = operation.security.length === 0 || operation.security.some((one) => Object.keys(one).length === 0);
  return declaredFlag(operation, 'private') !== false && !isOpen;
}
