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
export const serviceLines = [
  'Individual returns',
  'Business returns',
  'Attest services',
  'Outsourced accounting',
  'Business advisory',
  'Payroll services',
  'Other services',
] as const;

export type BillingType = 'TIME_AND_MATERIALS' | 'FIXED_FEE' | 'RECURRING';

/** A kind of job. */
export interface JobKind {
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
  name: string,
  line: number,
  area: number,
  engagement: JobKind['engagement'],
  hours: number,
  more: Partial<JobKind> = {},
): JobKind => ({ name, line, area, engagement, hours, fixed: 0.1, isAfterYearEnd: line < 3, ...more });

export const jobKinds = {
  individualReturn: kind('individual income tax return', 0, 0, 'TAX', 5.4, { fixed: 0.25 }),
  amendedReturn: kind('amended individual return', 0, 0, 'TAX', 4),
  projection: kind('tax projection', 0, 0, 'TAX', 3, { isAfterYearEnd: false }),
  estatePlan: kind('retirement and estate plan', 4, 7, 'ADVISORY', 7),
  notice: kind('response to a tax notice', 6, 2, 'OTHER', 3),
  fiduciaryReturn: kind('fiduciary income tax return', 0, 0, 'TAX', 9),
  trustAccounting: kind('trust accounting', 3, 5, 'CAS', 14, { isAfterYearEnd: true }),
  businessReturn: kind('business income tax return', 1, 1, 'TAX', 32, { fixed: 0.2 }),
  salesTax: kind('sales and use tax filings', 1, 2, 'TAX', 16),
  multistate: kind('multistate apportionment study', 1, 2, 'TAX', 22),
  audit: kind('audit of the financial statements', 2, 3, 'AUDIT', 130, { fixed: 0.3 }),
  review: kind('review of the financial statements', 2, 4, 'REVIEW', 44, { fixed: 0.3 }),
  bookkeeping: kind('monthly bookkeeping', 3, 5, 'CAS', 170, { schedule: 'MONTHLY' }),
  close: kind('quarterly close', 3, 5, 'CAS', 80, { schedule: 'QUARTERLY' }),
  payroll: kind('payroll', 5, 6, 'CAS', 60, { schedule: 'MONTHLY' }),
  forecast: kind('cash flow forecast', 4, 7, 'ADVISORY', 26),
  valuation: kind('business valuation', 4, 7, 'ADVISORY', 40),
  registration: kind('registrations and licenses', 6, 2, 'OTHER', 9),
} as const satisfies Readonly<Record<string, JobKind>>;

/** Weights of the kinds of jobs of a client. */
export const jobsOf: Readonly<Record<ClientKind, readonly (readonly [JobKind, number])[]>> = {
  INDIVIDUAL: [
    [jobKinds.individualReturn, 78],
    [jobKinds.amendedReturn, 4],
    [jobKinds.projection, 7],
    [jobKinds.estatePlan, 5],
    [jobKinds.notice, 6],
  ],
  TRUST: [
    [jobKinds.fiduciaryReturn, 75],
    [jobKinds.trustAccounting, 25],
  ],
  BUSINESS: [
    [jobKinds.businessReturn, 38],
    [jobKinds.salesTax, 12],
    [jobKinds.multistate, 4],
    [jobKinds.audit, 8],
    [jobKinds.review, 7],
    [jobKinds.bookkeeping, 3],
    [jobKinds.close, 4],
    [jobKinds.payroll, 2],
    [jobKinds.forecast, 6],
    [jobKinds.valuation, 3],
    [jobKinds.registration, 5],
  ],
};

/** Three templates of each kind of job. */
export const templates = ['standard', 'first year', 'complex'].flatMap((variant) =>
  Object.values(jobKinds).map((of: JobKind) => ({
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
