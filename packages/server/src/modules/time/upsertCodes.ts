import { typesWith } from '../../bulk/standard-types.ts';
import type { Handler } from '../../service/context.ts';
import { writeRows } from './write-rows.ts';

/** Creates or updates codes, each independently. */
export const upsertCodes: Handler<'upsertCodes'> = (context, { body }) =>
  writeRows(context, 'CodeUpsertRecord', body.records, typesWith('x-code-type'));
