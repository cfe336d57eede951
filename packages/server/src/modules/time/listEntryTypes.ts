import type { Handler } from '../../entity/context.ts';
import { summaryOf, typesWith, wholeList } from '../bulk/index.ts';

/** Lists the entry types. */
export const listEntryTypes: Handler<'listEntryTypes'> = async () => ({
  status: 200,
  body: wholeList([...typesWith('x-entry-type').values()].map(summaryOf)),
});
