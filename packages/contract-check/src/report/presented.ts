/** Prepares a report for display: masks secrets, adds commands that reproduce findings, and shortens paths. */
import { isAbsolute, relative } from 'node:path';
import type { Place } from '../document/document.ts';
import type { Finding } from '../finding/finding.ts';
import type { Exchange } from '../http/call.ts';
import { percentText, reachText } from './coverage-table.ts';
import { curlOf } from './curl.ts';
import { maskExchange, maskText, type Secret, secretsIn } from './mask.ts';
import type { Report, Shortfall } from './report.ts';

export interface Presentation {
  /** Credentials to mask. Secrets are also masked by name. */
  readonly secrets?: readonly Secret[];
  /** The base of relative paths. Default: the working directory. */
  readonly directory?: string;
}

export interface PresentedReport extends Report {
  readonly findings: readonly PresentedFinding[];
}

export interface PresentedFinding extends Finding {
  readonly exchanges: readonly PresentedExchange[];
}

export interface PresentedExchange extends Exchange {
  readonly curl: string;
}

/** The only way from a report to an output: masks every text of it. */
export function present(report: Report, presentation: Presentation): PresentedReport {
  const known = presentation.secrets ?? [];
  const exchanges = report.findings.flatMap((finding) => finding.exchanges);
  const secrets = [...known, ...secretsIn(exchanges, known)];
  const mask = (text: string) => maskText(text, secrets);
  const maskReason = <T extends { readonly reason: string | undefined }>(item: T): T => ({
    ...item,
    reason: item.reason && mask(item.reason),
  });
  return {
    ...report,
    spec: mask(report.spec),
    url: mask(report.url),
    operations: report.operations.map(maskReason),
    findings: report.findings.map((finding) => presentedFinding(finding, secrets)),
    coverage: { ...report.coverage, items: report.coverage.items.map(maskReason) },
    left: {
      created: report.left.created.map((one) => ({ ...one, targets: one.targets.map(mask) })),
      changed: report.left.changed.map((one) => ({ ...one, target: mask(one.target) })),
    },
    notices: report.notices.map(mask),
  };
}

function presentedFinding(finding: Finding, secrets: readonly Secret[]): PresentedFinding {
  const mask = (text: string) => maskText(text, secrets);
  return {
    ...finding,
    title: mask(finding.title),
    expected: mask(finding.expected),
    actual: mask(finding.actual),
    fix: mask(finding.fix),
    cause: mask(finding.cause),
    places: finding.places.map((one) => ({ ...one, title: mask(one.title), cause: mask(one.cause) })),
    exchanges: finding.exchanges.map((exchange) => ({
      ...maskExchange(exchange, secrets),
      curl: curlOf(exchange, secrets),
    })),
  };
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

/** Summarizes a response: `200 application/json`. Status 0 means that none was received. */
export function responseLine({ response }: Exchange): string {
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

/** The summary: the first and the last line of a report. */
export function verdict(report: Report): string {
  const count = report.findings.length === 0 ? 'No findings' : counted(report.findings.length, 'finding');
  const why =
    report.stopped === undefined
      ? report.shortfall && shortfallText(report.shortfall)
      : stopNames[report.stopped.reason];
  const found = why === undefined ? count : `Incomplete (${why}): ${count}`;
  return `${found} in ${reachText(report.coverage)}; ${counted(report.requests, 'request')}, ${durationText(report.milliseconds)}, seed ${report.seed}`;
}
