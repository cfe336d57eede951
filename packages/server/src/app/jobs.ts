import type { BackgroundWork } from '../background/background.ts';
import {
  draftBySchedule,
  expireLinks,
  foldSums,
  followAttempts,
  markOverdue,
  remindClients,
  sendMail,
  writeInvoice,
} from '../modules/billing/index.ts';
import { createEngagements, expireLetters, writeLetter } from '../modules/engagements/index.ts';
import { removeOldEvents } from '../modules/events/index.ts';
import { writeRecordBatch } from '../modules/records/index.ts';
import { markPages } from './mark-pages.ts';

/** All background work. A job or clock task that is not listed here does not run. */
export const backgroundWork: BackgroundWork = {
  jobs: [writeLetter, writeInvoice, sendMail, createEngagements, writeRecordBatch],
  clockTasks: [
    markOverdue,
    remindClients,
    draftBySchedule,
    expireLinks,
    followAttempts,
    foldSums,
    expireLetters,
    removeOldEvents,
    markPages,
  ],
};
