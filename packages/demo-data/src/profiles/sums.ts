import { keptSums } from '@financial-automation/server/modules/billing';
import { sql } from 'kysely';
import type { Loader } from './table-loader.ts';

/** Calculates the sums of jobs, tasks and clients if triggers did not do so while rows were loaded. */
export async function addUpSums({ keepsSums, tenantId, run }: Loader): Promise<void> {
  if (keepsSums) return;
  for (const { type, table, columns, sums } of keptSums) {
    // These were loaded with their sums.
    if (type === 'Invoice' || type === 'Payment') continue;
    const values = Object.values(columns).map((column) => sql`${sql.ref(column)} = coalesce(s.${sql.ref(column)}, 0)`);
    await run(sql`
      update ${sql.table(table)} t set ${sql.join(values)} from (${sums(tenantId)}) s
      where t.tenant_id = ${tenantId} and t.id = s.id`);
  }
}
