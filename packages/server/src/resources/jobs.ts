import type { BackgroundWork } from '../background/background.ts';
import { followAttempts } from '../pay/reconcile.ts';
import { draftBySchedule } from './billing/draft-by-schedule.ts';
import { expireLinks } from './billing/expire-links.ts';
import { markOverdue } from './billing/mark-overdue.ts';
import { createEngagements } from './engagements/create-engagements.ts';
import { expireLetters } from './engagements/expire-letters.ts';
import { writeLetter } from './engagements/write-letter.ts';
import { removeOldEvents } from './events/remove-old-events.ts';

/** All background work. A job or clock task that is not listed here does not run. */
export const backgroundWork: BackgroundWork = {
  jobs: [writeLetter, createEngagements],
  clockTasks: [markOverdue, draftBySchedule, expireLinks, followAttempts, expireLetters, removeOldEvents],
};
