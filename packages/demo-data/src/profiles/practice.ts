/** What the firm does: its areas of work, the steps of a job, and the kinds of jobs that each kind of client has. */

export type ClientKind = 'INDIVIDUAL' | 'BUSINESS' | 'TRUST';

const step = (name: string, work: string, code: string, ...notes: readonly string[]) => ({ name, work, code, notes });

/** The steps of every job, in order, with the work and the code of each, and what people write about it. */
export const steps = [
  step('Collect documents', 'Correspondence', 'CORR', 'Requested missing statements', 'Call about open items'),
  step('Enter and reconcile', 'Data entry', 'ENTRY', 'Reconciled bank accounts', 'Entered source documents'),
  step('Prepare', 'Preparation', 'PREP', 'Drafted schedules', 'Depreciation and fixed assets', 'Year-end adjustments'),
  step('First review', 'Review', 'REV', 'Reviewed workpapers', 'Compared with the prior year'),
  step('Second review', 'Quality control', 'QC', 'Partner review', 'Checked disclosures'),
  step('Deliver', 'Filing', 'FILE', 'Walked the client through the results', 'E-filed and confirmed acceptance'),
];

const areas = [
  ['Individual tax', 'ITX'],
  ['Business tax', 'BTX'],
  ['State and local tax', 'SLT'],
  ['Audit', 'AUD'],
  ['Review and compilation', 'RVC'],
  ['Bookkeeping', 'BKP'],
  ['Payroll', 'PAY'],
  ['Advisory', 'ADV'],
] as const;

/** One for each area and step. */
export const workCodes = areas.flatMap(([area, prefix]) =>
  steps.map(({ code, work }) => ({ code: `${prefix}-${code}`, name: `${area}: ${work}` })),
);

/** One for each area and step. */
export const taskTypes = areas.flatMap(([area, prefix]) =>
  steps.map(({ name }, step) => ({ name: `${area}: ${name.toLowerCase()}`, code: `${prefix}-${step + 1}` })),
);

export const nonWorkCodes =
  'Vacation,Sick leave,Public holiday,Parental leave,Staff meeting,Training,Exam leave,Recruiting,Marketing,Administration'.split(
    ',',
  );
/** The number of the codes that are about leave, which come first. */
export const leaveCodes = 4;

/** Not those of the firm of the examples, whose names are taken. */
export const serviceLines =
  'Individual returns,Business returns,Attest services,Outsourced accounting,Business advisory,Payroll services,Other services'.split(
    ',',
  );

export type BillingType = 'TIME_AND_MATERIALS' | 'FIXED_FEE' | 'RECURRING';

/** A kind of job. */
export interface JobKind {
  readonly client: ClientKind;
  /** How often clients of this kind have it. */
  readonly weight: number;
  readonly name: string;
  /** An index of `serviceLines`. */
  readonly line: number;
  /** An index of the areas of codes and task types. */
  readonly area: number;
  readonly engagement: 'TAX' | 'AUDIT' | 'REVIEW' | 'CAS' | 'ADVISORY' | 'OTHER';
  /** Median of the hours. */
  readonly hours: number;
  /** The share of jobs with a fixed fee. */
  readonly fixed: number;
  readonly schedule?: 'MONTHLY' | 'QUARTERLY';
  /** Whether the name has the year before, because the work is about it. */
  readonly isAfterYearEnd: boolean;
}

const kind = (
  client: ClientKind,
  weight: number,
  name: string,
  [line, area, engagement]: readonly [number, number, JobKind['engagement']],
  hours: number,
  more: Partial<JobKind> = {},
): JobKind => ({ client, weight, name, line, area, engagement, hours, fixed: 0.1, isAfterYearEnd: line < 3, ...more });

export const businessReturn = kind('BUSINESS', 38, 'business income tax return', [1, 1, 'TAX'], 32, { fixed: 0.2 });
const jobKinds: readonly JobKind[] = [
  businessReturn,
  kind('INDIVIDUAL', 78, 'individual income tax return', [0, 0, 'TAX'], 5.4, { fixed: 0.25 }),
  kind('INDIVIDUAL', 4, 'amended individual return', [0, 0, 'TAX'], 4),
  kind('INDIVIDUAL', 7, 'tax projection', [0, 0, 'TAX'], 3, { isAfterYearEnd: false }),
  kind('INDIVIDUAL', 5, 'retirement and estate plan', [4, 7, 'ADVISORY'], 7),
  kind('INDIVIDUAL', 6, 'response to a tax notice', [6, 2, 'OTHER'], 3),
  kind('TRUST', 75, 'fiduciary income tax return', [0, 0, 'TAX'], 9),
  kind('TRUST', 25, 'trust accounting', [3, 5, 'CAS'], 14, { isAfterYearEnd: true }),
  kind('BUSINESS', 12, 'sales and use tax filings', [1, 2, 'TAX'], 16),
  kind('BUSINESS', 4, 'multistate apportionment study', [1, 2, 'TAX'], 22),
  kind('BUSINESS', 8, 'audit of the financial statements', [2, 3, 'AUDIT'], 130, { fixed: 0.3 }),
  kind('BUSINESS', 7, 'review of the financial statements', [2, 4, 'REVIEW'], 44, { fixed: 0.3 }),
  kind('BUSINESS', 3, 'monthly bookkeeping', [3, 5, 'CAS'], 170, { schedule: 'MONTHLY' }),
  kind('BUSINESS', 4, 'quarterly close', [3, 5, 'CAS'], 80, { schedule: 'QUARTERLY' }),
  kind('BUSINESS', 2, 'payroll', [5, 6, 'CAS'], 60, { schedule: 'MONTHLY' }),
  kind('BUSINESS', 6, 'cash flow forecast', [4, 7, 'ADVISORY'], 26),
  kind('BUSINESS', 3, 'business valuation', [4, 7, 'ADVISORY'], 40),
  kind('BUSINESS', 5, 'registrations and licenses', [6, 2, 'OTHER'], 9),
];

/** The kinds of jobs of a client, with their weights. */
export function kindsFor(client: ClientKind): (readonly [JobKind, number])[] {
  return jobKinds.filter((one) => one.client === client).map((one) => [one, one.weight] as const);
}

/** Three templates of each kind of job. */
export const templates = ['standard', 'first year', 'complex'].flatMap((variant) =>
  jobKinds.map((of) => ({
    of,
    name: `${of.name[0]?.toUpperCase()}${of.name.slice(1)}, ${variant}`,
  })),
);

/** Returns what a person would call a job. */
export function jobName({ name, isAfterYearEnd }: JobKind, year: number): string {
  return `${isAfterYearEnd ? year - 1 : year} ${name}`;
}

/** Reasons for which work is not billed. */
export const writeOffReasons = [
  'Training time of a new associate.',
  'Above the fee that was agreed.',
  'Rework after our own mistake.',
  'Courtesy to a client of many years.',
] as const;
/** Reasons for which an invoice is credited in part. */
export const creditReasons = [
  'Courtesy for the late delivery',
  'Hours of another client, billed in error',
  'Volume discount that was agreed',
] as const;
