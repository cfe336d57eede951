import { sql } from 'kysely';
import { defineClockTask } from '../../background/clock.ts';
import { changeDueRows } from '../../background/due-rows.ts';
import { quickPaymentLink } from './payment-link.ts';

/** Expires links that were not paid in time, except those with a payment in progress. */
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
