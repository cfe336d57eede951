import type { components } from '@financial-automation/spec';
import { type RawBuilder, sql } from 'kysely';
import { standardPageSizeOf } from '../../../contract/parameters.ts';
import { invalid } from '../../../contract/problem.ts';
import { Rejection } from '../../../contract/rejection.ts';
import type { Context, Handler } from '../../../entity/context.ts';
import type { Session } from '../../../platform/store/store.ts';
import { readCursor, writeCursor } from '../../../query/cursor.ts';
import { removeBeyond, withinPageBytes } from '../../../query/page-bytes.ts';
import { customRecord, findListedType, standardTypeNames } from '../catalog/catalog.ts';
import { mayReceive, passesFilter, type Subscriber } from '../delivery/load.ts';
import { messageText, type StoredEvent, selectPositioned, storedNames, visibleText } from '../delivery/message.ts';
import { keptDays } from '../delivery/retention.ts';
import { checkFilter, checkPayments, isFiltered } from '../subscriptions/payment-filter.ts';
import { assignPositions } from './assign-positions.ts';

type Event = components['schemas']['Event'];
type Query = Parameters<typeof listEvents>[1]['query'];

const limited = withinPageBytes({ names: ['position', ...storedNames], sized: ['data', 'changedFields'], key: 'id' });
const standardPageSize = standardPageSizeOf('listEvents');
/** How many positions a page goes through at most to find events that the caller wants. */
const maxScanned = 20_000;

/** The events that are kept. */
interface Kept {
  /** Null where none is kept. */
  readonly oldest: number | null;
  readonly newest: number;
  /** Whether events have no position yet. */
  readonly hasWaiting: boolean;
}

/** Lists events in the order of their delivery. */
export const listEvents: Handler<'listEvents'> = async (context, { query }) => {
  const { entityType, filterExpression, pageSize = standardPageSize } = query;
  const { service, tenant } = context;
  if (entityType !== undefined) checkFilter(entityType, filterExpression ?? null, 'query');
  if (filterExpression !== undefined)
    checkPayments(context, { filterExpression, createdByApiUserId: context.caller.apiUserId }, 'query');
  if (entityType !== undefined && !(await context.read((session) => findListedType(session, tenant, entityType))))
    throw invalid(
      '/entityType',
      'EVENT_NOT_ENABLED',
      `This tenant has no events of the type ${entityType}. The catalog lists those that are enabled.`,
      'query',
    );
  const start = await context.read((session) => startOf(session, context, query.after));
  // Where the page is full without them, they can wait.
  const isNearEnd = start.kept.newest - start.position <= pageSize;
  const hasWaiting = start.kept.hasWaiting && (!isNearEnd || (await assignPositions(context)));
  const page = await context.read((session) => pageAfter(session, context, query, start.position, pageSize));
  return {
    status: 200,
    body: {
      data: page.data,
      hasMore: page.hasMore || hasWaiting,
      nextCursor: writeCursor(service.vault, cursorOf(context), { values: [page.position], offset: 0 }),
    },
  };
};

/** Positions do not depend on the filter, so a cursor is valid with any. */
function cursorOf({ tenant, operation }: Context) {
  return { operation: operation.id, tenantId: tenant.id, where: null, orderBy: null };
}

async function keptEvents(session: Session, tenantId: number): Promise<Kept> {
  const row = await session.first<Kept>(sql`
    select (select min(position) from event_position where tenant_id = ${tenantId}) as oldest,
      coalesce((select position from event_feed where tenant_id = ${tenantId}), 0) as newest,
      exists (select from event_waiting where tenant_id = ${tenantId}) as "hasWaiting"`);
  if (row === undefined) throw new Error('The positions of events were not read.');
  return row;
}

/** The position after which the list begins. @throws Rejection `INVALID_CURSOR`, `EVENTS_EXPIRED` */
async function startOf(session: Session, context: Context, after: string | undefined) {
  const kept = await keptEvents(session, context.tenant.id);
  const before = firstStart(kept);
  if (after === undefined) return { kept, position: before };
  if (after === 'latest') return { kept, position: kept.newest };
  const position = isId(after)
    ? await positionOf(session, context.tenant.id, after, before)
    : positionIn(context, after);
  if (position === undefined || position > kept.newest) throw unknown();
  if (position < before) throw expired();
  return { kept, position };
}

/** The first position that a list can begin after. */
function firstStart({ oldest, newest }: Kept): number {
  return (oldest ?? newest + 1) - 1;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A cursor has a part that is its signature. */
function isId(after: string): boolean {
  return !after.includes('.');
}

function positionIn(context: Context, cursor: string): number {
  const [position] = readCursor(context.service.vault, cursorOf(context), cursor, 'query', 'after').values;
  return Number(position);
}

/**
 * The position of an event; undefined where the tenant never had it.
 *
 * @param before the position before the oldest event that is kept.
 * @throws Rejection `EVENTS_EXPIRED` if it is no longer kept.
 */
async function positionOf(session: Session, tenantId: number, id: string, before: number): Promise<number | undefined> {
  if (!uuid.test(id)) return undefined;
  const event = await session.first<{ position: number }>(sql`
    select coalesce(
      (select position from event_position where tenant_id = ${tenantId} and event_id = ${id}),
      (select position from event_feed where tenant_id = ${tenantId}), 0) as position
    from recorded_event where tenant_id = ${tenantId} and id = ${id}`);
  if (event !== undefined) return event.position;
  // IDs ascend with time. One from before all events that are kept can be that of one that is not.
  const isOld = await session.first<{ old: boolean }>(sql`
    select ${before} > 0 and not exists (select from recorded_event where tenant_id = ${tenantId} and id < ${id}) as old`);
  if (isOld?.old === true) throw expired();
  return undefined;
}

function unknown(): Rejection {
  const detail = 'The value of after is neither a nextCursor of this list, nor the ID of an event, nor latest.';
  return new Rejection('INVALID_CURSOR', detail, {
    errors: [
      {
        in: 'query',
        pointer: '/after',
        code: 'INVALID_CURSOR',
        detail: 'Send nextCursor of the previous page, the ID of an event, or latest.',
      },
    ],
  });
}

function expired(): Rejection {
  const detail = 'Events after this position are no longer kept. Read all rows again, and continue without after.';
  return new Rejection('EVENTS_EXPIRED', detail, {
    errors: [
      { in: 'query', pointer: '/after', code: 'EVENTS_EXPIRED', detail: `Events are kept for ${keptDays} days.` },
    ],
  });
}

async function pageAfter(session: Session, context: Context, query: Query, after: number, pageSize: number) {
  const { tenant, caller } = context;
  const { entityType, operation, filterExpression } = query;
  const subscriberOf = (type: string): Subscriber => ({
    entityType: type,
    entityTypes: [type],
    filterExpression: filterExpression ?? null,
    createdByApiUserId: caller.apiUserId,
    roles: caller.roles,
  });
  const isListed = (type: string) =>
    mayReceive(subscriberOf(type)) && (filterExpression !== undefined || !isFiltered(type));
  // Before the events: those that get a position in between are on the next page.
  const { newest } = await keptEvents(session, tenant.id);
  const end = entityType !== undefined && operation === undefined ? newest : Math.min(newest, after + maxScanned);
  const types = entityType === undefined ? typeCondition(isListed) : sql`entity_type = ${entityType}`;
  const kind = operation === undefined ? sql`` : sql`and operation = ${operation}`;
  const isEmpty = entityType !== undefined && !isListed(entityType);
  const rows = isEmpty
    ? []
    : await session.all<StoredEvent & { readonly position: number }>(
        limited(
          selectPositioned(
            tenant.id,
            sql`position > ${after} and position <= ${end} and ${types} ${kind}`,
            pageSize + 1,
          ),
        ),
      );
  // Old events may have been removed since the request began.
  if (query.after !== undefined && firstStart(await keptEvents(session, tenant.id)) > after) throw expired();
  const isCut = removeBeyond(rows, 'id') || rows.length > pageSize;
  if (rows.length > pageSize) rows.length = pageSize;
  const data = rows
    .filter((event) => passesFilter(subscriberOf(event.entityType), { event }))
    .map((event): Event => JSON.parse(visibleText(messageText(tenant.name, event), event.entityType, caller.roles)));
  return { data, position: (isCut ? rows.at(-1)?.position : undefined) ?? end, hasMore: isCut || end < newest };
}

/** Custom types are those that the contract does not have; they share their roles. */
function typeCondition(isListed: (type: string) => boolean): RawBuilder<unknown> {
  const standard = sql`entity_type = any (${standardTypeNames.filter(isListed)})`;
  return isListed(customRecord) ? sql`(${standard} or entity_type <> all (${[...standardTypeNames]}))` : standard;
}
