/**
 * A report as JSON. The format is versioned: within `formatVersion` 1, properties are added, but not removed, renamed
 * or changed in meaning.
 */
import { type Presentation, type PresentedExchange, type PresentedFinding, present } from './presented.ts';
import type { Report } from './report.ts';

export function renderJson(report: Report, options: Presentation = {}): string {
  return `${JSON.stringify(jsonReport(report, options), null, 2)}\n`;
}

/** The report with null in place of what is undefined. */
export function jsonReport(report: Report, options: Presentation = {}) {
  const shown = present(report, options);
  const { spec, title, url, seed, milliseconds, requests, operations, coverage, plan, left, notices } = shown;
  return {
    formatVersion: 1,
    ...{ spec, title, url, seed, milliseconds, requests, findings: shown.findings.map(jsonFinding) },
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

function jsonFinding(finding: PresentedFinding) {
  const { check, severity, rule, category, operation, also, title, expected, actual, fix, cause } = finding;
  return {
    ...{ check, severity, rule, category, operation, also, title, expected, actual, fix, cause },
    places: finding.places.map((one) => ({ ...one, place: one.place ?? null })),
    place: finding.place ?? null,
    pointer: finding.pointer ?? null,
    exchanges: finding.exchanges.map(jsonExchange),
  };
}

/** Status 0 means that the server did not respond. */
function jsonExchange({ curl, request, response }: PresentedExchange) {
  const { status, headers, text, milliseconds } = response;
  return {
    curl,
    request: { ...request, body: request.body ?? null },
    response: { status, headers, body: text, milliseconds },
  };
}
