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

const longestBody = 2_000;
const builder = new XMLBuilder({
  ...{ ignoreAttributes: false, attributesGroupName: 'attributes', suppressEmptyNode: true },
  ...{ suppressBooleanAttributes: false, format: true },
});

export function renderJunit(report: Report, options: Presentation = {}): string {
  const shown = present(report, options);
  const unassigned = shown.findings.filter(({ operation }) => !shown.operations.some(({ id }) => id === operation));
  const suites = shown.operations.map((operation) => {
    return { name: `${operation.method} ${operation.path}`, cases: casesOf(operation, shown, options) };
  });
  if (unassigned.length > 0)
    suites.push({ name: 'not in the contract', cases: unassigned.map((one) => failedCase(one, options)) });
  const time = (report.milliseconds / 1000).toFixed(3);
  const properties = Object.entries({ url: shown.url, seed: String(shown.seed), verdict: shown.verdict });
  return builder.build({
    '?xml': attributed({ version: '1.0', encoding: 'UTF-8' }),
    testsuites: {
      ...attributed({ name: 'contract-check', time, ...counts(suites.flatMap(({ cases }) => cases)) }),
      testsuite: suites.map(({ name, cases }) => ({
        ...attributed({ name, ...counts(cases) }),
        properties: { property: properties.map(([key, value]) => attributed({ name: key, value })) },
        testcase: cases,
      })),
    },
  });
}

/** A case passes unless it has a failure or is skipped. */
function casesOf({ id, reached, checks, reason }: OperationReport, report: PresentedReport, options: Presentation) {
  const findings = report.findings.filter((finding) => finding.operation === id);
  const others = categories.filter((category) => !findings.some((finding) => finding.category === category));
  return [
    ...findings.map((finding) => failedCase(finding, options)),
    ...others.map((name) => {
      const isDone = reached && checks[name].observations > 0;
      const skipped = isDone ? undefined : attributed({ message: reason ?? 'No check was possible.' });
      return { ...attributed({ classname: id, name }), failure: undefined, skipped };
    }),
  ];
}

function failedCase(finding: PresentedFinding, { directory }: Presentation) {
  const { place, operation, category, title, check } = finding;
  const where = place && { file: fileOf(place.file, directory), line: String(place.line) };
  return {
    ...attributed({ classname: operation, name: `${category}: ${title}`, ...where }),
    failure: { ...attributed({ type: check, message: title }), '#text': legal(plainText(finding, longestBody)) },
    skipped: undefined,
  };
}

function counts(cases: readonly ReturnType<typeof casesOf>[number][]) {
  const count = (kind: 'failure' | 'skipped') => String(cases.filter((one) => one[kind] !== undefined).length);
  return { tests: String(cases.length), failures: count('failure'), skipped: count('skipped'), errors: '0' };
}

function attributed(attributes: Readonly<Record<string, string>>) {
  return { attributes: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, legal(value)])) };
}

/** Replaces characters that XML does not allow, even escaped. */
function legal(text: string): string {
  return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd');
}
