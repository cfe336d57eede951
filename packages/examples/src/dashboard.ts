/**
 * Prints the figures that a firm looks at each morning. Each is one aggregate: no rows are read, whatever the size of the firm.
 */
import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({
  baseUrl: process.env.API_URL ?? 'http://127.0.0.1:3000',
  tenant: process.env.API_TENANT ?? 'hartwell',
  apiKey: process.env.API_KEY ?? '',
});
const today = await firmsDay();
const yearStart = `${today.slice(0, 4)}-01-01`;

const [receivables, work, billed, hours] = await Promise.all([
  orThrow(
    api.aggregateLedgerEntries({
      body: {
        where: { account: { _eq: 'RECEIVABLE' }, businessDate: { _lte: today } },
        groupBy: [{ column: 'currency' }, { column: 'dueDate', daysBefore: today, boundaries: [1, 31, 61, 91] }],
        measures: { open: { function: 'SUM', column: 'amount' } },
      },
    }),
  ),
  orThrow(
    api.aggregateLedgerEntries({
      body: {
        where: { account: { _eq: 'WIP' }, businessDate: { _lte: today } },
        groupBy: [{ column: 'currency' }, { column: 'workDate', daysBefore: today, boundaries: [0, 31, 61, 91] }],
        measures: { unbilled: { function: 'SUM', column: 'amount' } },
      },
    }),
  ),
  orThrow(
    api.aggregateInvoices({
      body: {
        where: { status: { _neq: 'VOIDED' }, invoiceDate: { _gte: yearStart } },
        groupBy: [{ column: 'invoiceDate', by: 'MONTH' }, { column: 'currency' }],
        measures: {
          total: { function: 'SUM', column: 'total' },
          tax: { function: 'SUM', column: 'taxTotal' },
          documents: { function: 'COUNT' },
        },
        orderBy: [{ column: 'invoiceDate', direction: 'asc' }],
      },
    }),
  ),
  orThrow(
    api.aggregateTimeEntries({
      body: {
        where: { status: { _eq: 'APPROVED' }, active: { _eq: true }, workDate: { _gte: yearStart } },
        groupBy: [{ column: 'workDate', by: 'MONTH' }, { column: 'isBillable' }],
        measures: { hours: { function: 'SUM', column: 'hours' } },
        orderBy: [{ column: 'workDate', direction: 'asc' }],
      },
    }),
  ),
]);

// Keys are the lower boundaries of the ages in days.
const ages: Readonly<Record<string, string>> = { below: 'not due', 1: '1–30', 31: '31–60', 61: '61–90', 91: 'over 90' };
print(
  'Receivables by days past due',
  receivables.data.map(({ key, values }) => [
    `${key.currency} ${ages[String(key.dueDate)] ?? 'no due date'}`,
    values.open,
  ]),
);
print(
  'Work in progress by age in days',
  work.data.map(({ key, values }) => [`${key.currency} from ${key.workDate}`, values.unbilled]),
);
print(
  'Billed by month less credit notes: total, tax in it, documents',
  billed.data.map(({ key, values }) => [
    `${String(key.invoiceDate).slice(0, 7)} ${key.currency}`,
    values.total,
    values.tax,
    values.documents,
  ]),
);
print(
  'Approved hours by month',
  hours.data.map(({ key, values }) => [
    `${String(key.workDate).slice(0, 7)} ${key.isBillable === 'true' || key.isBillable === true ? 'billable' : 'other'}`,
    values.hours,
  ]),
);

/** Today where the firm is, which can be another day than here. A sandbox has a clock of its own; otherwise, that of the service counts. */
async function firmsDay(): Promise<string> {
  const { timeZone } = (await orThrow(api.getMe())).tenant;
  const clock = await api.getSandboxClock();
  const now = new Date(clock.status === 200 ? clock.body.now : (clock.headers.get('Date') ?? ''));
  return new Intl.DateTimeFormat('en-CA', { timeZone }).format(now);
}

function print(title: string, rows: readonly (readonly unknown[])[]): void {
  console.log(`\n${title}`);
  for (const [label, ...figures] of rows) {
    console.log(`  ${String(label).padEnd(18)}${figures.map((figure) => String(figure ?? '–').padStart(14)).join('')}`);
  }
}
