import { wholeList } from '../../bulk/whole-list.ts';
import type { Handler } from '../../service/context.ts';
import { listCustomTypes } from './custom-type.ts';

/** Lists the custom types, by name. */
export const listCustomRecordTypes: Handler<'listCustomRecordTypes'> = async (context, { query }) => {
  const { includeInactive = false } = query;
  const rows = await context.read((session) => listCustomTypes(session, context.tenant.id, includeInactive));
  return { status: 200, body: wholeList(rows) };
};
