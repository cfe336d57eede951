import { type RawBuilder, sql } from 'kysely';
import type { Input } from '../../contract/handler.ts';
import type { Handler } from '../../entity/context.ts';
import { pageScope } from '../../query/handlers.ts';
import type { PageRequest } from '../../query/page.ts';
import { pageReader } from '../../query/read.ts';
import { folded } from '../../query/where.ts';
import { file } from './file.ts';

type Filters = Input<'listFiles'>['query'];

/** Lists the files of the tenant that match all conditions, in the order of creation. */
export const listFiles: Handler<'listFiles'> = async (context, { query }) => {
  const { page, pageSize, includeTotal, cursor, ...filters } = query;
  const conditions = conditionsOf(filters);
  const scope = {
    ...pageScope(context, filters),
    ...(conditions.length === 0 ? {} : { condition: sql<boolean>`${sql.join(conditions, sql` and `)}` }),
  };
  return { status: 200, body: await context.read(pageReader(scope, file, query).run) };
};

function conditionsOf(filters: Omit<Filters, keyof PageRequest>): RawBuilder<boolean>[] {
  const { source, status, clientId, jobId, engagementId, fileName, createdAfter, createdBefore } = filters;
  const conditions: RawBuilder<boolean>[] = [];
  if (source !== undefined) conditions.push(sql`e.source = any(${source})`);
  if (status !== undefined) conditions.push(sql`e.status = ${status}`);
  if (clientId !== undefined) conditions.push(sql`e.client_id = ${clientId}`);
  if (jobId !== undefined) conditions.push(sql`e.job_id = ${jobId}`);
  if (engagementId !== undefined) conditions.push(sql`e.engagement_id = ${engagementId}`);
  if (fileName !== undefined) {
    const pattern = `%${fileName.replaceAll(/[\\%_]/g, '\\$&')}%`;
    conditions.push(sql`${folded(sql`e.file_name`)} like ${folded(sql`${pattern}::text`)}`);
  }
  if (createdAfter !== undefined) conditions.push(sql`e.created_at >= ${createdAfter}`);
  if (createdBefore !== undefined) conditions.push(sql`e.created_at < ${createdBefore}`);
  return conditions;
}
