/**
 * A report as JSON. The format is versioned: within `formatVersion` 1, properties are added, but not removed, renamed
 * or changed in meaning.
 */

import type { Category, Finding, FindingPlace } from '../finding/finding.ts';
import type { CheckName } from '../finding/rules.ts';
import { ruleOf, type Severity } from '../finding/rules.ts';
import { type Presentation, type PresentedExchange, type PresentedFinding, present } from './presented.ts';
import type { Coverage, OperationReport, Report } from './report.ts';

export interface JsonReport {
  readonly formatVersion: 1;
  /** URL of the document's root file, its title, and the URL of the server. */
  readonly spec: string;
  readonly title: string;
  readonly url: string;
  /** The same seed sends the same requests to the same server. */
  readonly seed: number;
  readonly milliseconds: number;
  readonly requests: number;
  /** One entry for each checked operation, with the number of observations and findings per category. */
  readonly operations: readonly OperationReport[];
  readonly findings: readonly JsonFinding[];
  /** What the contract declares, and whether the run covered it; `reason` says why not. */
  readonly coverage: Coverage;
  /** What the run called and what it left out, why it ended early, what it should have reached, and what it left on the server. */
  readonly plan: Report['plan'];
  readonly stopped: Report['stopped'] | null;
  readonly shortfall: Report['shortfall'] | null;
  readonly left: Report['left'];
  readonly notices: readonly string[];
}

export interface JsonFinding {
  readonly check: CheckName;
  readonly category: Category;
  /** The operation id; `also` has the other operations with the same cause. */
  readonly operation: string;
  readonly also: readonly string[];
  readonly title: string;
  readonly expected: string;
  readonly actual: string;
  readonly fix: string;
  /** How bad it is, and what the server must do. */
  readonly severity: Severity;
  readonly rule: string;
  /** Everywhere that the cause was observed, this finding first. */
  readonly places: readonly (Omit<FindingPlace, 'place'> & { readonly place: FindingPlace['place'] | null })[];
  /** File, line (from 1) and JSON Pointer in the contract; null if there is none. */
  readonly place: Finding['place'] | null;
  /** A JSON Pointer into the body of the last response; null if the finding is not about a part of it. */
  readonly pointer: string | null;
  /** Identifies the difference across runs. */
  readonly cause: string;
  /** Requests and responses that show it, in order; secrets are replaced by `$NAME`. */
  readonly exchanges: readonly JsonExchange[];
}

export interface JsonExchange {
  /** A command for a POSIX shell that repeats the request. */
  readonly curl: string;
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Null without a body. */
    readonly body: string | null;
  };
  readonly response: {
    /** 0 if the server did not respond. */
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly milliseconds: number;
  };
}

export function renderJson(report: Report, options: Presentation = {}): string {
  return `${JSON.stringify(jsonReport(report, options), null, 2)}\n`;
}

export function jsonReport(report: Report, options: Presentation = {}): JsonReport {
  const {
    spec,
    title,
    url,
    seed,
    milliseconds,
    requests,
    operations,
    findings,
    coverage,
    plan,
    stopped,
    shortfall,
    left,
    notices,
  } = present(report, options);
  return {
    formatVersion: 1,
    ...{ spec, title, url, seed, milliseconds, requests },
    findings: findings.map(jsonFinding),
    ...{ operations, coverage, plan, stopped: stopped ?? null, shortfall: shortfall ?? null, left, notices },
  };
}

function jsonFinding(finding: PresentedFinding): JsonFinding {
  const { check, category, operation, also, title, expected, actual, fix, place, cause, exchanges } = finding;
  const { severity, text: rule } = ruleOf(check);
  return {
    ...{ check, severity, rule, category, operation, also, title, expected, actual, fix, cause },
    places: finding.places.map((one) => ({ ...one, place: one.place ?? null })),
    place: place ?? null,
    pointer: finding.pointer ?? null,
    exchanges: exchanges.map(jsonExchange),
  };
}

function jsonExchange({ curl, request, response }: PresentedExchange): JsonExchange {
  const { status, headers, text, milliseconds } = response;
  return {
    curl,
    request: { ...request, body: request.body ?? null },
    response: { status, headers, body: text, milliseconds },
  };
}
