import { createCustomRecordType } from './createCustomRecordType.ts';
import { createRecordBatch } from './createRecordBatch.ts';
import { deactivateCustomRecordType } from './deactivateCustomRecordType.ts';
import { getCustomRecordType } from './getCustomRecordType.ts';
import { getRecord } from './getRecord.ts';
import { getRecordBatch } from './getRecordBatch.ts';
import { getRecordSchema } from './getRecordSchema.ts';
import { listCustomRecordTypes } from './listCustomRecordTypes.ts';
import { listRecordTypes } from './listRecordTypes.ts';
import { lookupRecords } from './lookupRecords.ts';
import { updateCustomRecordType } from './updateCustomRecordType.ts';
import { deleteRecords, updateRecords, upsertRecords } from './write-records.ts';

export const records = {
  listRecordTypes,
  getRecordSchema,
  getRecord,
  upsertRecords,
  updateRecords,
  deleteRecords,
  createRecordBatch,
  getRecordBatch,
  lookupRecords,
  listCustomRecordTypes,
  createCustomRecordType,
  getCustomRecordType,
  updateCustomRecordType,
  deactivateCustomRecordType,
};
export { readFields } from './check-fields.ts';
export { startRecordBatch } from './createRecordBatch.ts';
export type { CustomFieldInput } from './custom-field.ts';
export { type CustomReference, customReferences } from './custom-references.ts';
export type { CustomTypeRow } from './custom-type.ts';
export { customRecordType, customTypeNamed, customTypeNames, findCustomTypes, recordTypeOf } from './custom-type.ts';
export { checkValues, patternTest } from './custom-values.ts';
export { findMismatches } from './pattern.ts';
export { recordTypesForWriting } from './record-types.ts';
export { batchEntryPurpose, writeRecordBatch } from './write-record-batch.ts';
