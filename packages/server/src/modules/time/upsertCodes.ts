import type { Handler } from '../../entity/context.ts';
import { typesWith } from '../bulk/index.ts';
import { writeRows } from './write-rows.ts';

/** Creates or updates codes, each independently. */
export const upsertCodes: Handler<'upsertCodes'> = (context, { body }) =>
  writeRows(context, 'CodeUpsertRecord', body.records, typesWith('x-code-type'));
