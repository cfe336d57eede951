import { summaryOf } from '../../bulk/record-type.ts';
import { wholeList } from '../../bulk/whole-list.ts';
import type { Handler } from '../../service/context.ts';
import { listCustomTypes, recordTypeOf } from './custom-type.ts';
import { standardTypes } from './standard-types.ts';

/** Lists the types of writable records: those of the service, and the active ones of the tenant. */
export const listRecordTypes: Handler<'listRecordTypes'> = async (context) => {
  const tenantId = context.tenant.id;
  const rows = await context.read((session) => listCustomTypes(session, tenantId, false));
  const custom = rows.map((row) => recordTypeOf(tenantId, row));
  const types = [...standardTypes().values(), ...custom].map(summaryOf);
  return { status: 200, body: wholeList(types.sort((left, right) => (left.name < right.name ? -1 : 1))) };
};
