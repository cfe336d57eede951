import type { Handler } from '../../entity/context.ts';
import { writeRecords } from '../bulk/index.ts';
import { recordTypesForWriting as findTypes } from './record-types.ts';

/** Creates records, or updates those with the same `systemRef`; deleted ones are reactivated. */
export const upsertRecords: Handler<'upsertRecords'> = (context, { body }) =>
  writeRecords(context, { schema: 'RecordUpsert', operation: 'UPSERT', findTypes }, body.records);

/** Updates existing records. */
export const updateRecords: Handler<'updateRecords'> = (context, { body }) =>
  writeRecords(context, { schema: 'RecordUpdate', operation: 'UPDATE', findTypes }, body.records);

/** Deactivates records. */
export const deleteRecords: Handler<'deleteRecords'> = (context, { body }) =>
  writeRecords(context, { schema: 'RecordDelete', operation: 'DELETE', findTypes }, body.records);
