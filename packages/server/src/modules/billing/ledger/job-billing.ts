import { sql } from 'kysely';
import { parseDecimal } from '../../../platform/decimal.ts';
import type { Session } from '../../../platform/store/session.ts';
import { jobBilling } from '../rules/job-amounts.ts';

interface StoredDocument {
  readonly id: string;
  readonly currency: string;
  readonly lines: readonly {
    readonly lineType: string;
    readonly jobId: string | null;
    readonly amount: string;
    readonly work: readonly { readonly jobId: string; readonly billed: string }[];
  }[];
  /** What is stored of each job, as text. */
  readonly billing: Readonly<Record<string, string>>;
}

interface WrongBilling {
  readonly id: string;
  readonly detail: string;
}

/** Number of documents that are read at once. */
const pageSize = 1_000;

/** Calculates again what each document bills its jobs, and returns the documents of which something else is stored. */
export async function findWrongBilling(session: Pick<Session, 'all'>, tenantId: number): Promise<WrongBilling[]> {
  const wrong: WrongBilling[] = [];
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const page = await session.all(documentsAfter(tenantId, after));
    for (const { id, currency, lines, billing } of page) {
      const calculated = jobBilling(
        lines.map(({ amount, work, ...line }) => ({
          ...line,
          amount: parseDecimal(amount),
          work: work.map(({ jobId, billed }) => ({ jobId, billed: parseDecimal(billed) })),
        })),
        currency,
      );
      for (const jobId of new Set([...calculated.keys(), ...Object.keys(billing)])) {
        const { billed, fee, feeWithoutWork } = calculated.get(jobId) ?? {};
        const expected = [billed, fee, feeWithoutWork].map((amount) => amount?.toFixed(2) ?? '').join(' ');
        if (billing[jobId] !== expected) wrong.push({ id, detail: `${jobId} ${billing[jobId]} ${expected}` });
      }
    }
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return wrong;
    after = last.id;
  }
}

/** Of the work of a line with a job, it only matters whether there is any. */
function documentsAfter(tenantId: number, after: string) {
  return sql<StoredDocument>`
    select i.id, i.currency,
      (select coalesce(json_agg(json_build_object('lineType', l.line_type, 'jobId', l.job_id, 'amount', l.amount::text,
          'work', (select coalesce(json_agg(json_build_object('jobId', w.job_id, 'billed', r.billed::text)), '[]')
            from (select tenant_id, wip_entry_id from invoice_line_wip k where k.tenant_id = l.tenant_id and k.line_id = l.id
              order by k.position limit case when l.job_id is not null then 1 end) k
            join wip_relief r on r.tenant_id = k.tenant_id and r.invoice_id = i.id and r.wip_entry_id = k.wip_entry_id
            join wip_entry w on w.tenant_id = k.tenant_id and w.id = k.wip_entry_id)) order by l.position), '[]')
        from invoice_line l where l.tenant_id = i.tenant_id and l.invoice_id = i.id) as lines,
      (select coalesce(json_object_agg(b.job_id, concat_ws(' ', b.billed, b.fee, b.fee_without_work)), '{}')
        from invoice_billing b where b.tenant_id = i.tenant_id and b.invoice_id = i.id) as billing
    from invoice i where i.tenant_id = ${tenantId} and i.id > ${after} and i.status <> 'PENDING'
    order by i.id limit ${pageSize}`;
}
