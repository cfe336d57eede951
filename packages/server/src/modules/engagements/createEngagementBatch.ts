import type { Handler } from '../../entity/context.ts';
import { startBatch } from './create-engagements.ts';

/** Accepts engagements that are created in the background. */
export const createEngagementBatch: Handler<'createEngagementBatch'> = (context, { body }) =>
  context.write(async (unit) => {
    const { id: batchId, status, total } = await startBatch(unit, body.engagements, context.caller);
    const headers = { Location: `/api/v1/engagements/batch/${batchId}/status` };
    return { status: 202, headers, body: { batchId, status, total } };
  });
