import { type RawBuilder, sql } from 'kysely';
import type { Loader } from './table-loader.ts';

/** Sets the counters of the service to continue after the loaded numbers. */
export async function saveCounters(
  { run, tenantId }: Pick<Loader, 'run' | 'tenantId'>,
  counters: Iterable<readonly [name: string, value: number]>,
): Promise<void> {
  for (const [name, value] of counters) await run(counterOf(tenantId, name, value));
}

/** SQL that raises a counter to a value. */
export function counterOf(tenantId: number, name: string, value: number): RawBuilder<unknown> {
  return sql`
    insert into tenant_counter (tenant_id, name, value) values (${tenantId}, ${name}, ${value})
    on conflict (tenant_id, name) do update set value = greatest(tenant_counter.value, excluded.value)`;
}

/** Returns the value of a counter; undefined if it was never used. */
export async function readCounter(
  { all, tenantId }: Pick<Loader, 'all' | 'tenantId'>,
  name: string,
): Promise<number | undefined> {
  const [row] = await all<{ value: number }>(
    sql`select value from tenant_counter where tenant_id = ${tenantId} and name = ${name}`,
  );
  return row?.value;
}
