import type { Handler } from '../../context.ts';
import { writeRecords } from './write-records.ts';

/** Makes records, or changes those with the same `systemRef`; deleted ones come back. */
export const upsertRecords: Handler<'upsertRecords'> = (context, { body }) =>
  writeRecords(context, 'UPSERT', body.records);
