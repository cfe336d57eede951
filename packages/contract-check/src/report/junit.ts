/** A report as JUnit XML: a suite for each operation, and a test case for each category. */
import XMLBuilder from 'fast-xml-builder';
import { categories } from '../finding/finding.ts';
import {
  fileOf,
  type Presentation,
  type PresentedFinding,
  type PresentedReport,
  plainText,
  present,
} from './presented.ts';
import type { OperationReport, Report } from './report.ts';

interface Attributed {
  readonly attributes: Readonly<Record<string, string>>;
}

/** Passes unless it has a failure or is skipped. */
interface TestCase extends Attributed {
  readonly failure?: Attributed & { readonly '#text': string };
  readonly skipped?: Attributed;
}

interface Suite {
  readonly name: string;
  readonly cases: readonly TestCase[];
}

const longestBody = 2_000;
const builder = new XMLBuilder({
  ignoreAttributes: false,
  attributesGroupName: 'attributes',
  suppressEmptyNode: true,
  suppressBooleanAttributes: false,
  format: true,
});

export function renderJunit(report: Report, options: Presentation = {}): string {
  const shown = present(report, options);
  const suites = [
    ...shown.operations.map((operation) => suiteOf(operation, shown, options)),
    ...unassigned(shown, options),
  ];
  return builder.build({
    '?xml': { attributes: { version: '1.0', encoding: 'UTF-8' } },
    testsuites: {
      attributes: {
        name: 'contract-check',
        time: (report.milliseconds / 1000).toFixed(3),
        ...counts(suites.flatMap(({ cases }) => cases)),
      },
      testsuite: suites.map(({ name, cases }) => ({
        attributes: { name: legal(name), ...counts(cases) },
        properties: { property: propertiesOf(shown) },
        testcase: cases,
      })),
    },
  });
}

function suiteOf(operation: OperationReport, report: PresentedReport, options: Presentation): Suite {
  const findings = report.findings.filter((finding) => finding.operation === operation.id);
  const others = categories.filter((category) => !findings.some((finding) => finding.category === category));
  return {
    name: `${operation.method} ${operation.path}`,
    cases: [
      ...findings.map((finding) => failedCase(finding, options)),
      ...others.map((category) => {
        const attributes = { classname: legal(operation.id), name: category };
        if (operation.reached && operation.checks[category].observations > 0) return { attributes };
        const message = legal(operation.reason ?? 'No check was possible.');
        return { attributes, skipped: attributed({ message }) };
      }),
    ],
  };
}

/** Findings outside the contract's operations. */
function unassigned(report: PresentedReport, options: Presentation): Suite[] {
  const known = new Set(report.operations.map(({ id }) => id));
  const findings = report.findings.filter(({ operation }) => !known.has(operation));
  if (findings.length === 0) return [];
  return [{ name: 'not in the contract', cases: findings.map((finding) => failedCase(finding, options)) }];
}

function failedCase(finding: PresentedFinding, { directory }: Presentation): TestCase {
  const { place } = finding;
  return {
    attributes: {
      classname: legal(finding.operation),
      name: legal(`${finding.category}: ${finding.title}`),
      ...(place === undefined ? {} : { file: legal(fileOf(place.file, directory)), line: String(place.line) }),
    },
    failure: {
      ...attributed({ type: legal(finding.check), message: legal(finding.title) }),
      '#text': legal(plainText(finding, longestBody)),
    },
  };
}

function propertiesOf(report: PresentedReport) {
  const values = { url: report.url, seed: String(report.seed), verdict: report.verdict };
  return Object.entries(values).map(([name, value]) => attributed({ name, value: legal(value) }));
}

function counts(cases: readonly TestCase[]) {
  return {
    tests: String(cases.length),
    failures: String(cases.filter(({ failure }) => failure !== undefined).length),
    skipped: String(cases.filter(({ skipped }) => skipped !== undefined).length),
    errors: '0',
  };
}

function attributed(attributes: Attributed['attributes']): Attributed {
  return { attributes };
}

/** Replaces characters that XML does not allow, even escaped. */
function legal(text: string): string {
  return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd');
}
