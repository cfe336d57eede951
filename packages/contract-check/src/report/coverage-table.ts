/** Groups covered and uncovered parts of a contract for reports. */

import type { Share, Shortfall } from './report.ts';
import { type Coverage, type CoverageKind, type CoverageName, coverageKinds, type MinCoverage } from './report.ts';

/** The kinds of items by the names that users see. */
export const coverageNames: Readonly<Record<Exclude<CoverageName, 'total'>, CoverageKind>> = {
  ...{ operations: 'operation', statuses: 'status', 'media-types': 'mediaType', parameters: 'parameter' },
  ...{ constraints: 'constraint', 'enum-values': 'enum' },
};

/** The kinds that a minimum can be set for. */
export const coverageKindNames = [...Object.keys(coverageNames), 'total'] as CoverageName[];

/** Display names. */
export const kindNames = Object.fromEntries(
  Object.entries(coverageNames).map(([name, kind]) => [kind, name.replace('-', ' ')]),
) as Readonly<Record<CoverageKind, string>>;

export interface CoverageRow {
  readonly name: string;
  readonly share: Share;
  /** From 0 to 1; 1 if the contract has no items of this kind. */
  readonly part: number;
  readonly state: 'good' | 'fair' | 'bad';
}

/** One row for each kind in the contract, and one for the total. */
export function coverageRows({ byKind, total }: Coverage): CoverageRow[] {
  const kinds = coverageKinds.filter((kind) => byKind[kind].all > 0);
  const rows = [
    ...kinds.map((kind) => ({ name: kindNames[kind], share: byKind[kind] })),
    { name: 'total', share: total },
  ];
  return rows.map((row) => {
    const part = partOf(row.share);
    return { ...row, part, state: part === 1 ? 'good' : part >= 0.8 ? 'fair' : 'bad' };
  });
}

export function partOf({ exercised, all }: Share): number {
  return all === 0 ? 1 : exercised / all;
}

/** Percentage, rounded down, so that 100 % means complete. */
export function percentText(part: number): string {
  return `${Math.floor(part * 100)} %`;
}

export function shareText({ exercised, all }: Share): string {
  return `${exercised.toLocaleString('en')} of ${all.toLocaleString('en')}`;
}

/** The first kind of which a run reached less than required. */
export function shortfallOf({ byKind, total }: Coverage, required: MinCoverage): Shortfall | undefined {
  const minimums = typeof required === 'number' ? { operations: required } : required;
  return (Object.entries(minimums) as [CoverageName, number][])
    .map(([kind, minimum]) => {
      return { kind, minimum, covered: partOf(kind === 'total' ? total : byKind[coverageNames[kind]]) * 100 };
    })
    .find(({ covered, minimum }) => covered < minimum);
}

/** What a run reached: `83 of 97 operations, 210 of 300 statuses, 512 of 800 constraints`. */
export function reachText({ byKind }: Coverage): string {
  const kinds = ['operation', 'status', 'constraint'] as const;
  return kinds.map((kind) => `${shareText(byKind[kind])} ${kindNames[kind]}`).join(', ');
}
