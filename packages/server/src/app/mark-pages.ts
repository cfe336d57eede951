import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { defineClockTask } from '../background/clock.ts';
import type { Session } from '../platform/store/session.ts';

/** How many marks one transaction adds, and the pause after it, in milliseconds: inserts come between. */
const batchSize = 4;
const pauseBetween = 20;

/** Marks where pages begin in large tables, so that lookups by page number are quick at any depth. */
export const markPages = defineClockTask({
  name: 'mark-pages',
  every: 'day',
  async run({ tenant, signal, read, write }) {
    for (const table of await read(markedTables))
      while (!(await write(({ transaction }) => isMarked(transaction, tenant.id, table))))
        await pause(pauseBetween, undefined, { signal });
  },
});

/** The tables that have marks. */
export async function markedTables(session: Pick<Session, 'all'>): Promise<string[]> {
  const rows = await session.all(sql<{ name: string }>`select * from page_marked_tables() as name order by 1`);
  return rows.map(({ name }) => name);
}

/** Adds the next marks of a table. @returns whether they were the last */
export async function isMarked(session: Pick<Session, 'all'>, tenantId: number, table: string): Promise<boolean> {
  const [row] = await session.all(
    sql<{ added: number }>`select add_page_marks(${tenantId}, ${table}, ${batchSize}) as added`,
  );
  return row === undefined || row.added < batchSize;
}
