import { summaryOf } from '../../bulk/record-type.ts';
import { typesWith } from '../../bulk/standard-types.ts';
import { wholeList } from '../../bulk/whole-list.ts';
import type { Handler } from '../../service/context.ts';

/** Lists the entry types. */
export const listEntryTypes: Handler<'listEntryTypes'> = async () => ({
  status: 200,
  body: wholeList([...typesWith('x-entry-type').values()].map(summaryOf)),
});
