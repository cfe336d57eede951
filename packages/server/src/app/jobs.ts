import type { BackgroundWork } from '../background/background.ts';
import { markPages } from '../bulk/mark-pages.ts';
import { writeInvoice } from '../modules/billing/document/write-invoice.ts';
import { draftBySchedule } from '../modules/billing/draft/draft-by-schedule.ts';
import { markOverdue } from '../modules/billing/invoice/mark-overdue.ts';
import { expireLinks } from '../modules/billing/link/expire-links.ts';
import { followAttempts } from '../modules/billing/pay/reconcile.ts';
import { createEngagements } from '../modules/engagements/create-engagements.ts';
import { expireLetters } from '../modules/engagements/expire-letters.ts';
import { writeLetter } from '../modules/engagements/write-letter.ts';
import { removeOldEvents } from '../modules/events/delivery/retention.ts';

/** All background work. A job or clock task that is not listed here does not run. */
export const backgroundWork: BackgroundWork = {
  jobs: [writeLetter, writeInvoice, createEngagements],
  clockTasks: [markOverdue, draftBySchedule, expireLinks, followAttempts, expireLetters, removeOldEvents, markPages],
};
