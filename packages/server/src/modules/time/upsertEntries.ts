import { typesWith } from '../../bulk/standard-types.ts';
import type { Handler } from '../../service/context.ts';
import { writeRows } from './write-rows.ts';

/** Creates or updates entries, each independently. */
export const upsertEntries: Handler<'upsertEntries'> = (context, { body }) =>
  writeRows(context, 'EntryUpsertRecord', body.records, typesWith('x-entry-type'));
