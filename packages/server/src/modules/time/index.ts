import { aggregateOf, byId, pageOf } from '../../query/handlers.ts';
import { expenseEntry } from './expense-entry.ts';
import { getCodeSchema } from './getCodeSchema.ts';
import { getEntrySchema } from './getEntrySchema.ts';
import { listCodeTypes } from './listCodeTypes.ts';
import { listEntryTypes } from './listEntryTypes.ts';
import { lookupCodes } from './lookupCodes.ts';
import { lookupEntries } from './lookupEntries.ts';
import { timeEntry } from './time-entry.ts';
import { upsertCodes } from './upsertCodes.ts';
import { upsertEntries } from './upsertEntries.ts';
import './work-of-job.ts';
import { wipEntry } from './wip-entry.ts';

export const time = {
  listWip: pageOf(wipEntry),
  searchWip: pageOf(wipEntry),
  getWip: byId(wipEntry),
  aggregateWip: aggregateOf(wipEntry),
  listTimeEntries: pageOf(timeEntry),
  searchTimeEntries: pageOf(timeEntry),
  getTimeEntry: byId(timeEntry),
  aggregateTimeEntries: aggregateOf(timeEntry),
  listExpenseEntries: pageOf(expenseEntry),
  searchExpenseEntries: pageOf(expenseEntry),
  getExpenseEntry: byId(expenseEntry),
  aggregateExpenseEntries: aggregateOf(expenseEntry),
  listCodeTypes,
  getCodeSchema,
  upsertCodes,
  lookupCodes,
  listEntryTypes,
  getEntrySchema,
  upsertEntries,
  lookupEntries,
};
export { expenseEntry } from './expense-entry.ts';
export { timeEntry } from './time-entry.ts';
export { wipEntry } from './wip-entry.ts';
export { outstandingOf } from './work-amounts.ts';
