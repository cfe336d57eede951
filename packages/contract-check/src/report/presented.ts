/** Prepares a report for display: masks secrets, adds commands that reproduce findings, and shortens paths. */
import { isAbsolute, relative } from 'node:path';
import type { Place } from '../document/document.ts';
import type { Finding } from '../finding/finding.ts';
import { ruleOf, type Severity } from '../finding/rules.ts';
import type { Exchange } from '../http/call.ts';
import { kindNames, percentText, reachText } from './coverage-table.ts';
import { curlOf } from './curl.ts';
import { maskExchange, maskText, type Secret, secretsIn } from './mask.ts';
import { type CoverageItem, coverageKinds, type OperationReport, type Report, type Shortfall } from './report.ts';

export interface Presentation {
  /** Credentials to mask. Secrets are also masked by name. */
  readonly secrets?: readonly Secret[];
  /** The base of relative paths. Default: the working directory. */
  readonly directory?: string;
}

/** What every format of a report shows, masked. */
export interface PresentedReport extends Report {
  /** The first and the last line. */
  readonly verdict: string;
  readonly state: 'good' | 'fair' | 'bad';
  readonly findings: readonly PresentedFinding[];
  readonly gaps: readonly Gap[];
}

export interface PresentedFinding extends Finding {
  readonly number: number;
  readonly severity: Severity;
  readonly rule: string;
  /** `GET /clients`; undefined outside the contract, or if it is the ID of the operation. */
  readonly address: string | undefined;
  /** The place in the contract. */
  readonly contract: string | undefined;
  /** What follows the requests: what to do, and where else the cause was observed. */
  readonly details: readonly Detail[];
  readonly exchanges: readonly PresentedExchange[];
}

export type Detail = readonly [label: 'fix' | 'also in' | 'same cause', text: string];

export interface PresentedExchange extends Exchange {
  readonly curl: string;
  /** `200 application/json`. */
  readonly summary: string;
}

/** What was not covered, for one reason. */
export interface Gap {
  /** `3 statuses`. */
  readonly count: string;
  readonly reason: string;
  readonly items: readonly { readonly name: string; readonly place: Place | undefined }[];
}

/** The only way from a report to an output: masks every text of it. */
export function present(report: Report, { secrets: known = [], directory }: Presentation): PresentedReport {
  const exchanges = report.findings.flatMap((finding) => finding.exchanges);
  const secrets = [...known, ...secretsIn(exchanges, known)];
  const mask = (text: string) => maskText(text, secrets);
  const maskReason = <T extends { readonly reason: string | undefined }>(item: T): T => ({
    ...item,
    reason: item.reason && mask(item.reason),
  });
  const operations = report.operations.map(maskReason);
  const coverage = { ...report.coverage, items: report.coverage.items.map(maskReason) };
  const findings = report.findings.map((finding, index) => {
    const operation = operations.find(({ id }) => id === finding.operation);
    const address = operation && `${operation.method} ${operation.path}`;
    const { severity, text: rule } = ruleOf(finding.check);
    const shown = {
      ...{ ...finding, title: mask(finding.title), expected: mask(finding.expected), actual: mask(finding.actual) },
      ...{ fix: mask(finding.fix), cause: mask(finding.cause) },
      places: finding.places.map((one) => ({ ...one, title: mask(one.title), cause: mask(one.cause) })),
    };
    return {
      ...shown,
      ...{ number: index + 1, severity, rule, address: address === finding.operation ? undefined : address },
      contract: finding.place && placeText(finding.place, directory),
      details: detailsOf(shown),
      exchanges: finding.exchanges.map((one) => {
        return { ...maskExchange(one, secrets), curl: curlOf(one, secrets), summary: responseLine(one) };
      }),
    };
  });
  return {
    ...{
      ...report,
      operations,
      coverage,
      findings,
      verdict: verdict(report),
      gaps: gapsOf(coverage.items, operations),
    },
    state: report.findings.length > 0 ? 'bad' : isComplete(report) ? 'good' : 'fair',
    ...{ spec: mask(report.spec), url: mask(report.url) },
    left: {
      created: report.left.created.map((one) => ({ ...one, targets: one.targets.map(mask) })),
      changed: report.left.changed.map((one) => ({ ...one, target: mask(one.target) })),
    },
    notices: report.notices.map(mask),
  };
}

function detailsOf({ fix, also, places, title }: Finding): Detail[] {
  const different = places.slice(1).filter((place) => place.title !== title);
  const others = also.filter((id) => !different.some(({ operation }) => operation === id));
  return [
    // Many titles say what the server must do.
    ...(title.startsWith(fix.replace(/\.$/, '')) ? [] : [['fix', fix] as const]),
    ...(others.length === 0 ? [] : [['also in', others.join(', ')] as const]),
    ...different.map((place) => ['same cause', `${place.operation}: ${place.title}`] as const),
  ];
}

/** Operations that were not reached, and items of the others that were not covered, most frequent reason first. */
function gapsOf(items: readonly CoverageItem[], operations: readonly OperationReport[]): Gap[] {
  const missed = operations.filter(({ reached }) => !reached);
  const ids = new Set(missed.map(({ id }) => id));
  const all = [
    ...missed.map(({ id: name, reason = 'No request succeeded.' }) => {
      return { kind: 'operation' as const, name, place: undefined, reason };
    }),
    ...items
      .filter(({ exercised, operation, kind }) => !exercised && kind !== 'operation' && !ids.has(operation))
      .map(({ kind, operation, name, place, reason }) => ({ kind, name: `${operation} ${name}`, place, reason })),
  ];
  return coverageKinds.flatMap((kind) => {
    const ofKind = all.filter((item) => item.kind === kind);
    const groups = [...Map.groupBy(ofKind, ({ reason }) => reason ?? 'not tried')];
    const one = kindNames[kind].replace(/(?<=us)es$|s$/, '');
    return groups
      .sort(([, left], [, right]) => right.length - left.length)
      .map(([reason, items]) => ({ reason, items, count: counted(items.length, one, kindNames[kind]) }));
  });
}

/** A finding as plain text. */
export function plainText(
  { title, expected, actual, contract, exchanges, details }: PresentedFinding,
  longestBody: number,
): string {
  const body = exchanges.at(-1)?.response.text.slice(0, longestBody) ?? '';
  return [
    ...[title, ...(title.startsWith(expected) ? [] : [`Expected: ${expected}`]), `Actual: ${actual}`],
    ...(contract === undefined ? [] : [`Contract: ${contract}`]),
    ...exchanges.map(({ curl, summary }) => `Request: ${curl}\nResponse: ${summary}`),
    ...(body === '' ? [] : [body]),
    ...details.map(([label, text]) => `${label[0]?.toUpperCase()}${label.slice(1)}: ${text}`),
  ].join('\n');
}

/** The path of a file relative to a directory that contains it; unchanged otherwise. */
export function fileOf(file: string, directory = process.cwd()): string {
  if (!isAbsolute(file)) return file;
  const path = relative(directory, file);
  return path.startsWith('..') || isAbsolute(path) ? file : path.replaceAll('\\', '/');
}

/** `openapi/schemas/client.yaml:12`. */
export function placeText(place: Place, directory?: string): string {
  return `${fileOf(place.file, directory)}:${place.line}`;
}

/** Status 0 means that no response was received. */
function responseLine({ response }: Exchange): string {
  if (response.status === 0) return 'no response';
  return [response.status, response.mediaType || 'no media type'].join(' ');
}

/** Headers that the checks examine, or that the finding mentions. */
export function relevantHeaders(finding: Finding, { response }: Exchange): [name: string, value: string][] {
  const words = `${finding.title} ${finding.expected} ${finding.actual}`.toLowerCase();
  const usual =
    /^(allow|location|etag|link|retry-after|www-authenticate|last-modified|idempotency-.*|x-total-.*|deprecation|sunset)$/;
  return Object.entries(response.headers).filter(
    ([name]) =>
      usual.test(name) ||
      (name !== 'content-type' && words.includes(name)) ||
      (name === 'content-type' && /content-type|media type/.test(words)),
  );
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** `4 ms`, `0.8 s`, `41 s`, `2 min 5 s`. */
export function durationText(milliseconds: number): string {
  if (milliseconds < 100) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  return whole < 120 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

const stopNames = { time: 'time limit', interrupted: 'interrupted', dead: 'the server stopped responding' } as const;

/** Whether a run reached what it should. */
export function isComplete({ stopped, shortfall }: Report): boolean {
  return stopped === undefined && shortfall === undefined;
}

/** `40 % of operations, required are 50 %`. */
function shortfallText({ kind, covered, minimum }: Shortfall): string {
  const name = kind === 'total' ? 'the contract' : kind.replace('-', ' ');
  return `${percentText(covered / 100)} of ${name} reached, ${minimum} % required`;
}

function verdict(report: Report): string {
  const count = report.findings.length === 0 ? 'No findings' : counted(report.findings.length, 'finding');
  const why =
    report.stopped === undefined
      ? report.shortfall && shortfallText(report.shortfall)
      : stopNames[report.stopped.reason];
  const found = why === undefined ? count : `Incomplete (${why}): ${count}`;
  return `${found} in ${reachText(report.coverage)}; ${counted(report.requests, 'request')}, ${durationText(report.milliseconds)}, seed ${report.seed}`;
}
