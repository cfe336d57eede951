import { writeRecords } from '../../bulk/write-records.ts';
import type { Handler } from '../../service/context.ts';
import { recordTypesForWriting } from './record-types.ts';

/** Deactivates records. */
export const deleteRecords: Handler<'deleteRecords'> = (context, { body }) =>
  writeRecords(context, { schema: 'RecordDelete', operation: 'DELETE' }, body.records, recordTypesForWriting);
