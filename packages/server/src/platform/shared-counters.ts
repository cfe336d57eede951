import { RateLimiterMemory, RateLimiterPostgres } from 'rate-limiter-flexible';
import { type Counters, countersBy, memoryCounters } from './counters.ts';
import type { Store } from './store/store.ts';

const table = 'request_count';

/**
 * Counts for all processes of the database. While it is unavailable, each process counts on its own. The embedded database
 * has one process, which needs no database to count.
 */
export function sharedCounters(store: Store): Counters {
  if (store.engine === 'pglite') return memoryCounters();
  const storeClient = {
    async query({ text, values }: { readonly text: string; readonly values: readonly unknown[] }) {
      const { rows } = await store.ownerStatements(text, values);
      return { rows, rowCount: rows.length };
    },
  };
  let isFirst = true;
  return countersBy((duration) => {
    const limiter = new RateLimiterPostgres({
      storeClient,
      storeType: 'client',
      tableName: table,
      tableCreated: true,
      // One of them removes the rows of all.
      clearExpiredByTimeout: isFirst,
      // Windows of another length have another name of their limit, too.
      keyPrefix: '',
      points: 1,
      duration,
      insuranceLimiter: new RateLimiterMemory({ points: 1, duration }),
    });
    isFirst = false;
    return limiter;
  });
}
