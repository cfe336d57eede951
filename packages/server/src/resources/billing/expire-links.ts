import { sql } from 'kysely';
import { defineClockTask } from '../../background/clock.ts';
import { changeDueRows } from '../../background/due-rows.ts';
import { quickPaymentLink } from './payment-link.ts';

/** Ends links that nobody paid in time. One that is being paid at that moment is not among them. */
export const expireLinks = defineClockTask({
  name: 'expire-links',
  every: 'minute',
  run: (tick) =>
    changeDueRows(tick, {
      find: (session, { tenant, now }, limit) =>
        session.all<{ id: string }>(sql`
          select id from quick_payment_link
          where tenant_id = ${tenant.id} and status = 'ACTIVE' and expires_at <= ${now.toString()}::timestamptz
          order by expires_at limit ${limit}`),
      change(plan, id) {
        if (plan.getForUpdate(quickPaymentLink, id)?.status === 'ACTIVE')
          plan.update(quickPaymentLink, id, {}, { system: { status: 'EXPIRED' }, event: 'expired' });
      },
    }),
});
