import type { Handler } from '../../entity/context.ts';
import { summaryOf, typesWith, wholeList } from '../bulk/index.ts';

/** Lists the code types. */
export const listCodeTypes: Handler<'listCodeTypes'> = async () => ({
  status: 200,
  body: wholeList([...typesWith('x-code-type').values()].map(summaryOf)),
});
