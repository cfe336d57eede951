import { sql } from 'kysely';
import type { Loader } from './table-loader.ts';

/** Sets the counters of the service to continue after the loaded numbers. */
export async function saveCounters(
  loader: Loader,
  counters: Iterable<readonly [name: string, value: number]>,
): Promise<void> {
  for (const [name, value] of counters)
    await loader.all(sql`
      insert into tenant_counter (tenant_id, name, value) values (${loader.tenantId}, ${name}, ${value})
      on conflict (tenant_id, name) do update set value = greatest(tenant_counter.value, excluded.value)`);
}
