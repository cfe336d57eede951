/** A report in SARIF 2.1.0, which code hosting platforms show next to the lines of a contract. */
import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Location, Log, PhysicalLocation, ReportingDescriptor, Result } from 'sarif';
import type { Place } from '../document/document.ts';
import type { FindingPlace } from '../finding/finding.ts';
import { ruleOf } from '../finding/rules.ts';
import {
  fileOf,
  type Presentation,
  type PresentedExchange,
  type PresentedFinding,
  type PresentedReport,
  plainText,
  present,
} from './presented.ts';
import type { Report } from './report.ts';

/** The base directory that code hosting platforms resolve. */
const sourceRoot = '%SRCROOT%';
const longestBody = 10_000;

export function renderSarif(report: Report, options: Presentation = {}): string {
  return `${JSON.stringify(sarifLog(report, options), null, 2)}\n`;
}

export function sarifLog(report: Report, options: Presentation = {}): Log {
  const shown = present(report, options);
  const rules = rulesOf(shown.findings);
  return {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'contract-check', rules } },
        originalUriBaseIds: { [sourceRoot]: { description: { text: 'The root of the source tree.' } } },
        columnKind: 'utf16CodeUnits',
        invocations: [
          {
            executionSuccessful: true,
            toolExecutionNotifications: shown.notices.map((text) => ({ level: 'note', message: { text } })),
          },
        ],
        results: shown.findings.map((finding) => resultOf(finding, shown, rules, options)),
        properties: { url: shown.url, seed: shown.seed, requests: shown.requests, operations: shown.operations.length },
      },
    ],
  };
}

function rulesOf(findings: readonly PresentedFinding[]): ReportingDescriptor[] {
  return [...Map.groupBy(findings, ({ check }) => check)].map(([id, [finding]]) => ({
    id,
    shortDescription: { text: ruleOf(id).text },
    help: { text: finding?.fix ?? '' },
    defaultConfiguration: { level: ruleOf(id).severity },
    properties: { tags: ['contract', finding?.category ?? ''] },
  }));
}

function resultOf(
  finding: PresentedFinding,
  report: PresentedReport,
  rules: readonly ReportingDescriptor[],
  options: Presentation,
): Result {
  const last = finding.exchanges.at(-1);
  return {
    ruleId: finding.check,
    ruleIndex: rules.findIndex(({ id }) => id === finding.check),
    kind: 'fail',
    level: finding.severity,
    message: { text: plainText(finding, 0) },
    locations: [locationOf(finding, report, options)],
    relatedLocations: finding.places.slice(1).map((place, id) => ({
      ...locationOf(place, report, options),
      id,
      message: { text: place.title },
    })),
    partialFingerprints: { 'cause/v1': createHash('sha256').update(finding.cause).digest('hex') },
    ...(last === undefined ? {} : webOf(last)),
    properties: { category: finding.category, operation: finding.operation, also: [...finding.also] },
  };
}

/** Code hosting platforms show only results with a location; others are assigned to the beginning of the document. */
function locationOf(
  finding: Pick<FindingPlace, 'operation' | 'place'>,
  report: PresentedReport,
  { directory }: Presentation,
): Location {
  const operation = report.operations.find(({ id }) => id === finding.operation);
  const address = operation === undefined ? finding.operation : `${operation.method} ${operation.path}`;
  return {
    physicalLocation: physicalLocation(finding.place ?? { file: report.spec, line: 1, pointer: '' }, directory),
    logicalLocations: [{ name: finding.operation, fullyQualifiedName: address, kind: 'function' }],
  };
}

function physicalLocation(
  { file, line }: Pick<Place, 'file' | 'line' | 'pointer'>,
  directory?: string,
): PhysicalLocation {
  const path = fileOf(file, directory);
  const artifactLocation = isAbsolute(path)
    ? { uri: pathToFileURL(path).href }
    : URL.canParse(path)
      ? { uri: new URL(path).href }
      : { uri: path.split('/').map(encodeURIComponent).join('/'), uriBaseId: sourceRoot };
  return { artifactLocation, region: { startLine: line } };
}

function webOf({ request, response }: PresentedExchange): Pick<Result, 'webRequest' | 'webResponse'> {
  return {
    webRequest: {
      method: request.method,
      target: request.url,
      headers: { ...request.headers },
      ...(request.body === undefined ? {} : { body: { text: request.body.slice(0, longestBody) } }),
    },
    webResponse:
      response.status === 0
        ? { noResponseReceived: true }
        : {
            statusCode: response.status,
            headers: { ...response.headers },
            body: { text: response.text.slice(0, longestBody) },
          },
  };
}
