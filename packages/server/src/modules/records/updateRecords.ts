import { writeRecords } from '../../bulk/write-records.ts';
import type { Handler } from '../../service/context.ts';
import { recordTypesForWriting } from './record-types.ts';

/** Updates existing records. */
export const updateRecords: Handler<'updateRecords'> = (context, { body }) =>
  writeRecords(context, { schema: 'RecordUpdate', operation: 'UPDATE' }, body.records, recordTypesForWriting);
