import { type components, impliedRoles } from '@financial-automation/spec';
import { sql } from 'kysely';
import { schemaOf } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { asOfToday } from '../../contract/stored-values.ts';
import type { Context, Handler } from '../../entity/context.ts';
import { timeOf } from '../../platform/store/session.ts';
import type { Session } from '../../platform/store/store.ts';
import { signedUrl } from '../files/index.ts';

type RecordBatch = components['schemas']['RecordBatch'];

/** Returns the progress of a batch. */
export const getRecordBatch: Handler<'getRecordBatch'> = (context, { path }) =>
  context.read(async (session) => ({ status: 200, body: await batchOf(session, context, path.id) }));

/** @throws Rejection `NOT_FOUND` if the caller has no such batch. */
export async function batchOf(
  session: Session,
  { service, tenant, caller, holds }: Pick<Context, 'service' | 'tenant' | 'caller' | 'holds'>,
  id: string,
): Promise<RecordBatch> {
  const batch = await session.first<RecordBatch>(sql`
    select id, case when finished_at is not null then 'COMPLETED' when created + updated + unchanged + failed > 0 then 'PROCESSING' else 'PENDING' end as status,
      total, created, updated, unchanged, failed, failures, result_file_id as "resultFileId",
      created_by_api_user_id as "createdByApiUserId", created_at as "createdAt", finished_at as "finishedAt"
    from record_batch where tenant_id = ${tenant.id} and id = ${id}`);
  if (batch === undefined || !(batch.createdByApiUserId === caller.apiUserId || holds([impliedRoles.administrator])))
    throw new Rejection('NOT_FOUND', 'You have no batch of records with this ID.');
  const { resultFileId } = batch;
  const signed =
    resultFileId === null ? undefined : signedUrl('content', service, tenant.name, resultFileId, timeOf(session));
  const failures = asOfToday({ items: schemaOf('RecordBatchResult') }, batch.failures);
  return { ...batch, failures, resultUrl: signed?.url ?? null, resultUrlExpiresAt: signed?.expiresAt ?? null };
}
