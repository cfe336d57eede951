import type { Handler } from '../../entity/context.ts';
import { typesWith } from '../bulk/index.ts';
import { writeRows } from './write-rows.ts';

/** Creates or updates entries, each independently. */
export const upsertEntries: Handler<'upsertEntries'> = (context, { body }) =>
  writeRows(context, 'EntryUpsertRecord', body.records, typesWith('x-entry-type'));
