import type { Session } from '@financial-automation/server/service';
import { sql } from 'kysely';

/** A figure of the loaded data, and between which values it is. */
interface Figure {
  readonly name: string;
  /** SQL of the rows, and of a value over them. */
  readonly from: string;
  readonly value: string;
  readonly low: number;
  readonly high: number;
}

const figure = (name: string, value: string, from: string, low: number, high: number): Figure => ({
  name,
  value,
  from,
  low,
  high,
});

/** A share of the rows in percent. */
const share = (table: string, condition: string, low: number, high: number): Figure =>
  figure(
    `percent of ${table} with ${condition}`,
    `100.0 * count(*) filter (where ${condition}) / count(*)`,
    table,
    low,
    high,
  );

/** The figures of a firm that looks like one today, of any size. */
const figures: readonly Figure[] = [
  share('client', `entity_type = 'INDIVIDUAL'`, 45, 75),
  share('client', `status = 'ACTIVE'`, 75, 90),
  share('client', `currency <> 'USD'`, 1, 15),
  figure('contacts of a client', 'count(*) / (select count(*) from client)::float8', 'contact', 3, 3),
  share('job', `status = 'CLOSED'`, 45, 75),
  share('job', `status in ('PLANNED', 'READY')`, 3, 25),
  share('job', `status = 'IN_PROGRESS'`, 4, 25),
  share('job', `extract(month from due_date) in (3, 4)`, 20, 40),
  figure('mean hours of a job', 'avg(actual_hours)', `job where actual_hours > 0`, 30, 150),
  figure(
    'utilization of the last year, in percent of the capacity',
    `100 * sum(hours) filter (where is_billable) / ((select sum(weekly_capacity_hours) from staff where status <> 'TERMINATED') * 52)`,
    'time_entry where work_date >= today() - 364',
    50,
    80,
  ),
  share('time_entry', `status = 'APPROVED'`, 96, 100),
  share('time_entry', `extract(isodow from work_date) > 5`, 0, 0),
  figure(
    'realization in percent',
    '100 * sum(billed_amount) / sum(amount)',
    `wip_entry where status in ('BILLED', 'WRITTEN_OFF') and wip_type = 'TIME'`,
    70,
    110,
  ),
  figure('percent of open work', `100.0 * sum(outstanding_amount) / sum(amount)`, 'wip_entry', 0.5, 12),
  figure('mean of the invoices', 'avg(total)', `invoice where total > 0 and status <> 'VOIDED'`, 1_500, 16_000),
  share('invoice', `status in ('POSTED', 'PARTIALLY_PAID') and total > 0`, 1, 12),
  share('invoice', `document_type = 'CREDIT_NOTE'`, 0.5, 5),
  share('invoice', `discount_total > 0 and total > 0`, 3, 12),
  share('invoice', `tax_total > 0`, 1, 50),
  figure(
    'days until an invoice is paid',
    'percentile_cont(0.5) within group (order by paid_date - invoice_date)',
    'invoice where paid_date is not null and total > 0',
    8,
    35,
  ),
  share('payment', `method = 'ACH'`, 25, 50),
  share('file', `source = 'CLIENT_REQUEST'`, 35, 55),
  figure('characters of the longest file name', 'max(length(file_name))', 'file', 20, 300),
];

/** Rows of which each firm has some, whatever its size. */
const states: readonly string[] = [
  `wip_entry where status = 'OPEN'`,
  `wip_entry where status = 'BILLED'`,
  `wip_entry where status = 'WRITTEN_OFF' and write_off_reason is not null`,
  `wip_entry where wip_type = 'EXPENSE' and status = 'BILLED'`,
  `draft_invoice where status = 'DRAFT'`,
  `invoice where status = 'POSTED' and total > 0`,
  `invoice where status = 'PAID'`,
  `invoice where status = 'VOIDED'`,
  `invoice where status = 'WRITTEN_OFF'`,
  `invoice where document_type = 'CREDIT_NOTE'`,
  `invoice where currency = 'CAD'`,
  `payment where status = 'COMPLETED'`,
  `payment where method = 'CREDIT' and unapplied_amount = 0`,
  `staff where status = 'TERMINATED' and termination_date < today()`,
  `job where billing_type = 'FIXED_FEE' and billed_fee_amount > 0`,
  `expense_entry where status = 'APPROVED'`,
  `engagement where status = 'COMPLETED'`,
  `engagement where status = 'ACTIVE'`,
  `file where status = 'AVAILABLE'`,
  `custom_record`,
];

/** Returns those of the states that no row has on the day of the data, RFC 3339. */
export async function missingStates(session: Pick<Session, 'all'>, today: string): Promise<string[]> {
  const missing: string[] = [];
  for (const from of states) {
    const rows = await session.all(sql.raw(`select from ${from} limit 1`.replaceAll('today()', `date '${today}'`)));
    if (rows.length === 0) missing.push(from);
  }
  return missing;
}

/** Returns the figures that are not as expected on the day of the data, RFC 3339. */
export async function differing(session: Pick<Session, 'all'>, today: string): Promise<string[]> {
  const found: string[] = [];
  for (const { name, value: of, from, low, high } of figures) {
    const query = `select (${of})::float8 as value from ${from}`.replaceAll('today()', `date '${today}'`);
    const [row] = await session.all<{ value: number | null }>(sql.raw(query));
    const value = Number(row?.value ?? Number.NaN);
    if (!(value >= low && value <= high)) found.push(`${name}: ${value.toFixed(2)} is not from ${low} to ${high}`);
  }
  return found;
}
