import type { Handler } from '../../context.ts';
import { listCustomTypes, recordTypeOf } from './custom-type.ts';
import { headOf } from './record-type.ts';
import { standardTypes } from './standard-types.ts';
import { wholeList } from './whole-list.ts';

/** The types that records can be written of: those of the service, and the tenant's own that are active. */
export const listRecordTypes: Handler<'listRecordTypes'> = async (context) => {
  const tenantId = context.tenant.id;
  const rows = await context.read((session) => listCustomTypes(session, tenantId, false));
  const custom = rows.map((row) => recordTypeOf(tenantId, row));
  const types = [...standardTypes().values(), ...custom].map(headOf);
  return { status: 200, body: wholeList(types.sort((left, right) => (left.name < right.name ? -1 : 1))) };
};
