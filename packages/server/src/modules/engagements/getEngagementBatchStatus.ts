import { byId } from '../../query/handlers.ts';
import type { Handler } from '../../service/context.ts';
import { engagementBatch } from './engagement-batch.ts';

const getBatch = byId(engagementBatch);

/** Returns the progress of a batch. */
export const getEngagementBatchStatus: Handler<'getEngagementBatchStatus'> = (context, { path }) =>
  getBatch(context, { path: { id: path.batchId } });
