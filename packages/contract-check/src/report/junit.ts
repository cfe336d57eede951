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

const longestBody = 2_000;
const builder = new XMLBuilder({
  ...{ ignoreAttributes: false, attributesGroupName: 'attributes', suppressEmptyNode: true },
  ...{ suppressBooleanAttributes: false, format: true },
});

export function renderJunit(report: Report, options: Presentation = {}): string {
  const shown = present(report, options);
  const ids = new Set(shown.operations.map(({ id }) => id));
  const unassigned = shown.findings.filter(({ operation }) => !ids.has(operation));
  const suites: [name: string, cases: TestCase[]][] = shown.operations.map((operation) => [
    `${operation.method} ${operation.path}`,
    casesOf(operation, shown, options),
  ]);
  if (unassigned.length > 0) suites.push(['not in the contract', unassigned.map((one) => failedCase(one, options))]);
  const time = (report.milliseconds / 1000).toFixed(3);
  const properties = Object.entries({ url: shown.url, seed: String(shown.seed), verdict: shown.verdict });
  return builder.build({
    '?xml': attributed({ version: '1.0', encoding: 'UTF-8' }),
    testsuites: {
      ...attributed({ name: 'contract-check', time, ...counts(suites.flatMap(([, cases]) => cases)) }),
      testsuite: suites.map(([name, cases]) => ({
        ...attributed({ name, ...counts(cases) }),
        properties: { property: properties.map(([key, value]) => attributed({ name: key, value })) },
        testcase: cases,
      })),
    },
  });
}

function casesOf(operation: OperationReport, report: PresentedReport, options: Presentation): TestCase[] {
  const { id, reached, checks, reason = 'No check was possible.' } = operation;
  const findings = report.findings.filter((finding) => finding.operation === id);
  const others = categories.filter((category) => !findings.some((finding) => finding.category === category));
  return [
    ...findings.map((finding) => failedCase(finding, options)),
    ...others.map((name) => ({
      ...attributed({ classname: id, name }),
      ...(reached && checks[name].observations > 0 ? {} : { skipped: attributed({ message: reason }) }),
    })),
  ];
}

function failedCase(finding: PresentedFinding, { directory }: Presentation): TestCase {
  const { place, operation, category, title, check } = finding;
  return {
    ...attributed({
      ...{ classname: operation, name: `${category}: ${title}` },
      ...(place === undefined ? {} : { file: fileOf(place.file, directory), line: String(place.line) }),
    }),
    failure: { ...attributed({ type: check, message: title }), '#text': legal(plainText(finding, longestBody)) },
  };
}

function counts(cases: readonly TestCase[]) {
  const count = (test: (one: TestCase) => unknown) => String(cases.filter(test).length);
  const [failures, skipped] = [count(({ failure }) => failure), count((one) => one.skipped)];
  return { tests: String(cases.length), failures, skipped, errors: '0' };
}

function attributed(attributes: Readonly<Record<string, string>>): Attributed {
  return { attributes: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, legal(value)])) };
}

/** Replaces characters that XML does not allow, even escaped. */
function legal(text: string): string {
  return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd');
}
