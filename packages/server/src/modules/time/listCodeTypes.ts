import { summaryOf } from '../../bulk/record-type.ts';
import { typesWith } from '../../bulk/standard-types.ts';
import { wholeList } from '../../bulk/whole-list.ts';
import type { Handler } from '../../service/context.ts';

/** Lists the code types. */
export const listCodeTypes: Handler<'listCodeTypes'> = async () => ({
  status: 200,
  body: wholeList([...typesWith('x-code-type').values()].map(summaryOf)),
});
