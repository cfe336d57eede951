/** Groups covered and uncovered parts of a contract for reports. */
import {
  type Coverage,
  type CoverageKind,
  type CoverageName,
  coverageKinds,
  type MinCoverage,
  type Share,
  type Shortfall,
} from './report.ts';

/** Display names. */
export const kindNames: Readonly<Record<CoverageKind, string>> = {
  operation: 'operations',
  status: 'statuses',
  mediaType: 'media types',
  parameter: 'parameters',
  constraint: 'constraints',
  enum: 'enum values',
};

export interface CoverageRow {
  readonly name: string;
  readonly share: Share;
  /** From 0 to 1; 1 if the contract has no items of this kind. */
  readonly part: number;
}

/** One row for each kind in the contract, and one for the total. */
export function coverageRows(coverage: Coverage): CoverageRow[] {
  const kinds = coverageKinds
    .filter((kind) => coverage.byKind[kind].all > 0)
    .map((kind) => ({ name: kindNames[kind], share: coverage.byKind[kind] }));
  return [...kinds, { name: 'total', share: coverage.total }].map((row) => ({ ...row, part: partOf(row.share) }));
}

export function partOf({ exercised, all }: Share): number {
  return all === 0 ? 1 : exercised / all;
}

/** Percentage, rounded down, so that 100 % means complete. */
export function percentText(part: number): string {
  return `${Math.floor(part * 100)} %`;
}

/** The kinds of items by the names that users see. */
export const coverageNames: Readonly<Record<Exclude<CoverageName, 'total'>, CoverageKind>> = {
  operations: 'operation',
  statuses: 'status',
  'media-types': 'mediaType',
  parameters: 'parameter',
  constraints: 'constraint',
  'enum-values': 'enum',
};

/** The first kind of which a run reached less than required. */
export function shortfallOf({ byKind, total }: Coverage, required: MinCoverage): Shortfall | undefined {
  const minimums = Object.entries(typeof required === 'number' ? { operations: required } : required);
  return minimums
    .map(([name, minimum]): Shortfall => {
      const kind = name as CoverageName;
      return { kind, minimum, covered: partOf(kind === 'total' ? total : byKind[coverageNames[kind]]) * 100 };
    })
    .find(({ covered, minimum }) => covered < minimum);
}

/** What a run reached: `83 of 97 operations, 210 of 300 statuses, 512 of 800 constraints`. */
export function reachText({ byKind }: Coverage): string {
  const kinds = ['operation', 'status', 'constraint'] as const;
  return kinds
    .map((kind) => {
      const { exercised, all } = byKind[kind];
      return `${exercised.toLocaleString('en')} of ${all.toLocaleString('en')} ${kindNames[kind]}`;
    })
    .join(', ');
}
