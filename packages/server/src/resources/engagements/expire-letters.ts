import { sql } from 'kysely';
import { defineClockTask } from '../../background/clock.ts';
import { changeDueRows } from '../../background/due-rows.ts';
import { engagement } from './engagement.ts';

/** Expires letters that were not signed in time. */
export const expireLetters = defineClockTask({
  name: 'expire-letters',
  every: 'minute',
  run: (tick) =>
    changeDueRows(tick, {
      find: (session, { tenant, now }, limit) =>
        session.all<{ id: string }>(sql`
          select id from engagement
          where tenant_id = ${tenant.id} and status = 'SENT' and expires_at <= ${now.toString()}::timestamptz
          order by expires_at limit ${limit}`),
      change(plan, id) {
        const { status, expiresAt = null } = plan.getForUpdate(engagement, id) ?? {};
        if (status === 'SENT' && expiresAt !== null && Temporal.Instant.compare(expiresAt, tick.now) <= 0)
          plan.update(engagement, id, {}, { system: { status: 'EXPIRED' }, event: 'expired' });
      },
    }),
});
