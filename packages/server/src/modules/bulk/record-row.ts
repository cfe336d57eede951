import type { components } from '@financial-automation/spec';
import { Rejection } from '../../contract/rejection.ts';
import type { Context } from '../../entity/context.ts';
import type { AnyStoredRow } from '../../entity/row.ts';
import type { Session } from '../../platform/store/store.ts';
import type { Where } from '../../query/clause.ts';
import { pageScope } from '../../query/handlers.ts';
import type { Page, PageRequest } from '../../query/page.ts';
import { anyPageReader } from '../../query/read.ts';
import { baseFields, type RecordType } from './record-type.ts';

type RecordRow = components['schemas']['RecordRow'];

/**
 * Reads one page of the rows of a type, active or not.
 *
 * @throws Rejection `FORBIDDEN` if the caller may not read rows of the type.
 */
export async function readRecords(
  session: Session,
  context: Context,
  type: RecordType,
  request: PageRequest,
): Promise<Page<RecordRow>> {
  const page = await storedPage(session, context, type, request);
  return { ...page, data: page.data.map((row) => recordRow(type, row)) };
}

/**
 * Reads the first row of a type that matches, and as it is stored.
 *
 * @throws Rejection like `readRecords`.
 */
export async function readRecord(
  session: Session,
  context: Context,
  type: RecordType,
  where: Where,
): Promise<{ readonly body: RecordRow; readonly stored: AnyStoredRow } | undefined> {
  const { data } = await storedPage(session, context, type, { where, pageSize: 1 });
  const [stored] = data;
  // The keys of a row that was merged into another one lead to that one.
  if (typeof stored?.mergedIntoId === 'string')
    return readRecord(session, context, type, { id: { _eq: stored.mergedIntoId } });
  return stored === undefined ? undefined : { body: recordRow(type, stored), stored };
}

function storedPage(session: Session, context: Context, type: RecordType, request: PageRequest) {
  const { name, readRoles, entity } = type;
  if (readRoles.length > 0 && !context.holds(readRoles))
    throw new Rejection('FORBIDDEN', `Reading ${name} records requires the ${readRoles.join(' or ')} role.`);
  return anyPageReader(pageScope(context, name), entity, request).run(session);
}

/** Base fields next to `attributes`. Response validation checks that they match the contract. */
function recordRow(type: RecordType, row: AnyStoredRow): RecordRow {
  const base = Object.entries(row).filter(([name]) => baseFields.has(name));
  return { ...Object.fromEntries(base), type: type.name, attributes: type.attributesOf(row) } as RecordRow;
}
