import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Location, Log, ReportingDescriptor, Result } from 'sarif';
import type { FindingPlace } from '../finding/finding.ts';
import type { Report } from '../run/report.ts';
import { fieldsOf } from './fields.ts';
import { type MaskedFinding, type MaskedReport, masked, type Presentation } from './masked.ts';
import { fileOf } from './texts.ts';

/**
 * A report as JSON, with null for what is undefined. The format is versioned: within a `formatVersion`, properties are
 * added, but not removed, renamed or changed in meaning.
 */
export function renderJson(report: Report, { secrets }: Presentation = {}): string {
  const content = { formatVersion: 2, ...masked(report, secrets) };
  return `${JSON.stringify(content, (_name, value: unknown) => value ?? null, 2)}\n`;
}

/** The base directory that code hosting platforms resolve. */
const sourceRoot = '%SRCROOT%';

/** A report in SARIF 2.1.0, which code hosting platforms show next to the lines of a contract. */
export function renderSarif(report: Report, options: Presentation = {}): string {
  return `${JSON.stringify(sarifLog(report, options), null, 2)}\n`;
}

export function sarifLog(report: Report, { secrets }: Presentation = {}): Log {
  const shown = masked(report, secrets);
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
    return {
      ruleId,
      ruleIndex: rules.findIndex(({ id }) => id === ruleId),
      kind: 'fail',
      level,
      message: { text: plainText(finding) },
      locations: [locationOf(finding, shown)],
      relatedLocations: places.slice(1).map((place, id) => {
        return { ...locationOf(place, shown), id, message: { text: place.title } };
      }),
      partialFingerprints: { 'cause/v1': createHash('sha256').update(cause).digest('hex') },
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
  { operations, spec }: MaskedReport,
): Location {
  const { file, line } = place ?? { file: spec, line: 1 };
  const path = fileOf(file);
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

/** A report in the format of JUnit: a test for each operation, which fails with its findings. */
export function renderJunit(report: Report, { secrets }: Presentation = {}): string {
  const { findings, operations, title, milliseconds } = masked(report, secrets);
  const known = new Set(operations.map(({ id }) => id));
  const cases = operations.map(({ id, reached, reason }) => {
    const own = findings.filter(({ operation, also }) => operation === id || also.includes(id));
    return { id, own, skipped: reached ? undefined : (reason ?? 'no request succeeded') };
  });
  const others = findings.filter(({ operation, also }) => ![operation, ...also].some((id) => known.has(id)));
  const all = others.length === 0 ? cases : [...cases, { id: 'undeclared', own: others, skipped: undefined }];
  const failed = all.filter(({ own }) => own.length > 0);
  const isSkipped = ({ own, skipped }: (typeof all)[number]) => own.length === 0 && skipped !== undefined;
  const counts = `tests="${all.length}" failures="${failed.length}" errors="0" skipped="${all.filter(isSkipped).length}"`;
  const tests = all.map((one) => {
    const { id, own, skipped } = one;
    const start = `    <testcase classname="${inXml(title)}" name="${inXml(id)}">`;
    const failures = own.map((finding) => {
      const { check, title: message } = finding;
      return `      <failure type="${inXml(check)}" message="${inXml(message)}">${inXml(plainText(finding))}</failure>`;
    });
    const rest = isSkipped(one) ? [`      <skipped message="${inXml(skipped ?? '')}"/>`] : [];
    return [start, ...failures, ...rest, '    </testcase>'].join('\n');
  });
  const suite = `  <testsuite name="contract-check" ${counts} time="${(milliseconds / 1000).toFixed(3)}">`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    suite,
    ...tests,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

/** Without the characters that XML 1.0 does not allow. */
const inXml = (text: string) =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed.
    .replaceAll(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '')
    .replaceAll(/[&<>"'\n\r\t]/g, (character) => `&#${character.charCodeAt(0)};`);

function plainText(finding: MaskedFinding): string {
  const fields = fieldsOf(finding);
  return [
    finding.title,
    ...fields.map(({ label, text }) => `${label[0]?.toUpperCase()}${label.slice(1)}: ${text}`),
  ].join('\n');
}
