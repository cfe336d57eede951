import { sql } from 'kysely';
import { defineClockTask } from '../../../background/clock.ts';
import { type CandidateRow, changeDueRows, laterThan } from '../../../background/due-rows.ts';
import { hasOpenStatus } from '../../reference/index.ts';
import { isOpen } from '../rules/balances.ts';
import { invoice } from './invoice.ts';

/**
 * Records that invoices are overdue, so that an event is sent. Whether an invoice is overdue depends on the date; this is
 * only the time of detection, once per invoice.
 */
export const markOverdue = defineClockTask({
  name: 'mark-overdue',
  every: 'due',
  run: (tick) =>
    changeDueRows(tick, {
      find: (session, { tenant, today }, { after, limit }) =>
        session.all<CandidateRow>(sql`
          select id, due_date as since from invoice
          where tenant_id = ${tenant.id} and ${hasOpenStatus('invoice')} and overdue_at is null
            and document_type = 'INVOICE'
            and due_date < ${today.toString()}::date and ${laterThan('due_date', after)}
          order by due_date, id limit ${limit}`),
      change(plan, id) {
        const row = plan.getForUpdate(invoice, id);
        if (row !== undefined && isOpen(row) && row.overdueAt === null) plan.set(invoice, id, { overdueAt: plan.now });
      },
    }),
});
