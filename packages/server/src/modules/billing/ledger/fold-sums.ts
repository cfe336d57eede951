import { sql } from 'kysely';
import { defineClockTask } from '../../../background/clock.ts';

/** Makes one row of those that transactions have added for the sums of a day. Figures are the same without, and slower. */
export const foldSums = defineClockTask({
  name: 'fold-sums',
  every: 'day',
  async run({ tenant, write }) {
    await write(({ transaction }) => transaction.all(sql`select fold_day_sums(${tenant.id})`));
  },
});
