import { sql } from 'kysely';
import type { Store } from '../../platform/store/store.ts';
import type { ConsoleSession } from './session.ts';

/** Ends a session in all processes, and forgets those that have expired. */
export async function endSession(store: Store, tenantId: number, { id, until }: ConsoleSession): Promise<void> {
  await store.write(tenantId, async (transaction) => {
    await transaction.all(sql`delete from ended_session where tenant_id = ${tenantId} and expires_at < now()`);
    await transaction.all(sql`
      insert into ended_session (tenant_id, id, expires_at) values (${tenantId}, ${id}, to_timestamp(${until}::double precision))
      on conflict do nothing`);
  });
}

/** Whether somebody ended a session by signing out. */
export async function isEnded(store: Store, tenantId: number, { id }: ConsoleSession): Promise<boolean> {
  const found = await store.read(tenantId, (session) =>
    session.first(sql`select 1 as found from ended_session where tenant_id = ${tenantId} and id = ${id}`),
  );
  return found !== undefined;
}
