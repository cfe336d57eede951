import { sql } from 'kysely';
import { wholeList } from '../../bulk/whole-list.ts';
import { visibleTo } from '../../entity/field-access.ts';
import type { StoredRow } from '../../entity/row.ts';
import { selection } from '../../entity/select.ts';
import type { Handler } from '../../service/context.ts';
import { taskType } from './task-type.ts';

/** More task types than a list can contain. */
const mostTypes = 10_000;

/** Lists all task types of the tenant, active or not, alphabetically and ignoring case. */
export const listTaskTypes: Handler<'listTaskTypes'> = async (context) => {
  const rows = await context.read((session) =>
    session.all<StoredRow<'TaskType'>>(sql`
      ${selection(taskType)} where ${taskType.within('e', context.tenant.id)}
      order by lower(e.display_name collate fa_case) collate "C", e.id limit ${mostTypes}`),
  );
  return { status: 200, body: wholeList(rows.map((row) => visibleTo(context.holds, taskType, row))) };
};
