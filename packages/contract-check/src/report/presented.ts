/** What all formats of a report show: masked, with commands that reproduce findings, and short paths. */
import { isAbsolute, relative } from 'node:path';
import type { Place } from '../document/document.ts';
import type { Finding } from '../finding/finding.ts';
import type { Exchange } from '../http/call.ts';
import { mapped } from '../json.ts';
import { curlOf } from './curl.ts';
import { Mask, type Secret } from './mask.ts';
import { leftLines, stoppedText } from './plan.ts';
import {
  type CoverageItem,
  coverageKinds,
  type OperationReport,
  type Report,
  reachText,
  shortfallText,
} from './report.ts';
import { counted, durationText, excerptOf, headersOf } from './texts.ts';

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
  /** What follows the findings and the coverage. */
  readonly sections: readonly Section[];
}

/** A list with a title: what was not covered, what is left on the server, notes. */
export interface Section {
  readonly title: string;
  /** Texts, and the names of what each is about. */
  readonly entries: readonly { readonly text: string; readonly names: readonly string[] }[];
}

export interface PresentedFinding extends Finding {
  readonly number: number;
  /** `GET /clients`; undefined outside the contract, or if it is the ID of the operation. */
  readonly address: string | undefined;
  readonly exchanges: readonly PresentedExchange[];
  /** The description, in the order in which every format has it. */
  readonly fields: readonly Field[];
}

export interface Field {
  readonly label: string;
  readonly text: string;
  /** Whether the text is a command to copy. */
  readonly isCommand?: boolean;
  /** What is below the text: headers and the relevant part of the body. */
  readonly lines?: readonly string[];
}

export interface PresentedExchange extends Exchange {
  readonly curl: string;
  /** `200 application/json`. */
  readonly summary: string;
}

/** The only way from a report to an output: masks every text of it. */
export function present(report: Report, { secrets: known = [], directory }: Presentation): PresentedReport {
  const mask = new Mask(
    known,
    report.findings.flatMap((finding) => finding.exchanges),
  );
  const masked = <Value>(value: Value): Value =>
    mapped(value, (one) => (typeof one === 'string' ? mask.text(one) : one)) as Value;
  const { findings: observed, ...others } = report;
  const shown = masked(others);
  const findings = observed.map(({ exchanges: sent, ...unmasked }, index) => {
    const finding = masked(unmasked);
    const operation = report.operations.find(({ id }) => id === unmasked.operation);
    const address = operation && `${operation.method} ${operation.path}`;
    const exchanges = sent.map((one) => {
      return { ...mask.exchange(one), curl: curlOf(one, mask), summary: responseLine(one) };
    });
    const contract = finding.place && placeText(finding.place, directory);
    return {
      ...finding,
      number: index + 1,
      exchanges,
      address: address === unmasked.operation ? undefined : address,
      fields: fieldsOf({ ...finding, exchanges }, contract),
    };
  });
  const textsIn = (title: string, texts: readonly string[]) => ({
    title,
    entries: texts.map((text) => ({ text, names: [] })),
  });
  const sections = [
    {
      title: 'Accepted',
      entries: shown.accepted.map(({ title, reason, operation }) => ({
        text: `${title.replace(/\.$/, '')}: ${reason}`,
        names: [operation],
      })),
    },
    { title: 'Not covered', entries: gapsOf(shown.coverage.items, shown.operations) },
    textsIn('Left on the server', leftLines(shown.left)),
    textsIn('Notes', shown.notices),
    textsIn('Ended early', shown.stopped === undefined ? [] : [stoppedText(shown.stopped)]),
  ];
  return {
    ...shown,
    findings,
    verdict: verdict(report),
    state: findings.length > 0 ? 'bad' : isComplete(report) ? 'good' : 'fair',
    sections: sections.filter(({ entries }) => entries.length > 0),
  };
}

function fieldsOf(
  finding: Omit<Finding, 'exchanges'> & { readonly exchanges: readonly PresentedExchange[] },
  contract: string | undefined,
): Field[] {
  const { exchanges, fix, also, places, title, expected, actual } = finding;
  const different = places.slice(1).filter((place) => place.title !== title);
  const others = also.filter((id) => !different.some(({ operation }) => operation === id));
  const field = (label: string, text: string, isShown = true) => (isShown ? [{ label, text }] : []);
  return [
    // Many titles say what is expected, or what the server must do.
    ...field('expected', expected, !title.startsWith(expected)),
    ...field('actual', actual),
    ...field('contract', contract ?? '', contract !== undefined),
    ...exchanges.flatMap((exchange, index): Field[] => {
      const number = exchanges.length === 1 ? '' : ` ${index + 1}`;
      const isLast = index === exchanges.length - 1;
      const lines = isLast ? [...headersOf(finding, exchange.response), ...excerptOf(finding, exchange.response)] : [];
      return [
        { label: `request${number}`, text: exchange.curl, isCommand: true },
        { label: 'response', text: exchange.summary, lines },
      ];
    }),
    ...field('fix', fix, !title.startsWith(fix.replace(/\.$/, ''))),
    ...field('also in', others.join(', '), others.length > 0),
    ...different.flatMap((place) => field('same cause', `${place.operation}: ${place.title}`)),
  ];
}

/** Operations that were not reached, and items of the others that were not covered, most frequent reason first. */
function gapsOf(items: readonly CoverageItem[], operations: readonly OperationReport[]): Section['entries'] {
  const missed = operations.filter(({ reached }) => !reached);
  const ids = new Set(missed.map(({ id }) => id));
  const all = [
    ...missed.map(({ id: name, reason = 'No request succeeded.' }) => ({ kind: 'operations', name, reason })),
    ...items
      .filter(({ exercised, operation, kind }) => !exercised && kind !== 'operations' && !ids.has(operation))
      .map(({ kind, operation, name, reason = 'not tried' }) => ({ kind, name: `${operation} ${name}`, reason })),
  ];
  return coverageKinds.flatMap((kind) => {
    const groups = [
      ...Map.groupBy(
        all.filter((item) => item.kind === kind),
        ({ reason }) => reason,
      ),
    ];
    const one = kind.replace(/(?<=us)es$|s$/, '');
    return groups
      .sort(([, left], [, right]) => right.length - left.length)
      .map(([reason, group]) => ({
        text: `${counted(group.length, one, kind)}: ${reason}`,
        names: group.map(({ name }) => name),
      }));
  });
}

/** A finding as plain text. */
export function plainText({ title, fields }: PresentedFinding): string {
  return [title, ...fields.map(({ label, text }) => `${label[0]?.toUpperCase()}${label.slice(1)}: ${text}`)].join('\n');
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

const stopNames = { time: 'time limit', interrupted: 'interrupted', dead: 'the server stopped responding' } as const;

/** Whether a run reached what it should. */
export function isComplete({ stopped, shortfall }: Report): boolean {
  return stopped === undefined && shortfall === undefined;
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
