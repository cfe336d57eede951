import type { Handler } from '../../entity/context.ts';
import { writeRecords } from '../bulk/index.ts';
import { recordTypesForWriting } from './record-types.ts';

/** Creates records, or updates those with the same `systemRef`; deleted ones are reactivated. */
export const upsertRecords: Handler<'upsertRecords'> = (context, { body }) =>
  writeRecords(context, { schema: 'RecordUpsert', operation: 'UPSERT' }, body.records, recordTypesForWriting);
