import { sql } from 'kysely';
import { summaryOf } from '../../bulk/record-type.ts';
import { numberOf } from '../../contract/contract.ts';
import type { Handler } from '../../service/context.ts';
import { customTypeSummary } from './custom-type.ts';
import { standardTypes } from './standard-types.ts';

const standardPageSize = numberOf('NumberListRequest', 'pageSize', 'default');

interface ListedType {
  readonly name: string;
  readonly displayName: string | null;
  readonly description: string | null;
}

/** Lists the types of writable records: those of the service, and the active ones of the tenant. */
export const listRecordTypes: Handler<'listRecordTypes'> = async (context, { query }) => {
  const { page = 0, pageSize = standardPageSize } = query;
  const standard = standardTypes();
  // Without the fields, which can be thousands of times as large.
  const rows = await context.read((session) =>
    session.all<ListedType>(sql`
      select name, display_name as "displayName", description from custom_record_type
      where tenant_id = ${context.tenant.id} and active
      union all select name, null, null from unnest(${[...standard.keys()]}::text[]) as standard (name)
      order by name limit ${pageSize + 1} offset ${page * pageSize}`),
  );
  const hasMore = rows.length > pageSize;
  const data = rows.slice(0, pageSize).map((row) => {
    const type = standard.get(row.name);
    return type === undefined ? customTypeSummary({ ...row, active: true }) : summaryOf(type);
  });
  return { status: 200, body: { data, page, pageSize, hasMore, nextCursor: null } };
};
