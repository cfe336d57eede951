import type { Handler } from '../../entity/context.ts';
import { writeRecords } from '../bulk/index.ts';
import { recordTypesForWriting } from './record-types.ts';

/** Updates existing records. */
export const updateRecords: Handler<'updateRecords'> = (context, { body }) =>
  writeRecords(context, { schema: 'RecordUpdate', operation: 'UPDATE' }, body.records, recordTypesForWriting);
