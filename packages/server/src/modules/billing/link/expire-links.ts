import { sql } from 'kysely';
import { defineClockTask } from '../../../background/clock.ts';
import { type CandidateRow, changeDueRows, laterThan } from '../../../background/due-rows.ts';
import { expireLink, quickPaymentLink } from './payment-link.ts';

/** Expires links that were not paid in time, except those with a payment in progress. */
export const expireLinks = defineClockTask({
  name: 'expire-links',
  every: 'due',
  nextDue: (tenantId, after) => sql`
    select min(expires_at) as at from quick_payment_link
    where tenant_id = ${tenantId} and status = 'ACTIVE' and expires_at > ${after}::timestamptz`,
  run: (tick) =>
    changeDueRows(tick, {
      find: (session, { tenant, now }, { after, limit }) =>
        session.all<CandidateRow>(sql`
          select id, expires_at as since from quick_payment_link
          where tenant_id = ${tenant.id} and status = 'ACTIVE' and expires_at <= ${now.toString()}::timestamptz and ${laterThan('expires_at', after)}
          order by expires_at, id limit ${limit}`),
      change(plan, id) {
        if (plan.getForUpdate(quickPaymentLink, id)?.status === 'ACTIVE') expireLink(plan, id);
      },
    }),
});
