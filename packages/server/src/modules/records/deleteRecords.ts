import type { Handler } from '../../entity/context.ts';
import { writeRecords } from '../bulk/index.ts';
import { recordTypesForWriting } from './record-types.ts';

/** Deactivates records. */
export const deleteRecords: Handler<'deleteRecords'> = (context, { body }) =>
  writeRecords(context, { schema: 'RecordDelete', operation: 'DELETE' }, body.records, recordTypesForWriting);
