import type { Handler } from '../../context.ts';
import { byId } from '../../query/handlers.ts';
import { engagementBatch } from './engagement-batch.ts';

const getBatch = byId(engagementBatch);

/** How far a batch is. */
export const getEngagementBatchStatus: Handler<'getEngagementBatchStatus'> = (context, { path }) =>
  getBatch(context, { path: { id: path.batchId } });
