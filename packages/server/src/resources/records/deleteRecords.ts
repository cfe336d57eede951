import type { Handler } from '../../context.ts';
import { writeRecords } from './write-records.ts';

/** Deactivates records. */
export const deleteRecords: Handler<'deleteRecords'> = (context, { body }) =>
  writeRecords(context, 'DELETE', body.records);
