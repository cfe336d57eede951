import { sql } from 'kysely';
import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import { pageScope } from '../../query/handlers.ts';
import { pageReader } from '../../query/read.ts';
import { engagementDocument } from './documents.ts';

/** Lists the documents of an engagement, in the order of creation. */
export const listEngagementDocuments: Handler<'listEngagementDocuments'> = (context, { path, query }) =>
  context.read(async (session) => {
    const { engagementId } = path;
    const engagement = await session.first(
      sql`select 1 from engagement where tenant_id = ${context.tenant.id} and id = ${engagementId}`,
    );
    if (engagement === undefined) throw new Rejection('NOT_FOUND', 'Your tenant has no engagement with this ID.');
    const condition = sql<boolean>`e.engagement_id = ${engagementId}`;
    const scope = { ...pageScope(context, engagementId), condition };
    return { status: 200, body: await pageReader(scope, engagementDocument, query).run(session) };
  });
