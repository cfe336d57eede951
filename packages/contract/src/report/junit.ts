/** A report in the XML that forges and build servers read: a suite for each operation, a case for each kind of check. */
import { create } from 'xmlbuilder2';
import { categories } from '../finding/finding.ts';
import {
  answerLine,
  fileOf,
  type Presentation,
  type PresentedFinding,
  type PresentedReport,
  placeText,
  present,
  verdict,
} from './presented.ts';
import type { OperationReport, Report } from './report.ts';

type Element = ReturnType<ReturnType<typeof create>['ele']>;

const longestBody = 2_000;

export function renderJunit(report: Report, options: Presentation = {}): string {
  const shown = present(report, options);
  // What came over the wire may hold characters that no XML document can.
  const document = create({ version: '1.0', encoding: 'UTF-8', invalidCharReplacement: '\ufffd' });
  const root = document.ele('testsuites', { name: 'contract-check', time: seconds(report) });
  let tests = 0;
  let skipped = 0;
  for (const operation of shown.operations) {
    const counts = addSuite(root, operation, shown, options);
    tests += counts.tests;
    skipped += counts.skipped;
  }
  const stray = shown.findings.filter((finding) => !shown.operations.some(({ id }) => id === finding.operation));
  if (stray.length > 0) tests += addStray(root, stray, options);
  root.att({ tests: String(tests), failures: String(shown.findings.length), skipped: String(skipped), errors: '0' });
  return `${document.end({ prettyPrint: true })}\n`;
}

function seconds({ milliseconds }: Report): string {
  return (milliseconds / 1000).toFixed(3);
}

function addSuite(root: Element, operation: OperationReport, report: PresentedReport, options: Presentation) {
  const mine = report.findings.filter((finding) => finding.operation === operation.id);
  const suite = root.ele('testsuite', { name: `${operation.method} ${operation.path}`, id: operation.id });
  addProperties(suite, report);
  let tests = mine.length;
  let skipped = 0;
  for (const finding of mine) addFailure(suite, finding, options);
  for (const category of categories) {
    if (mine.some((finding) => finding.category === category)) continue;
    const test = suite.ele('testcase', { classname: operation.id, name: category });
    tests += 1;
    if (operation.reached && operation.checks[category].made > 0) continue;
    skipped += 1;
    test.ele('skipped', { message: operation.reason ?? 'Nothing of it could be checked.' });
  }
  suite.att({ tests: String(tests), failures: String(mine.length), skipped: String(skipped), errors: '0' });
  return { tests, skipped };
}

/** Findings outside the operations of the contract: what only the server has. */
function addStray(root: Element, findings: readonly PresentedFinding[], options: Presentation): number {
  const count = String(findings.length);
  const suite = root.ele('testsuite', {
    name: 'beside the contract',
    tests: count,
    failures: count,
    skipped: '0',
    errors: '0',
  });
  for (const finding of findings) addFailure(suite, finding, options);
  return findings.length;
}

function addProperties(suite: Element, report: PresentedReport): void {
  const properties = suite.ele('properties');
  properties.ele('property', { name: 'url', value: report.url });
  properties.ele('property', { name: 'seed', value: String(report.seed) });
  properties.ele('property', { name: 'verdict', value: verdict(report) });
}

function addFailure(suite: Element, finding: PresentedFinding, { directory }: Presentation): void {
  const { place } = finding;
  const test = suite.ele('testcase', {
    classname: finding.operation,
    name: `${finding.category}: ${finding.title}`,
    ...(place === undefined ? {} : { file: fileOf(place.file, directory), line: String(place.line) }),
  });
  test.ele('failure', { type: finding.check, message: finding.title }).txt(details(finding, directory));
}

function details(finding: PresentedFinding, directory: string | undefined): string {
  const last = finding.exchanges.at(-1);
  return [
    `Expected: ${finding.expected}`,
    `Actual: ${finding.actual}`,
    ...(finding.place === undefined ? [] : [`Contract: ${placeText(finding.place, directory)}`]),
    ...finding.exchanges.map((exchange) => `Request: ${exchange.curl}\nAnswer: ${answerLine(exchange)}`),
    ...(last === undefined || last.answer.text === '' ? [] : [last.answer.text.slice(0, longestBody)]),
    `Fix: ${finding.fix}`,
    ...(finding.also.length === 0 ? [] : [`Also in: ${finding.also.join(', ')}`]),
  ].join('\n');
}
