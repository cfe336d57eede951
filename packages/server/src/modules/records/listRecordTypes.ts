import { sql } from 'kysely';
import type { Handler } from '../../entity/context.ts';
import { pageScope } from '../../query/handlers.ts';
import { pageFrom, startOfPage } from '../../query/page.ts';
import { removeBeyond, withinPageBytes } from '../../query/page-bytes.ts';
import { summaryOf } from '../bulk/index.ts';
import { customTypeSummary } from './custom-type.ts';
import { standardTypes } from './standard-types.ts';

interface ListedType {
  readonly name: string;
  readonly displayName: string | null;
  readonly description: string | null;
}

const columns = ['name', 'displayName', 'description'];
const limited = withinPageBytes({ names: columns, sized: columns, key: 'name' });

/** Lists the types of writable records: those of the service, and the active ones of the tenant. */
export const listRecordTypes: Handler<'listRecordTypes'> = async (context, { query }) => {
  const scope = pageScope(context);
  const start = startOfPage(scope, query);
  const standard = standardTypes();
  // Without the fields, which can be thousands of times as large.
  const rows = await context.read((session) =>
    session.all(
      limited<ListedType>(sql`
      select name, display_name as "displayName", description from (
        select name, display_name, description from custom_record_type where tenant_id = ${context.tenant.id} and active
        union all select name, null, null from unnest(${[...standard.keys()]}::text[]) as standard (name)
      ) type where ${start.after === undefined ? sql`true` : sql`name > ${start.after[0]}`}
      order by name limit ${start.pageSize + 1} offset ${start.skipped}`),
    ),
  );
  const isCut = removeBeyond(rows, 'name');
  const { data, ...page } = pageFrom(scope, query, start, rows, ({ name }) => [name], isCut);
  const described = data.map((row) => {
    const type = standard.get(row.name);
    return type === undefined ? customTypeSummary({ ...row, active: true }) : summaryOf(type);
  });
  return { status: 200, body: { data: described, ...page } };
};
