/**
 * A report for programs. The form is versioned: within `formatVersion` 1, members are added and never taken away, renamed or
 * given another meaning.
 */
import type { Category, Finding } from '../finding/finding.ts';
import { type Presentation, type PresentedExchange, type PresentedFinding, present } from './presented.ts';
import type { Coverage, OperationReport, Report } from './report.ts';

export interface JsonReport {
  readonly formatVersion: 1;
  /** The address of the document's root file, the title that it gives, and the server that it was compared with. */
  readonly spec: string;
  readonly title: string;
  readonly url: string;
  /** The same seed makes the same requests of the same server. */
  readonly seed: number;
  readonly milliseconds: number;
  readonly requests: number;
  /** One entry for each operation that was checked, with its observations and findings for each category. */
  readonly operations: readonly OperationReport[];
  readonly findings: readonly JsonFinding[];
  /** What the contract declares, and whether it was exercised; `reason` says why not. */
  readonly coverage: Coverage;
  readonly notices: readonly string[];
}

export interface JsonFinding {
  readonly check: string;
  readonly category: Category;
  /** The id of the operation; `also` has the others with the same cause. */
  readonly operation: string;
  readonly also: readonly string[];
  readonly title: string;
  readonly expected: string;
  readonly actual: string;
  readonly fix: string;
  /** File, line (from 1) and JSON Pointer of what the contract says; null where no place says it. */
  readonly place: Finding['place'] | null;
  /** A JSON Pointer into the body of the last answer; null where the finding is about no part of it. */
  readonly pointer: string | null;
  /** The same for the same difference in every run. */
  readonly cause: string;
  /** What shows it, in order; secrets are written as `$NAME`. */
  readonly exchanges: readonly JsonExchange[];
}

export interface JsonExchange {
  /** A line for a POSIX shell that sends the request again. */
  readonly curl: string;
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Null where nothing was sent. */
    readonly body: string | null;
  };
  readonly answer: {
    /** 0 where no answer came. */
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
  const { spec, title, url, seed, milliseconds, requests, operations, findings, coverage, notices } = present(
    report,
    options,
  );
  return {
    formatVersion: 1,
    ...{ spec, title, url, seed, milliseconds, requests },
    findings: findings.map(jsonFinding),
    ...{ operations, coverage, notices },
  };
}

function jsonFinding(finding: PresentedFinding): JsonFinding {
  const { check, category, operation, also, title, expected, actual, fix, place, cause, exchanges } = finding;
  return {
    ...{ check, category, operation, also, title, expected, actual, fix, cause },
    place: place ?? null,
    pointer: finding.pointer ?? null,
    exchanges: exchanges.map(jsonExchange),
  };
}

function jsonExchange({ curl, request, answer }: PresentedExchange): JsonExchange {
  const { status, headers, text, milliseconds } = answer;
  return {
    curl,
    request: { ...request, body: request.body ?? null },
    answer: { status, headers, body: text, milliseconds },
  };
}
