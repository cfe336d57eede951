import { Cells } from '../platform/store/databases/index.ts';
import type { Store } from '../platform/store/store.ts';

/** The clock of a sandbox. */
export interface TenantClock {
  /** How far it is ahead of the real one, in milliseconds. */
  readonly offset: number;
  /** Whether it is being advanced. */
  readonly isLeased: boolean;
}

/** Returns the clock of a sandbox; undefined where the tenant has none of its own. */
export async function clockOf(store: Store, tenantId: number): Promise<TenantClock | undefined> {
  const { rows } = await store.cellOf(tenantId).ownerStatements<TenantClock & { readonly hasLeft: boolean }>(
    `select clock_offset as "offset", coalesce(clock_leased_until > now(), false) as "isLeased",
       coalesce(tenant_move_phase(id) = 'LEFT', false) as "hasLeft"
     from tenant where id = $1 and is_sandbox`,
    [tenantId],
  );
  const [row] = rows;
  if (row?.hasLeft && store instanceof Cells && (await store.follow(tenantId, store.numberOf(tenantId))))
    return clockOf(store, tenantId);
  return row;
}
