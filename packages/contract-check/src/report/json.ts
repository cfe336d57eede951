/**
 * A report as JSON. The format is versioned: within `formatVersion` 1, properties are added, but not removed, renamed
 * or changed in meaning.
 */
import type { Finding, FindingPlace } from '../finding/finding.ts';
import type { Severity } from '../finding/rules.ts';
import type { Exchange } from '../http/call.ts';
import { type Presentation, type PresentedExchange, type PresentedFinding, present } from './presented.ts';
import type { Report } from './report.ts';

type Shown = Omit<Report, 'findings' | 'stopped' | 'shortfall'>;

export interface JsonReport extends Shown {
  readonly formatVersion: 1;
  readonly findings: readonly JsonFinding[];
  /** Why the run ended early, and what it should have reached; null if it completed. */
  readonly stopped: Report['stopped'] | null;
  readonly shortfall: Report['shortfall'] | null;
}

export interface JsonFinding extends Omit<Finding, 'places' | 'place' | 'pointer' | 'exchanges'> {
  /** How bad it is, and what the server must do. */
  readonly severity: Severity;
  readonly rule: string;
  /** Everywhere that the cause was observed, this finding first. */
  readonly places: readonly (Omit<FindingPlace, 'place'> & { readonly place: FindingPlace['place'] | null })[];
  readonly place: Finding['place'] | null;
  readonly pointer: string | null;
  /** Requests and responses that show it, in order; secrets are replaced by `$NAME`. */
  readonly exchanges: readonly JsonExchange[];
}

export interface JsonExchange {
  /** A command for a POSIX shell that repeats the request. */
  readonly curl: string;
  readonly request: Omit<Exchange['request'], 'body'> & { readonly body: string | null };
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
  const shown = present(report, options);
  const { spec, title, url, seed, milliseconds, requests, operations, coverage, plan, left, notices } = shown;
  return {
    formatVersion: 1,
    ...{ spec, title, url, seed, milliseconds, requests },
    findings: shown.findings.map(jsonFinding),
    ...{
      operations,
      coverage,
      plan,
      stopped: shown.stopped ?? null,
      shortfall: shown.shortfall ?? null,
      left,
      notices,
    },
  };
}

function jsonFinding(finding: PresentedFinding): JsonFinding {
  const { check, severity, rule, category, operation, also, title, expected, actual, fix, cause } = finding;
  return {
    ...{ check, severity, rule, category, operation, also, title, expected, actual, fix, cause },
    places: finding.places.map((one) => ({ ...one, place: one.place ?? null })),
    place: finding.place ?? null,
    pointer: finding.pointer ?? null,
    exchanges: finding.exchanges.map(jsonExchange),
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
