import { sql } from 'kysely';
import { numberOf } from '../../contract/contract.ts';
import type { Handler } from '../../entity/context.ts';
import { type JsonRow, selection } from '../../entity/select.ts';
import { pageScope } from '../../query/handlers.ts';
import { pageFrom, parsedPage, startOfPage } from '../../query/page.ts';
import { removeBeyond, withinPage } from '../../query/page-bytes.ts';
import { taskType } from './task-type.ts';

const pageSize = numberOf('TaskTypeListPage', 'data', 'maxItems');
const key = sql`lower(e.display_name collate fa_case) collate "C", e.id`;

/** Lists all task types of the tenant, active or not, alphabetically and ignoring case. */
export const listTaskTypes: Handler<'listTaskTypes'> = async (context, { query }) => {
  const scope = pageScope(context);
  const request = { ...query, pageSize };
  const start = startOfPage(scope, request);
  const all = sql`${sql.table(taskType.table)} e where ${taskType.within('e', context.tenant.id)}`;
  const next =
    start.after === undefined ? sql`true` : sql`(${key}) > (select ${key} from ${all} and e.id = ${start.after[0]})`;
  const rows = await context.read((session) =>
    session.all(
      withinPage<JsonRow>(sql`
        ${selection(taskType)} where ${taskType.within('e', context.tenant.id)} and ${next}
        order by ${key} limit ${pageSize + 1}`),
    ),
  );
  const isCut = removeBeyond(rows, 'json');
  const page = pageFrom(scope, request, start, rows, ({ json }) => [JSON.parse(json).id], isCut);
  return { status: 200, body: parsedPage(context, taskType, { ...page, pageSize: page.data.length }) };
};
