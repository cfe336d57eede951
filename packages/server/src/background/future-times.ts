import type { Store } from '../platform/store/store.ts';

/**
 * Brings forward leases and due times that are further ahead than a correct clock can set them. The clock of the database was wrong
 * for a while, or that of a process of an earlier version; otherwise nothing would happen until then.
 */
export async function recoverFromWrongClock(store: Store): Promise<void> {
  await store.ownerStatements(`
    update clock_lease set minute = 0 where minute > date_part('epoch', now()) / 60 + 1;
    update clock_lease set run_id = null, leased_until = null where leased_until > ${maxLeaseEnd};
    update clock_due due set due_at = date_trunc('milliseconds', now()), run_id = null from tenant
    where tenant.id = due.tenant_id and (due.task = 'day' or due.run_id is not null)
      and due.due_at > ${maxPauseEnd} + tenant.clock_offset * interval '1 millisecond';
    update tenant set clock_leased_until = now() where clock_leased_until > ${maxLeaseEnd};
    update background_job set leased_until = now() where status = 'RUNNING' and leased_until > ${maxLeaseEnd};
    update background_job set due_at = now() where status = 'WAITING' and due_at > ${maxPauseEnd};
    update delivery_partition set leased_until = now() where leased_until > ${maxLeaseEnd};
    update delivery_partition partition set due_at = now() from tenant
    where tenant.id = partition.tenant_id and partition.due_at < 'infinity'
      and partition.due_at > ${maxPauseEnd} + tenant.clock_offset * interval '1 millisecond'`);
}

/** Leases last for seconds. */
const maxLeaseEnd = `now() + interval '1 hour'`;
/** A day of a tenant starts within 26 hours, also if its time zone changes, and failed work is repeated within hours. */
const maxPauseEnd = `now() + interval '2 days'`;
