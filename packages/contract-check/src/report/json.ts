/**
 * A report as JSON. The format is versioned: within `formatVersion` 1, properties are added, but not removed, renamed
 * or changed in meaning.
 */
import { type Presentation, present } from './presented.ts';
import type { Report } from './report.ts';

export function renderJson(report: Report, options: Presentation = {}): string {
  return `${JSON.stringify(jsonReport(report, options), null, 2)}\n`;
}

/** The report with null in place of what is undefined. */
export function jsonReport(report: Report, options: Presentation = {}) {
  const { spec, title, url, seed, milliseconds, requests, ...shown } = present(report, options);
  const { accepted, operations, coverage, plan, stopped = null, shortfall = null, left, notices } = shown;
  const findings = shown.findings.map(({ number: _, address: _a, fields: _f, ...finding }) => ({
    ...finding,
    places: finding.places.map((one) => ({ ...one, place: one.place ?? null })),
    place: finding.place ?? null,
    pointer: finding.pointer ?? null,
    // Status 0 means that the server did not respond.
    exchanges: finding.exchanges.map(({ curl, request, response: { status, headers, text: body, milliseconds } }) => ({
      ...{
        curl,
        request: { ...request, body: request.body ?? null },
        response: { status, headers, body, milliseconds },
      },
    })),
  }));
  return {
    ...{ formatVersion: 1, spec, title, url, seed, milliseconds, requests, findings },
    accepted: accepted.map(({ operation, check, title, cause, reason }) => ({
      operation,
      check,
      title,
      cause,
      reason,
    })),
    ...{ operations, coverage, plan, stopped, shortfall, left, notices },
  };
}
