import type { Place } from '../document/document.ts';
import type { Finding } from '../finding/finding.ts';

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
  /** Findings of `--baseline`, which do not count. */
  readonly accepted: readonly AcceptedFinding[];
  readonly coverage: Coverage;
  /** What the run would call, and what it left out. */
  readonly plan: readonly PlanEntry[];
  /** What the run should have reached, but did not; undefined if it reached enough. */
  readonly shortfall: Shortfall | undefined;
  /** Why the run ended early; undefined if it completed. */
  readonly stopped: Stopped | undefined;
  /** What the run changed on the server and did not undo. */
  readonly left: Left;
  /** Additional information: rate limits, missing credentials. */
  readonly notices: readonly string[];
}

/** A finding that the team has accepted, and why. */
export interface AcceptedFinding extends Pick<Finding, 'operation' | 'check' | 'title' | 'cause'> {
  readonly reason: string;
}

/** What an operation does to the data of a server, from harmless to irreversible. */
export const effects = ['read', 'create', 'change own', 'change existing', 'irreversible'] as const;

export type Effect = (typeof effects)[number];

export interface PlanEntry {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly effect: Effect;
  /** What the effect was concluded from. */
  readonly why: string;
  /** Why the run does not call it; undefined if it does. */
  readonly skipped: 'excluded' | 'needs --disposable' | undefined;
}

export interface Stopped {
  readonly reason: 'time' | 'interrupted' | 'dead' | 'failed';
  /** Phases that did not complete. */
  readonly missedPhases: readonly string[];
  /** Operations whose input was not checked completely. */
  readonly unchecked: readonly string[];
}

export interface Left {
  /** Resources that the run created and that remain, by the operation that created them. */
  readonly created: readonly {
    readonly operation: string;
    /** Paths of the resources, as far as they are known. */
    readonly targets: readonly string[];
    /** The number of calls that may have created more, because no response identifies it. */
    readonly unidentified: number;
  }[];
  /** Data from before the run that it changed, and whether it could put them back. */
  readonly changed: readonly { readonly operation: string; readonly target: string; readonly isRestored: boolean }[];
}

export interface OperationReport {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** Whether a call succeeded. */
  readonly reached: boolean;
  readonly reason: string | undefined;
  readonly requests: number;
}

/** What is counted, by the names that options and reports use. */
export const coverageKinds = ['operations', 'statuses', 'constraints'] as const;

export type CoverageKind = (typeof coverageKinds)[number];

export interface Coverage {
  readonly items: readonly CoverageItem[];
  readonly byKind: Readonly<Record<CoverageKind, Share>>;
}

/** In percent: of operations, or by kind. */
export type MinCoverage = number | Readonly<Partial<Record<CoverageKind, number>>>;

export interface Shortfall {
  readonly kind: CoverageKind;
  /** In percent. */
  readonly covered: number;
  readonly minimum: number;
}

export interface Share {
  readonly exercised: number;
  readonly all: number;
}

export interface CoverageItem {
  readonly kind: CoverageKind;
  readonly operation: string;
  /** The item within the operation: `404`, `query.pageSize minimum`, `body/name maxLength`. */
  readonly name: string;
  readonly exercised: boolean;
  /** Why it is not covered. */
  readonly reason: string | undefined;
  readonly place: Place | undefined;
}

export function isComplete({ stopped, shortfall }: Pick<Report, 'stopped' | 'shortfall'>): boolean {
  return stopped === undefined && shortfall === undefined;
}

/** The covered part of a kind, from 0 to 1; 1 if the contract has no items of this kind. */
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
export function shortfallOf({ byKind }: Coverage, required: MinCoverage): Shortfall | undefined {
  const minimums = typeof required === 'number' ? { operations: required } : required;
  return coverageKinds
    .map((kind) => ({ kind, covered: partOf(byKind[kind]) * 100, minimum: minimums[kind] ?? 0 }))
    .find(({ covered, minimum }) => covered < minimum);
}

/** `40 % of operations reached, 50 % required`. */
export function shortfallText({ kind, covered, minimum }: Shortfall): string {
  return `${percentText(covered / 100)} of ${kind} reached, ${minimum} % required`;
}

/** What a run reached: `83 of 97 operations, 210 of 300 statuses, 512 of 800 constraints`. */
export function reachText({ byKind }: Coverage): string {
  return coverageKinds.map((kind) => `${shareText(byKind[kind])} ${kind}`).join(', ');
}
