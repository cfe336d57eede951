import { sql } from 'kysely';
import type { Handler } from '../../entity/context.ts';
import { pageScope } from '../../query/handlers.ts';
import { pageReader } from '../../query/read.ts';
import { customRecordType } from './custom-type.ts';

/** Lists the custom types, by name. */
export const listCustomRecordTypes: Handler<'listCustomRecordTypes'> = async (context, { query }) => {
  const { includeInactive = false, ...page } = query;
  const condition = includeInactive ? sql<boolean>`true` : sql<boolean>`e.active`;
  const request = { ...page, orderBy: [{ name: 'asc' }] };
  const { run } = pageReader({ ...pageScope(context, includeInactive), condition }, customRecordType, request);
  return { status: 200, body: await context.read(run) };
};
