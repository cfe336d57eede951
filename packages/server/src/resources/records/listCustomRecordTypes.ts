import type { Handler } from '../../context.ts';
import { listCustomTypes } from './custom-type.ts';
import { answerOf } from './custom-type-answer.ts';
import { wholeList } from './whole-list.ts';

/** The types that the tenant has defined, by name. */
export const listCustomRecordTypes: Handler<'listCustomRecordTypes'> = async (context, { query }) => {
  const { includeInactive = false } = query;
  const rows = await context.read((session) => listCustomTypes(session, context.tenant.id, includeInactive));
  return { status: 200, body: wholeList(rows.map(answerOf)) };
};
