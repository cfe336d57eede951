import { sql } from 'kysely';
import { defineClockTask } from '../../background/clock.ts';
import { type CandidateRow, changeDueRows, laterThan } from '../../background/due-rows.ts';
import { engagement } from './engagement.ts';

/** Expires letters that were not signed in time. */
export const expireLetters = defineClockTask({
  name: 'expire-letters',
  every: 'due',
  nextDue: (tenantId, after) => sql`
    select min(expires_at) as at from engagement
    where tenant_id = ${tenantId} and status = 'SENT' and expires_at > ${after}::timestamptz`,
  run: (tick) =>
    changeDueRows(tick, {
      find: (session, { tenant, now }, { after, limit }) =>
        session.all<CandidateRow>(sql`
          select id, expires_at as since from engagement
          where tenant_id = ${tenant.id} and status = 'SENT' and expires_at <= ${now.toString()}::timestamptz and ${laterThan('expires_at', after)}
          order by expires_at, id limit ${limit}`),
      change(plan, id) {
        const { status, expiresAt = null } = plan.getForUpdate(engagement, id) ?? {};
        if (status === 'SENT' && expiresAt !== null && Temporal.Instant.compare(expiresAt, tick.now) <= 0)
          plan.set(engagement, id, { status: 'EXPIRED' });
      },
    }),
});
