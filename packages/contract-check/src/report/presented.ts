/** A report as it may be shown: without secrets, with the lines that reproduce its findings, and with places as a person opens them. */
import { isAbsolute, relative } from 'node:path';
import type { Place } from '../document/document.ts';
import type { Finding } from '../finding/finding.ts';
import type { Exchange } from '../http/call.ts';
import { curlOf } from './curl.ts';
import { maskExchange, maskText, type Secret } from './mask.ts';
import type { Report } from './report.ts';

export interface Presentation {
  /** Credentials that are to be found nowhere in what is shown. What is a secret by its name is masked in any case. */
  readonly secrets?: readonly Secret[];
  /** Where places are relative to; the working directory, if left out. */
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

export function present(report: Report, { secrets = [] }: Presentation): PresentedReport {
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
    exchanges: finding.exchanges.map((exchange) => ({
      ...maskExchange(exchange, secrets),
      curl: curlOf(exchange, secrets),
    })),
  };
}

/** A file as it is opened from a directory: relative where it is below it. Addresses stay as they are. */
export function fileOf(file: string, directory = process.cwd()): string {
  if (!isAbsolute(file)) return file;
  const path = relative(directory, file);
  return path.startsWith('..') || isAbsolute(path) ? file : path.replaceAll('\\', '/');
}

/** `openapi/schemas/client.yaml:12`. */
export function placeText(place: Place, directory?: string): string {
  return `${fileOf(place.file, directory)}:${place.line}`;
}

/** The response of an exchange in a few words: `200 application/json`. A status of 0 stands for a response that did not come. */
export function responseLine({ response }: Exchange): string {
  if (response.status === 0) return 'no response';
  return [response.status, response.mediaType || 'no media type'].join(' ');
}

/** Headers that a response is judged by, or that the finding's sentences name. */
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

/** The last line of a report, and the first one that is read. */
export function verdict(report: Report): string {
  const found = report.findings.length === 0 ? 'No findings' : counted(report.findings.length, 'finding');
  const operations = counted(report.operations.length, 'operation');
  return `${found} in ${operations}, ${counted(report.requests, 'request')}, ${durationText(report.milliseconds)}, seed ${report.seed}`;
}
