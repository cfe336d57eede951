import type { Place } from '../document/document.ts';
import type { Category, Finding } from '../finding/finding.ts';

export interface Report {
  /** Path or URL of the document's root file. */
  readonly spec: string;
  readonly title: string;
  readonly url: string;
  readonly seed: number;
  readonly milliseconds: number;
  readonly requests: number;
  readonly operations: readonly OperationReport[];
  readonly findings: readonly Finding[];
  readonly coverage: Coverage;
  /** Additional information: remaining data, rate limits, missing credentials. */
  readonly notices: readonly string[];
}

export interface OperationReport {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** Whether a call succeeded. */
  readonly reached: boolean;
  readonly reason: string | undefined;
  readonly requests: number;
  readonly checks: Readonly<Record<Category, Tally>>;
}

/** The number of observations that could have produced findings. */
export interface Tally {
  readonly observations: number;
  readonly findings: number;
}

export const coverageKinds = ['operation', 'status', 'mediaType', 'parameter', 'constraint', 'enum'] as const;

export type CoverageKind = (typeof coverageKinds)[number];

export interface Coverage {
  readonly items: readonly CoverageItem[];
  /** Covered items and all items, per kind and in total. */
  readonly byKind: Readonly<Record<CoverageKind, Share>>;
  readonly total: Share;
}

export interface Share {
  readonly exercised: number;
  readonly all: number;
}

/** An item that the contract declares. */
export interface CoverageItem {
  readonly kind: CoverageKind;
  readonly operation: string;
  /** The item within the operation: `404`, `query.pageSize`, `body/name maxLength`. */
  readonly name: string;
  readonly exercised: boolean;
  /** Why it is not covered. */
  readonly reason: string | undefined;
  readonly place: Place | undefined;
}
