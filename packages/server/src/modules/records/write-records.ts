import type { Handler } from '../../entity/context.ts';
import { writeRecords } from '../bulk/index.ts';
import { recordTypesForWriting } from './record-types.ts';

/** Creates records, or updates those with the same `systemRef`; deleted ones are reactivated. */
export const upsertRecords: Handler<'upsertRecords'> = (context, { body }) =>
  writeRecords(context, { schema: 'RecordUpsert', operation: 'UPSERT' }, body.records, recordTypesForWriting);

/** Updates existing records. */
export const updateRecords: Handler<'updateRecords'> = (context, { body }) =>
  writeRecords(context, { schema: 'RecordUpdate', operation: 'UPDATE' }, body.records, recordTypesForWriting);

/** Deactivates records. */
export const deleteRecords: Handler<'deleteRecords'> = (context, { body }) =>
  writeRecords(context, { schema: 'RecordDelete', operation: 'DELETE' }, body.records, recordTypesForWriting);
