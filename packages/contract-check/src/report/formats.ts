import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Location, Log, ReportingDescriptor, Result } from 'sarif';
import type { FindingPlace } from '../finding/finding.ts';
import {
  fileOf,
  type Presentation,
  type PresentedExchange,
  type PresentedReport,
  plainText,
  present,
} from './presented.ts';
import type { Report } from './report.ts';

/**
 * A report as JSON. The format is versioned: within `formatVersion` 1, properties are added, but not removed, renamed
 * or changed in meaning.
 */
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
      curl,
      request: { ...request, body: request.body ?? null },
      response: { status, headers, body, milliseconds },
    })),
  }));
  return {
    formatVersion: 1,
    spec,
    title,
    url,
    seed,
    milliseconds,
    requests,
    findings,
    accepted: accepted.map(({ operation, check, title, cause, reason }) => ({
      operation,
      check,
      title,
      cause,
      reason,
    })),
    operations,
    coverage,
    plan,
    stopped,
    shortfall,
    left,
    notices,
  };
}

/** The base directory that code hosting platforms resolve. */
const sourceRoot = '%SRCROOT%';
const longestBody = 10_000;

/** A report in SARIF 2.1.0, which code hosting platforms show next to the lines of a contract. */
export function renderSarif(report: Report, options: Presentation = {}): string {
  return `${JSON.stringify(sarifLog(report, options), null, 2)}\n`;
}

export function sarifLog(report: Report, options: Presentation = {}): Log {
  const shown = present(report, options);
  const { url, seed, requests, operations, notices } = shown;
  const checks = [...Map.groupBy(shown.findings, ({ check }) => check)];
  const rules = checks.flatMap(([id, [first]]): ReportingDescriptor[] =>
    first === undefined
      ? []
      : [
          {
            id,
            shortDescription: { text: first.fix },
            help: { text: first.fix },
            defaultConfiguration: { level: first.severity },
            properties: { tags: ['contract', first.category] },
          },
        ],
  );
  const results = shown.findings.map((finding): Result => {
    const { check: ruleId, severity: level, places, cause, category, operation, also } = finding;
    const last = finding.exchanges.at(-1);
    return {
      ruleId,
      ruleIndex: rules.findIndex(({ id }) => id === ruleId),
      kind: 'fail',
      level,
      message: { text: plainText(finding) },
      locations: [locationOf(finding, shown, options)],
      relatedLocations: places.slice(1).map((place, id) => {
        return { ...locationOf(place, shown, options), id, message: { text: place.title } };
      }),
      partialFingerprints: { 'cause/v1': createHash('sha256').update(cause).digest('hex') },
      ...(last === undefined ? {} : webOf(last)),
      properties: { category, operation, also: [...also] },
    };
  });
  const toolExecutionNotifications = notices.map((text) => ({ level: 'note' as const, message: { text } }));
  return {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'contract-check', rules } },
        originalUriBaseIds: { [sourceRoot]: { description: { text: 'The root of the source tree.' } } },
        columnKind: 'utf16CodeUnits',
        invocations: [{ executionSuccessful: true, toolExecutionNotifications }],
        results,
        properties: { url, seed, requests, operations: operations.length },
      },
    ],
  };
}

/** Code hosting platforms show only results with a location; others are assigned to the beginning of the document. */
function locationOf(
  { operation: name, place }: Pick<FindingPlace, 'operation' | 'place'>,
  { operations, spec }: PresentedReport,
  { directory }: Presentation,
): Location {
  const { file, line } = place ?? { file: spec, line: 1 };
  const path = fileOf(file, directory);
  const artifactLocation = isAbsolute(path)
    ? { uri: pathToFileURL(path).href }
    : URL.canParse(path)
      ? { uri: new URL(path).href }
      : { uri: path.split('/').map(encodeURIComponent).join('/'), uriBaseId: sourceRoot };
  const operation = operations.find(({ id }) => id === name);
  const fullyQualifiedName = operation === undefined ? name : `${operation.method} ${operation.path}`;
  return {
    physicalLocation: { artifactLocation, region: { startLine: line } },
    logicalLocations: [{ name, fullyQualifiedName, kind: 'function' }],
  };
}

function webOf({ request, response }: PresentedExchange): Pick<Result, 'webRequest' | 'webResponse'> {
  const bodyOf = (text: string | undefined) =>
    text === undefined ? {} : { body: { text: text.slice(0, longestBody) } };
  const { method, url: target, headers, body } = request;
  const { status: statusCode, text } = response;
  return {
    webRequest: { method, target, headers: { ...headers }, ...bodyOf(body) },
    webResponse:
      statusCode === 0
        ? { noResponseReceived: true }
        : { statusCode, headers: { ...response.headers }, ...bodyOf(text) },
  };
}
