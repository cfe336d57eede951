import type { Place } from '../document/document.ts';
import type { Category, Finding } from '../finding/finding.ts';

/** All that a run found, did and could not do. */
export interface Report {
  /** The address of the document's root file. */
  readonly spec: string;
  readonly title: string;
  readonly url: string;
  readonly seed: number;
  readonly milliseconds: number;
  readonly requests: number;
  readonly operations: readonly OperationReport[];
  readonly findings: readonly Finding[];
  readonly coverage: Coverage;
  /** What a reader should know beside: data left behind, limits that slowed the run, credentials that were missing. */
  readonly notices: readonly string[];
}

export interface OperationReport {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** Whether a call of it succeeded; where not, why. */
  readonly reached: boolean;
  readonly reason: string | undefined;
  readonly requests: number;
  readonly checks: Readonly<Record<Category, Tally>>;
}

/** Single observations that could have become findings. */
export interface Tally {
  readonly observations: number;
  readonly findings: number;
}

export const coverageKinds = ['operation', 'status', 'mediaType', 'parameter', 'constraint', 'enum'] as const;

export type CoverageKind = (typeof coverageKinds)[number];

export interface Coverage {
  readonly items: readonly CoverageItem[];
  /** Exercised of all, per kind and over all of them. */
  readonly byKind: Readonly<Record<CoverageKind, Share>>;
  readonly total: Share;
}

export interface Share {
  readonly exercised: number;
  readonly all: number;
}

/** One thing that the contract declares. */
export interface CoverageItem {
  readonly kind: CoverageKind;
  readonly operation: string;
  /** What it is within the operation: `404`, `query.pageSize`, `body/name maxLength`. */
  readonly name: string;
  readonly exercised: boolean;
  /** Why it was not exercised. */
  readonly reason: string | undefined;
  readonly place: Place | undefined;
}
