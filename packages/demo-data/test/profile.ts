import type { Session } from '@financial-automation/server/platform/store/session';
import { sql } from 'kysely';

/** A figure of the loaded data, and between which values it is; narrower bounds hold for firms of some size. */
export interface Figure {
  readonly name: string;
  /** SQL of the rows, and of a value over them. */
  readonly from: string;
  readonly value: string;
  readonly low: number;
  readonly high: number;
  /** Four people have a handful of open invoices, and few at the turn of a month. */
  readonly ofTiny?: readonly [from: number, to: number];
}

/** A share of the rows in percent. */
const share = (
  table: string,
  condition: string,
  percent: number,
  tolerance: number,
  ofTiny = tolerance * 2.5,
  where = 'true',
): Figure => ({
  name: `percent of ${table} with ${condition}`,
  value: `100.0 * count(*) filter (where ${condition}) / count(*)`,
  from: `${table} where ${where}`,
  low: percent - tolerance,
  high: percent + tolerance,
  ofTiny: [Math.max(0, percent - ofTiny), percent + ofTiny],
});

const between = (
  name: string,
  value: string,
  from: string,
  low: number,
  high: number,
  ofTiny?: Figure['ofTiny'],
): Figure => ({
  name,
  value,
  from,
  low,
  high,
  ...(ofTiny === undefined ? {} : { ofTiny }),
});

const exactly = (table: string, count: number): Figure => between(`rows of ${table}`, 'count(*)', table, count, count);

const median = (of: string) => `percentile_cont(0.5) within group (order by ${of})`;
const billed = `invoice i join client k on k.tenant_id = i.tenant_id and k.id = i.client_id
  where i.status <> 'VOIDED' and i.total > 0 and i.pms_ref = i.invoice_number`;
const hours = `job where status = 'CLOSED'`;
/** Monthly hours of the months of the last three years. */
const months = (condition: string) =>
  `(select coalesce(sum(hours), 0) / count(distinct date_trunc('month', work_date)) as hours from time_entry
    where ${condition} and work_date < date_trunc('month', today()::timestamp)) m`;
const month = (of: string) => `extract(month from ${of})`;
const line = (place: string) => `invoice_billing b join job j on j.tenant_id = b.tenant_id and j.id = b.job_id
  join service_line s on s.tenant_id = j.tenant_id and s.id = j.service_line_id and s.code in (${place})`;
const fees = (name: string, place: string, percent: number): Figure => ({
  name: `percent of the fees from ${name}`,
  value: '100.0 * coalesce(sum(b.billed), 0) / (select sum(billed) from invoice_billing)',
  from: line(place),
  low: percent - 7,
  high: percent + 7,
  ofTiny: [Math.max(1, percent - 20), percent + 20],
});

/** The distributions of a firm that looks like one today. */
export const figures: readonly Figure[] = [
  exactly('industry', 60),
  exactly('client_type', 8),
  exactly('client_business_entity', 11),
  exactly('job_template', 85),
  exactly('task_type', 48),
  exactly('work_code', 109),
  exactly('non_work_code', 31),
  exactly('staff_type', 12),
  exactly('office', 9),
  exactly('department', 14),
  exactly('service_line', 7),

  share('staff', `status = 'TERMINATED'`, 13, 3, 13),
  between('rate rows of a billable person', 'count(*) / (count(distinct staff_id))::float8', 'staff_rate', 2.6, 4),
  between(
    'billing rate of a partner today',
    'avg(r.billing_rate)',
    `staff_rate r join staff s on s.tenant_id = r.tenant_id and s.id = r.staff_id
    join staff_type t on t.tenant_id = s.tenant_id and t.id = s.staff_type_id
    where t.code = 'ST0' and r.effective_to_date is null`,
    440,
    540,
    [400, 600],
  ),

  share('client', `entity_type = 'INDIVIDUAL'`, 62, 4),
  share('client', `entity_type in ('LLC', 'S_CORP', 'C_CORP', 'PARTNERSHIP')`, 34, 4),
  share('client', `status = 'ACTIVE'`, 82, 4),
  share('client', `status = 'PROSPECT'`, 6, 3),
  share('client', `client_group_id is not null`, 40, 2, 5),
  between(
    'fewest members of a group',
    'min(members)',
    '(select count(*) as members from client where client_group_id is not null group by client_group_id) g',
    2,
    2,
    [1, 3],
  ),
  between('shortest terms', 'min(payment_terms_days)', 'client', 0, 0),
  between('longest terms', 'max(payment_terms_days)', 'client', 60, 60),
  between('contacts of a client', 'count(*) / (select count(*) from client)::float8', 'contact', 2.8, 3.4),
  between('links of a contact', 'count(*) / (select count(*) from contact)::float8', 'contact_client', 1.15, 1.35),
  between('contact infos of a client', 'count(*) / (select count(*) from client)::float8', 'contact_info', 5.3, 6.7),
  share('contact_client', 'not active', 6, 2, 4),
  share('contact', 'email is null', 9, 2, 5),

  share('job', `status in ('PLANNED', 'READY')`, 13, 4, 7),
  share('job', `status = 'IN_PROGRESS'`, 12, 4, 7),
  share('job', `status = 'COMPLETED'`, 12, 4, 7),
  share('job', `status = 'CLOSED'`, 58, 9, 12),
  share('job', `status = 'CANCELLED'`, 2, 1, 2),
  share('job', `${month('due_date')} in (3, 4)`, 30, 5, 8),
  share('job', `${month('due_date')} in (9, 10)`, 18, 4, 7),
  share('job', `billing_type = 'RECURRING' and billing_schedule is not null`, 5, 3, 4),
  between('mean hours of a job', 'avg(actual_hours)', 'job', 24, 38, [22, 45]),
  between('median hours of a job', median('actual_hours'), hours, 7, 14, [5, 20]),
  between(
    '99th percentile of the hours of a job',
    'percentile_cont(0.99) within group (order by actual_hours)',
    hours,
    200,
    600,
    [100, 900],
  ),
  between('words in the name of a job', `avg(array_length(string_to_array(name, ' '), 1))`, 'job', 2.5, 8),
  between('different names of jobs', 'count(distinct name)::float8', 'job', 50, 150, [40, 150]),

  between(
    'utilization of the last year, in percent of the capacity',
    `100 * sum(hours) filter (where is_billable) / ((select sum(weekly_capacity_hours)
    from staff where is_billable and status <> 'TERMINATED') * 52)`,
    `time_entry e where work_date >= today() - 364
    and exists (select from staff s where s.tenant_id = e.tenant_id and s.id = e.staff_id and s.status <> 'TERMINATED' and s.is_billable)`,
    60,
    74,
    [58, 74],
  ),
  between(
    'chargeable percent of the hours',
    '100 * sum(hours) filter (where is_billable) / sum(hours)',
    'time_entry',
    55,
    66,
    [52, 70],
  ),
  between(
    'hours of a month in the season',
    `m.hours / nullif((select hours from ${months(`${month('work_date')} not in (2, 3, 4, 12)`)}), 0)`,
    months(`${month('work_date')} in (2, 3, 4)`),
    1.2,
    1.5,
    [1.1, 1.7],
  ),
  between(
    'hours of December',
    `m.hours / nullif((select hours from ${months(`${month('work_date')} not in (2, 3, 4, 12)`)}), 0)`,
    months(`${month('work_date')} = 12`),
    0.65,
    0.95,
  ),
  share('time_entry', `status = 'APPROVED'`, 98, 2, 2),
  between('entries on weekends', 'count(*)', `time_entry where extract(isodow from work_date) > 5`, 0, 0),

  between(
    'days of work that are not billed',
    `sum(outstanding_amount) / ((select sum(billed_amount) from wip_entry
    where work_date >= today() - 365) / 365)`,
    'wip_entry',
    24,
    60,
    [10, 75],
  ),
  between(
    'percent of open work that is younger than 30 days',
    `100 * sum(outstanding_amount) filter (where work_date > today() - 30) / sum(outstanding_amount)`,
    `wip_entry where outstanding_amount > 0`,
    40,
    85,
    [30, 95],
  ),
  between(
    'percent of open work that is older than 90 days',
    `100 * coalesce(sum(outstanding_amount) filter (where work_date < today() - 90), 0) / sum(outstanding_amount)`,
    `wip_entry where outstanding_amount > 0`,
    1,
    30,
    [0, 60],
  ),
  between(
    'rows written off with a reason',
    'count(*)',
    `wip_entry where status = 'WRITTEN_OFF' and write_off_reason is not null`,
    20,
    100_000,
    [5, 200],
  ),
  between(
    'rows billed at less, with a reason',
    'count(*)',
    `wip_entry where status = 'BILLED' and write_off_amount > 0 and write_off_reason is not null`,
    100,
    1_000_000,
    [20, 10_000],
  ),
  between(
    'percent of open work among rows',
    `100.0 * count(*) filter (where status = 'OPEN') / count(*)`,
    'wip_entry',
    1.5,
    7,
    [0.5, 9],
  ),

  between(
    'median of the invoices of individuals',
    median('i.total'),
    `${billed} and k.entity_type = 'INDIVIDUAL'`,
    700,
    1_100,
    [600, 1_400],
  ),
  between(
    'median of the invoices of firms',
    median('i.total'),
    `${billed} and k.entity_type in ('C_CORP', 'S_CORP')`,
    2_000,
    8_000,
    [2_000, 12_000],
  ),
  between('mean of the invoices', 'avg(i.total)', billed, 2_600, 6_000, [2_600, 9_000]),
  between(
    'realization in percent',
    `100 * sum(billed_amount) / sum(amount)`,
    `wip_entry where status in ('BILLED', 'WRITTEN_OFF') and wip_type = 'TIME'`,
    80,
    92,
    [72, 100],
  ),
  share('invoice', `status in ('POSTED', 'PARTIALLY_PAID')`, 4.2, 2, 4, `total >= 0 and pms_ref = invoice_number`),
  between(
    'percent of open invoices that are overdue',
    `100.0 * count(*) filter (where due_date < today()) / count(*)`,
    `invoice where status in ('POSTED', 'PARTIALLY_PAID') and total >= 0`,
    28,
    55,
    [10, 90],
  ),
  between(
    'percent of receivables that are overdue',
    `100 * sum(amount_due) filter (where due_date < today()) / sum(amount_due)`,
    `invoice where amount_due > 0`,
    25,
    60,
    [10, 90],
  ),
  between(
    'days of invoices that are not paid',
    `sum(amount_due) / ((select sum(total) from invoice where status <> 'VOIDED' and invoice_date >= today() - 365) / 365)`,
    `invoice where amount_due > 0 and status <> 'WRITTEN_OFF'`,
    28,
    60,
    [12, 80],
  ),
  between(
    'invoices written off',
    "100.0 * count(*) filter (where status = 'WRITTEN_OFF') / count(*)",
    'invoice',
    0.3,
    1.5,
    [0.1, 3],
  ),
  between(
    'invoices voided',
    "100.0 * count(*) filter (where status = 'VOIDED') / count(*)",
    'invoice',
    0.2,
    1.2,
    [0.1, 2],
  ),
  between(
    'credit notes in percent of the invoices',
    `100.0 * count(*) filter (where document_type = 'CREDIT_NOTE' and credited_invoice_id is not null) / count(*)`,
    'invoice',
    0.4,
    1.6,
    [0.2, 2.5],
  ),
  between(
    'percent of the credits of notes that are applied',
    '100.0 * count(*) filter (where unapplied_amount = 0) / count(*)',
    'payment where credit_note_id is not null',
    70,
    99.9,
    [30, 100],
  ),
  fees('tax', `'SL0', 'SL1'`, 46),
  fees('audit', `'SL2'`, 24),
  fees('client accounting', `'SL3', 'SL5'`, 18),
  fees('advisory', `'SL4'`, 9),
  between(
    'percent of the fees from the largest tenth of the clients',
    `100 * sum(billed) filter (where place <= 0.1) / sum(billed)`,
    `(select sum(total) as billed,
    percent_rank() over (order by sum(total) desc) as place from invoice where status <> 'VOIDED' group by client_id) c`,
    50,
    75,
    [35, 80],
  ),

  ...(
    [
      ['ACH', 38],
      ['CHECK', 34],
      ['CARD', 20],
      ['WIRE', 4],
      ['OTHER', 4],
    ] as const
  ).map(([method, percent]) => share('payment', `method = '${method}'`, percent, 4, 7)),
  share('payment', `status = 'FAILED'`, 0.7, 0.5, 0.7),
  share('payment', `status = 'REFUNDED'`, 0.4, 0.4, 0.8),
  between(
    'days until an invoice is paid',
    median('(i.paid_date - i.invoice_date)'),
    `invoice i where paid_date is not null and total > 0 and pms_ref = invoice_number`,
    18,
    30,
  ),

  between(
    'percent of engagements that were signed',
    `100.0 * count(*) filter (where status in ('EXECUTED', 'ACTIVE', 'ON_HOLD', 'COMPLETED')) / count(*)`,
    'engagement',
    68,
    86,
  ),
  share('engagement', `status = 'SENT'`, 9, 4),
  share('file', `source = 'CLIENT_REQUEST'`, 44, 3, 6),
  share('file', `source = 'DELIVERABLE'`, 27, 3, 6),
  between('subscriptions', 'count(*)', 'event_subscription', 14, 15),
  between(
    'subscriptions to payments without a filter that are delivered to',
    'count(*)',
    `event_subscription where active and entity_type = 'Payment' and filter_expression is null`,
    1,
    1,
  ),
];

/** Rows of which each firm has some, whatever its size. */
const states: readonly string[] = [
  `wip_entry where status = 'OPEN'`,
  `wip_entry where status = 'IN_DRAFT'`,
  `wip_entry where status = 'BILLED'`,
  `draft_invoice where status <> 'POSTED'`,
  `invoice where status = 'POSTED'`,
  `invoice where status = 'PAID'`,
  `invoice where overdue_at is not null`,
  `payment where status = 'COMPLETED'`,
  `quick_payment_link`,
  `wip_entry where wip_type = 'EXPENSE' and status = 'BILLED'`,
  `wip_entry where wip_type = 'FIXED_FEE' and status = 'BILLED'`,
  `wip_entry where status = 'WRITTEN_OFF' and write_off_reason is not null`,
  `invoice where status = 'WRITTEN_OFF'`,
  `staff where status = 'TERMINATED' and termination_date < today()`,
  `job where billing_type = 'RECURRING' and billing_schedule = 'QUARTERLY' and status = 'IN_PROGRESS'`,
  `wip_entry where wip_type = 'PROGRESS' and amount < 0`,
  `expense_entry where status <> 'APPROVED'`,
  `invoice where status = 'VOIDED'`,
  `invoice where document_type = 'CREDIT_NOTE'`,
  `payment where method = 'CREDIT'`,
  `engagement where status = 'COMPLETED'`,
  `engagement where status = 'SENT'`,
  `engagement_document`,
  `file where status = 'AVAILABLE'`,
  `custom_record`,
  `event_subscription where filter_expression is null and entity_type = 'Payment'`,
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
export async function differing(session: Pick<Session, 'all'>, today: string, isTiny: boolean): Promise<string[]> {
  const found: string[] = [];
  for (const { name, value: of, from, low, high, ofTiny = [low, high] } of figures) {
    const query = `select (${of})::float8 as value from ${from}`.replaceAll('today()', `date '${today}'`);
    const [row] = await session.all<{ value: number | null }>(sql.raw(query));
    const value = Number(row?.value ?? Number.NaN);
    const [least, most] = isTiny ? ofTiny : [low, high];
    if (!(value >= least && value <= most)) found.push(`${name}: ${value.toFixed(2)} is not from ${least} to ${most}`);
  }
  return found;
}
