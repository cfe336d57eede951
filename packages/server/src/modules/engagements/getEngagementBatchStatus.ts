import type { Handler } from '../../entity/context.ts';
import { byId } from '../../query/handlers.ts';
import { engagementBatch } from './engagement-batch.ts';

const getBatch = byId(engagementBatch);

/** Returns the progress of a batch. */
export const getEngagementBatchStatus: Handler<'getEngagementBatchStatus'> = (context, { path }) =>
  getBatch(context, { path: { id: path.batchId } });
