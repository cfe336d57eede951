import fc from 'fast-check';
import type { SentLine } from './requests.ts';

/** The kinds of steps, and how often each is chosen. */
const weights = {
  time: 6,
  reversal: 2,
  hours: 1,
  submitEntry: 1,
  approveEntry: 8,
  rejectEntry: 2,
  redraftEntry: 2,
  removeEntry: 1,
  wip: 3,
  writeOffWip: 2,
  undoWipWriteOff: 2,
  draft: 8,
  draftLines: 4,
  reviewDraft: 7,
  approveDraft: 9,
  rejectDraft: 2,
  redraftDraft: 2,
  deleteDraft: 2,
  import: 3,
  postInvoice: 1,
  voidInvoice: 5,
  writeOffInvoice: 2,
  settleInvoice: 2,
  reinstateInvoice: 2,
  pay: 9,
  receive: 2,
  identify: 2,
  completePayment: 3,
  failPayment: 1,
  voidPayment: 2,
  returnPayment: 2,
  bouncePayment: 1,
  refund: 4,
  allocate: 4,
  unapply: 3,
  redateDraft: 2,
  moveJob: 3,
  moveClient: 2,
  currency: 2,
  close: 3,
} as const;

/** Kinds that only scenarios use. */
type ScenarioKind = 'importQuietly' | 'workQuietly' | 'archiveQuietly' | 'advanceQuietJob' | 'holdQuietJob';

const scenarioWeights = {
  bill: 6,
  billUnevenly: 1,
  reject: 1,
  reverseTwice: 1,
  refundInPart: 1,
  writeOffWhilePending: 1,
  returnAfterWriteOff: 1,
  returnAfterRefund: 1,
  returnToArchivedClient: 1,
  identifyAndApply: 2,
  voidAfterWriteOff: 1,
  postToArchivedClient: 1,
  settleAfterFailure: 1,
  recoverWorkOfClosedJob: 1,
  holdJob: 1,
  correctAfterClosing: 2,
  creditNote: 2,
} as const;

/** The kind of a step that is one request. */
export type SingleKind = keyof typeof weights | ScenarioKind;
type Scenario = keyof typeof scenarioWeights;

/** A line of a document: the rows that it bills, and the share of their outstanding amounts. */
export interface LineStep {
  readonly lineType: SentLine['lineType'];
  readonly rows: readonly number[];
  readonly percent: number;
  readonly quantity: string;
  readonly taxRatePercent: string | null;
  /** Whether the line names the job of its first row, or of the client. */
  readonly namesJob: boolean;
  readonly relief: SentLine['relief'];
  readonly exceedsFee: boolean;
}

/** One change of the books, independent of existing rows: numbers choose among them. */
export interface Step {
  readonly kind: SingleKind | Scenario;
  readonly pick: number;
  readonly other: number;
  /** Whether the step chooses a row in a suitable state. */
  readonly isAimed: boolean;
  /** A percentage of an amount; more than 100 exceeds it by the smallest unit. */
  readonly percent: number;
  /** A day of a document, a change or a closed period. */
  readonly day: number;
  readonly method: 'CHECK' | 'CREDIT' | 'ACH';
  readonly lines: readonly LineStep[];
}

const line: fc.Arbitrary<LineStep> = fc.record({
  lineType: fc.constantFrom<SentLine['lineType'][]>(
    'TIME',
    'TIME',
    'FIXED_FEE',
    'PROGRESS',
    'EXPENSE',
    'DISCOUNT',
    'INTEREST',
    'OTHER',
  ),
  rows: fc.array(fc.nat({ max: 30 }), { maxLength: 4 }),
  percent: fc.constantFrom(100, 0, 33, 50, 87, 112),
  quantity: fc.constantFrom('1', '3', '0.7', '7.0001'),
  taxRatePercent: fc.constantFrom(null, null, '8.25', '19', '0.0625'),
  namesJob: fc.boolean(),
  relief: fc.constantFrom('FULL', 'PART'),
  exceedsFee: fc.boolean(),
});

/** The days of changes: mostly the one that the service chooses. */
export const changeDays = [
  null,
  null,
  null,
  null,
  null,
  '2026-01-25',
  '2026-02-05',
  '2026-02-25',
  '2026-03-10',
] as const;
/** The days through which books are closed. */
export const closingDays = ['2026-01-10', '2026-01-31', '2026-02-12', '2026-03-01', null] as const;

const plainLine: LineStep = {
  lineType: 'OTHER',
  rows: [],
  percent: 100,
  quantity: '1',
  taxRatePercent: null,
  namesJob: true,
  relief: 'FULL',
  exceedsFee: false,
};

/** Sequences that lead to states with special rules, which random steps seldom reach. */
const scenarios: Readonly<
  Record<Scenario, (step: Step) => readonly (Partial<Step> & { readonly kind: SingleKind })[]>
> = {
  bill: () => [{ kind: 'draft' }, { kind: 'reviewDraft' }, { kind: 'approveDraft' }],
  reject: () => [{ kind: 'draft', lines: [plainLine] }, { kind: 'reviewDraft' }, { kind: 'rejectDraft' }],
  // Three equal rows and an amount that is seldom a multiple of three cents.
  billUnevenly({ pick }) {
    const percent = [33, 50, 87, 112][pick % 4] ?? 33;
    const [lineType, relief] = pick % 2 === 0 ? (['FIXED_FEE', 'PART'] as const) : (['TIME', 'FULL'] as const);
    const work = { kind: 'wip', pick, percent: 100 } as const;
    return [
      work,
      work,
      work,
      { kind: 'draft', lines: [{ ...plainLine, lineType, relief, rows: [0, 1, 2], percent }] },
      { kind: 'reviewDraft' },
      { kind: 'approveDraft' },
    ];
  },
  // An approved entry remains. The second reversal is within its hours, but not within the rest after the first.
  reverseTwice: ({ pick }) => [
    { kind: 'time', pick: 3 * pick + 1 },
    { kind: 'approveEntry' },
    { kind: 'removeEntry', isAimed: false },
    { kind: 'reversal', percent: 71 },
    { kind: 'reversal', percent: 71 },
  ],
  // Of two allocations, the one to the older invoice was increased last.
  refundInPart: () => [
    { kind: 'import', lines: [plainLine], pick: 1 },
    { kind: 'import', lines: [plainLine], pick: 1 },
    { kind: 'pay', lines: [plainLine, plainLine], other: 1, percent: 71, method: 'CHECK' },
    { kind: 'allocate', other: 1, percent: 40 },
    { kind: 'refund', percent: 40 },
  ],
  // An amount that a pending payment covers can neither be paid again, written off nor voided; if it is returned later, it is
  // written off as well.
  writeOffWhilePending: () => [
    { kind: 'import', lines: [plainLine], pick: 1 },
    { kind: 'pay', lines: [], other: 0, percent: 40, method: 'ACH' },
    { kind: 'pay', lines: [], other: 0, percent: 101, method: 'CHECK' },
    { kind: 'writeOffInvoice' },
    { kind: 'voidInvoice' },
    { kind: 'completePayment' },
    { kind: 'writeOffInvoice' },
    { kind: 'returnPayment' },
  ],
  // The returned part is due again, and is paid again: the invoice is written off again.
  returnAfterWriteOff: () => [
    { kind: 'import', lines: [plainLine], pick: 1 },
    { kind: 'pay', lines: [], other: 0, percent: 40, method: 'CHECK' },
    { kind: 'writeOffInvoice' },
    { kind: 'bouncePayment' },
    { kind: 'pay', lines: [], other: 0, percent: 100, method: 'CHECK' },
    { kind: 'reinstateInvoice' },
  ],
  // The same money is gone twice.
  returnAfterRefund: () => [
    { kind: 'import', lines: [plainLine], pick: 1 },
    { kind: 'pay', lines: [], other: 1, percent: 100, method: 'CHECK' },
    { kind: 'refund', percent: 40 },
    { kind: 'unapply', percent: 40 },
    { kind: 'returnPayment' },
  ],
  // Money of an unknown payer is refunded in part, gets its client, and is applied; then the bank takes it back.
  identifyAndApply: ({ pick, other, day }) => [
    { kind: 'import', lines: [plainLine], pick: 1 },
    { kind: 'receive', pick, other, method: 'CHECK' },
    { kind: 'refund', percent: 40 },
    { kind: 'identify', other, day },
    { kind: 'allocate', other: 1, percent: 71 },
    { kind: 'bouncePayment', day },
  ],
  returnToArchivedClient: ({ pick }) => [
    { kind: 'importQuietly', pick, other: 1 },
    { kind: 'pay', lines: [], other: 0, percent: 100, method: 'ACH' },
    { kind: 'completePayment' },
    { kind: 'archiveQuietly' },
    { kind: 'returnPayment' },
  ],
  // The credit is applied, so that the note can be voided only after it is unapplied.
  creditNote: ({ pick }) => [
    { kind: 'import', lines: [plainLine], pick: 1 },
    { kind: 'wip', pick: 3 * pick + 1, percent: 40 },
    { kind: 'draft', lines: [{ ...plainLine, lineType: 'PROGRESS', relief: 'PART', rows: [0] }] },
    { kind: 'reviewDraft' },
    { kind: 'approveDraft' },
    { kind: 'allocate', other: 1, percent: 100, lines: [] },
    { kind: 'voidInvoice' },
    { kind: 'unapply', percent: 100 },
    { kind: 'voidInvoice' },
  ],
  // What the invoice billed is written off as well, with the rest.
  voidAfterWriteOff: ({ pick }) => [
    { kind: 'wip', pick, percent: 100 },
    { kind: 'draft', lines: [{ ...plainLine, lineType: 'PROGRESS', relief: 'PART', rows: [0], percent: 50 }] },
    { kind: 'reviewDraft' },
    { kind: 'approveDraft' },
    { kind: 'writeOffWip', isAimed: false, percent: 100 },
    { kind: 'voidInvoice' },
  ],
  // It was imported before the client was archived, whose balance it is not part of until then.
  postToArchivedClient: ({ pick }) => [
    { kind: 'importQuietly', pick, other: 0 },
    { kind: 'archiveQuietly' },
    { kind: 'postInvoice' },
    { kind: 'writeOffInvoice' },
  ],
  settleAfterFailure: () => [
    { kind: 'import', lines: [plainLine], pick: 1 },
    { kind: 'pay', lines: [], other: 1, percent: 100, method: 'ACH' },
    { kind: 'failPayment' },
    { kind: 'completePayment' },
    { kind: 'refund', percent: 40 },
  ],
  // The job is reopened with its work, which is settled again, so that the client can be archived later.
  recoverWorkOfClosedJob: ({ pick }) => [
    { kind: 'workQuietly', pick: pick + 1 },
    { kind: 'writeOffWip', percent: 100 },
    { kind: 'advanceQuietJob' },
    { kind: 'advanceQuietJob' },
    { kind: 'advanceQuietJob' },
    { kind: 'advanceQuietJob' },
    { kind: 'advanceQuietJob' },
    { kind: 'undoWipWriteOff', percent: 100 },
    { kind: 'writeOffWip', percent: 100 },
  ],
  // A job of which nothing is billed, so that it can also be cancelled.
  holdJob: () => [{ kind: 'advanceQuietJob' }, { kind: 'advanceQuietJob' }, { kind: 'holdQuietJob' }],
  // Each change counts for the first open day, or later.
  correctAfterClosing: ({ pick, day }) => [
    { kind: 'import', lines: [plainLine], pick: 1 },
    { kind: 'import', lines: [plainLine], pick: 1 },
    { kind: 'pay', lines: [plainLine, plainLine], other: 1, percent: 71, method: 'CHECK' },
    { kind: 'close', isAimed: false, day: pick },
    { kind: 'unapply', percent: 40, day },
    { kind: 'allocate', other: 1, percent: 40 },
    { kind: 'bouncePayment', day },
    { kind: 'writeOffInvoice', day },
    { kind: 'reinstateInvoice' },
  ],
};

/** A step that is one request. */
export interface SingleStep extends Step {
  readonly kind: SingleKind;
}

/** The single steps of a step: those of a scenario choose the newest suitable row. */
export function partsOf(step: Step): SingleStep[] {
  const { kind } = step;
  if (!isScenario(kind)) return [{ ...step, kind }];
  return scenarios[kind](step).map((part) => ({ ...step, pick: 0, day: 0, isAimed: true, ...part }));
}

function isScenario(kind: Step['kind']): kind is Scenario {
  return kind in scenarios;
}

export function stepOf(): fc.Arbitrary<Step> {
  const all = Object.entries({ ...weights, ...scenarioWeights }) as [Step['kind'], number][];
  return stepsOf(fc.oneof(...all.map(([kind, weight]) => ({ arbitrary: fc.constant(kind), weight }))));
}

/** Some of the scenarios, each once. */
export function someScenarios(): fc.Arbitrary<Step[]> {
  const kinds = Object.keys(scenarios) as Scenario[];
  const some = fc.shuffledSubarray(kinds, { minLength: 5, maxLength: 6 });
  return some.chain((chosen) => fc.tuple(...chosen.map((kind) => stepsOf(fc.constant(kind)))));
}

function stepsOf(kind: fc.Arbitrary<Step['kind']>): fc.Arbitrary<Step> {
  return fc.record({
    kind,
    pick: fc.nat({ max: 30 }),
    other: fc.nat({ max: 30 }),
    isAimed: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
    percent: fc.constantFrom(100, 100, 40, 71, 101),
    day: fc.nat({ max: 30 }),
    method: fc.constantFrom<Step['method'][]>('CHECK', 'CHECK', 'CREDIT', 'ACH', 'ACH'),
    lines: fc.array(line, { minLength: 0, maxLength: 4 }),
  });
}
