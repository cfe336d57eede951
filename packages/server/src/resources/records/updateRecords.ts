import type { Handler } from '../../context.ts';
import { writeRecords } from './write-records.ts';

/** Changes records that exist. */
export const updateRecords: Handler<'updateRecords'> = (context, { body }) =>
  writeRecords(context, 'UPDATE', body.records);
