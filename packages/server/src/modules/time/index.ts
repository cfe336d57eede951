import { aggregateOf, byId, pageOf, searchOf } from '../../query/handlers.ts';
import { codes, entries } from './codes-and-entries.ts';
import { expenseEntry } from './expense-entry.ts';
import { timeEntry } from './time-entry.ts';
import './work-of-job.ts';
import { wipEntry } from './wip-entry.ts';

export const time = {
  listWip: pageOf(wipEntry),
  searchWip: searchOf(wipEntry),
  getWip: byId(wipEntry),
  aggregateWip: aggregateOf(wipEntry),
  listTimeEntries: pageOf(timeEntry),
  searchTimeEntries: searchOf(timeEntry),
  getTimeEntry: byId(timeEntry),
  aggregateTimeEntries: aggregateOf(timeEntry),
  listExpenseEntries: pageOf(expenseEntry),
  searchExpenseEntries: searchOf(expenseEntry),
  getExpenseEntry: byId(expenseEntry),
  aggregateExpenseEntries: aggregateOf(expenseEntry),
  listCodeTypes: codes.listTypes,
  getCodeSchema: codes.getSchema,
  upsertCodes: codes.upsert,
  lookupCodes: codes.lookup,
  listEntryTypes: entries.listTypes,
  getEntrySchema: entries.getSchema,
  upsertEntries: entries.upsert,
  lookupEntries: entries.lookup,
};
export { expenseEntry } from './expense-entry.ts';
export { timeEntry } from './time-entry.ts';
export { wipEntry } from './wip-entry.ts';
export { outstandingOf } from './work-amounts.ts';
