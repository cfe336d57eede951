/** A report for a terminal. */
import { styleText } from 'node:util';
import type { Progress } from '../options.ts';
import {
  type Field,
  fileOf,
  type Presentation,
  type PresentedFinding,
  type PresentedReport,
  present,
  type Section,
} from './presented.ts';
import { coverageKinds, partOf, percentText, type Report, shareText } from './report.ts';
import { counted, visible } from './texts.ts';

export interface TerminalOptions extends Presentation {
  readonly color?: boolean;
}

type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/** Many findings usually share few causes, and a longer report is not read. */
const maxFindings = 50;
/** Maximum number of fields of one finding. */
const maxFields = 24;
const longestCurl = 2_000;
/** Maximum number of names to list. */
const maxNames = 10;
const colors = { bad: 'red', fair: 'yellow', good: 'green' } as const;

/** The report: a summary, also in the last line, findings, and coverage. */
export function renderTerminal(report: Report, options: TerminalOptions = {}): string {
  const paint = paintOf(options);
  const shown = present(report, options);
  const { title, url, spec } = shown;
  const rest = shown.findings.length - maxFindings;
  const parts = [
    [
      summary(shown, paint),
      paint('bold', visible(title === '' ? 'Contract check' : title)),
      paint('dim', `${visible(url)} against ${visible(fileOf(spec, options.directory))}`),
    ],
    ...shown.findings.slice(0, maxFindings).map((finding) => findingLines(finding, paint)),
    rest > 0 ? [paint('dim', `… and ${counted(rest, 'more finding')}: --json FILE has all.`)] : [],
    [
      paint('bold', 'Coverage'),
      ...coverageKinds.map((kind) => {
        const share = shown.coverage.byKind[kind];
        const part = partOf(share);
        const color = colors[part === 1 ? 'good' : part >= 0.8 ? 'fair' : 'bad'];
        return `  ${kind.padEnd(14)}${shareText(share).padStart(16)}${paint(color, percentText(part).padStart(8))}`;
      }),
    ],
    ...shown.sections.map((section) => list(section, paint)),
    [summary(shown, paint)],
  ];
  const texts = parts.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${texts.join('\n\n')}\n`;
}

/** Only the summary, in one line. */
export function renderVerdict(report: Report, options: TerminalOptions = {}): string {
  return `${summary(present(report, options), paintOf(options))}\n`;
}

function paintOf({ color = false }: TerminalOptions): Paint {
  return (style, text) => (color ? styleText(style, text, { validateStream: false }) : text);
}

function summary({ verdict, state }: PresentedReport, paint: Paint): string {
  return paint(['bold', colors[state]], visible(verdict));
}

function findingLines(finding: PresentedFinding, paint: Paint): string[] {
  const { number, title, operation, address = '', severity, category, check, fields } = finding;
  const rest = fields.length - maxFields;
  return [
    paint(['red', 'bold'], visible(`✗ ${number}  ${title}`)),
    visible(`     ${`${operation} ${address}`.trim()}`),
    paint('dim', `     ${severity} · ${category} · ${visible(check)}`),
    ...fields.slice(0, maxFields).flatMap((field) => fieldLines(field, paint)),
    ...(rest > 0 ? [paint('dim', `     … and ${counted(rest, 'more line')}: --json FILE has all.`)] : []),
  ];
}

function fieldLines({ label, text, isCommand, lines = [] }: Field, paint: Paint): string[] {
  const start = paint('dim', `     ${label}`.padEnd(16));
  return [
    start + (isCommand ? paint('cyan', shortCurl(text)) : visible(text)),
    ...lines.map((line) => paint('dim', `${' '.repeat(16)}${visible(line)}`)),
  ];
}

function shortCurl(line: string): string {
  if (line.length <= longestCurl) return line;
  return `${line.slice(0, longestCurl)}… (${line.length.toLocaleString('en')} characters; --json FILE has all)`;
}

function list({ title, entries }: Section, paint: Paint): string[] {
  const lines = entries.flatMap(({ text, names }) => {
    const more = names.length > maxNames ? [`… ${names.length - maxNames} more`] : [];
    const below = [...names.slice(0, maxNames), ...more].join(', ');
    return [visible(`  ${text}`), ...(below === '' ? [] : [paint('dim', visible(`    ${below}`))])];
  });
  return [paint('bold', title), ...lines];
}

interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Shows progress: a line that is updated on a terminal, or a new line every ten seconds elsewhere. */
export class ProgressLine {
  readonly #output: Output;
  readonly #now: () => number;
  readonly #started: number;
  #last: number;
  #isShown = false;

  /** @param now milliseconds */
  constructor(output: Output, now = () => performance.now()) {
    this.#output = output;
    this.#now = now;
    this.#started = now();
    this.#last = output.isTTY === true ? Number.NEGATIVE_INFINITY : this.#started;
  }

  update({ phase, done, all, requests, findings }: Progress): void {
    const now = this.#now();
    const isTerminal = this.#output.isTTY === true;
    if (now - this.#last < (isTerminal ? 100 : 10_000)) return;
    this.#last = now;
    const share = all > 0 ? ` ${done}/${all}` : '';
    const found = findings === 0 ? '' : `, ${counted(findings, 'finding')}`;
    const seconds = Math.floor((now - this.#started) / 1000);
    const line = `${visible(phase)}${share} · ${counted(requests, 'request')}${found} · ${seconds} s`;
    this.#isShown = isTerminal;
    const short = line.slice(0, (this.#output.columns ?? 80) - 1);
    this.#output.write(isTerminal ? `\r\u001b[K${short}` : `${line}\n`);
  }

  /** Removes the line before other output. */
  clear(): void {
    if (this.#isShown) this.#output.write('\r\u001b[K');
    this.#isShown = false;
  }
}
