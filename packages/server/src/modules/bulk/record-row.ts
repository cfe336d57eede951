import type { components } from '@financial-automation/spec';
import { Rejection } from '../../contract/rejection.ts';
import type { Context } from '../../entity/context.ts';
import type { AnyStoredRow } from '../../entity/row.ts';
import type { Session } from '../../platform/store/store.ts';
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
  const { name, readRoles, entity } = type;
  if (readRoles.length > 0 && !context.holds(readRoles))
    throw new Rejection('FORBIDDEN', `Reading ${name} records requires the ${readRoles.join(' or ')} role.`);
  const page = await anyPageReader(pageScope(context, name), entity, request).run(session);
  return { ...page, data: page.data.map((row) => recordRow(type, row)) };
}

/** Base fields next to `attributes`. Response validation checks that they match the contract. */
function recordRow(type: RecordType, row: AnyStoredRow): RecordRow {
  const base = Object.entries(row).filter(([name]) => baseFields.has(name));
  return { ...Object.fromEntries(base), type: type.name, attributes: type.attributesOf(row) } as RecordRow;
}
