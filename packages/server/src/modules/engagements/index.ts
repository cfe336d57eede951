import { aggregateOf, byId, pageOf, searchOf } from '../../query/handlers.ts';
import { createEngagement } from './createEngagement.ts';
import { createEngagementBatch } from './createEngagementBatch.ts';
import { engagement } from './engagement.ts';
import { getEngagementBatchStatus } from './getEngagementBatchStatus.ts';
import './letter-commands.ts';
import { listEngagementDocuments } from './listEngagementDocuments.ts';
import { updateEngagement } from './updateEngagement.ts';

export const engagements = {
  listEngagements: pageOf(engagement),
  searchEngagements: searchOf(engagement),
  getEngagement: byId(engagement),
  aggregateEngagements: aggregateOf(engagement),
  updateEngagement,
  createEngagement,
  createEngagementBatch,
  getEngagementBatchStatus,
  listEngagementDocuments,
};
export { createEngagements, startBatch } from './create-engagements.ts';
export { engagement } from './engagement.ts';
export { expireLetters } from './expire-letters.ts';
export type { NewEngagement } from './plan-engagement.ts';
export { planEngagement } from './plan-engagement.ts';
export { writeEngagementDocument, writeLetter, writeLetters } from './write-letter.ts';
