/** A report for a terminal. */
import { styleText } from 'node:util';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { categories } from '../finding/finding.ts';
import type { Progress } from '../options.ts';
import { coverageRows, percentText, shareText } from './coverage-table.ts';
import { cellOf, marks, type TableRow, tableRows } from './operation-table.ts';
import {
  type Field,
  fileOf,
  type Presentation,
  type PresentedFinding,
  type PresentedReport,
  present,
  type Section,
} from './presented.ts';
import type { Report } from './report.ts';
import { counted, visible } from './words.ts';

export interface TerminalOptions extends Presentation {
  readonly color?: boolean;
  /** Columns. Default: 100. */
  readonly width?: number;
}

type Style = Parameters<typeof styleText>[0];

interface Page {
  readonly width: number;
  readonly directory: string | undefined;
  paint(style: Style, text: string): string;
}

/** Many findings usually share few causes, and a longer report is not read. */
const maxFindings = 50;
/** Maximum number of fields of one finding. */
const maxFields = 24;
const longestCurl = 2_000;
/** Up to this number, each operation has its own row. */
const maxSingleRows = 24;
const narrowestLabel = 30;
/** Maximum number of names to list. */
const maxNames = 10;
const barWidth = 20;
const gap = '  ';
/** The words of each category in separate lines, to leave space for the operations. */
const headings = categories.map((category) => category.split(' '));
const headLines = Math.max(...headings.map((words) => words.length));
const fullColumns = headings.map((words) => gap.length + Math.max(...words.map((word) => word.length)));
const columnsWidth = fullColumns.reduce((sum, width) => sum + width);
const colors = { bad: 'red', fair: 'yellow', good: 'green' } as const;
const rowStyles: Readonly<Record<TableRow['state'], Style>> = {
  ...{ found: ['red', 'bold'], clean: 'reset', unreached: 'yellow' },
};
const cellStyles: typeof rowStyles = { found: ['red', 'bold'], clean: 'green', unreached: 'dim' };

/** The report: a summary, also in the last line, table of operations, findings, and coverage. */
export function renderTerminal(report: Report, options: TerminalOptions = {}): string {
  const page = pageOf(options);
  const shown = present(report, options);
  const { title, url, spec } = shown;
  const rest = shown.findings.length - maxFindings;
  const parts = [
    [
      ...summary(shown, page),
      page.paint('bold', visible(title === '' ? 'Contract check' : title)),
      page.paint('dim', `${visible(url)} against ${visible(fileOf(spec, page.directory))}`),
    ],
    table(shown, page),
    ...shown.findings.slice(0, maxFindings).map((finding) => findingLines(finding, page)),
    rest > 0 ? [page.paint('dim', `… and ${counted(rest, 'more finding')}: --html FILE shows all.`)] : [],
    coverage(shown, page),
    ...shown.sections.map((section) => list(section, page)),
    summary(shown, page),
  ];
  const texts = parts.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${texts.join('\n\n')}\n`;
}

/** Only the summary, in one line. */
export function renderVerdict(report: Report, options: TerminalOptions = {}): string {
  return `${summary(present(report, options), { ...pageOf(options), width: Number.POSITIVE_INFINITY })}\n`;
}

function pageOf({ color = false, width = 100, directory }: TerminalOptions): Page {
  const paint: Page['paint'] = (style, text) => (color ? styleText(style, text, { validateStream: false }) : text);
  return { width: Math.max(40, width), directory, paint };
}

function summary({ verdict, state }: PresentedReport, { paint, width }: Page): string[] {
  return wrapped(verdict, width).map((line) => paint(['bold', colors[state]], line));
}

function table(report: PresentedReport, page: Page): string[] {
  const rows = tableRows(report, maxSingleRows);
  if (rows.length === 0) return [];
  const room = page.width - columnsWidth;
  const widest = Math.max(...rows.map((row) => stringWidth(labelOf(row))));
  // If the table is too narrow, the numbers go below the label.
  const label = room < narrowestLabel ? undefined : Math.min(widest, room);
  const columns = room < 0 ? categories.map(() => Math.floor(page.width / categories.length)) : fullColumns;
  const head = Array.from({ length: headLines }, (_, line) => {
    const cells = headings.map((words, index) => {
      const width = (columns[index] ?? 0) - gap.length;
      return gap + cut(words[line - headLines + words.length] ?? '', width).padStart(width);
    });
    return page.paint('dim', `${' '.repeat(label ?? 0)}${cells.join('')}`.trimEnd());
  });
  return [...head, ...rows.flatMap((row) => tableRow(row, label, columns, page))];
}

function tableRow(row: TableRow, width: number | undefined, columns: readonly number[], page: Page): string[] {
  const cells = categories.map((category, index) => {
    const { state, text } = cellOf(row.checks[category]);
    return page.paint(cellStyles[state], text.padStart(columns[index] ?? 0));
  });
  const label = cut(labelOf(row), width ?? page.width);
  const name = label.slice(0, 2 + visible(row.label).length);
  const painted = page.paint(rowStyles[row.state], name) + page.paint('dim', label.slice(name.length));
  if (width === undefined) return [painted, cells.join('')];
  return [painted + ' '.repeat(width - stringWidth(label)) + cells.join('')];
}

function labelOf({ state, label, detail }: TableRow): string {
  return `${marks[state]} ${visible(label)}${detail === '' ? '' : `${gap}${visible(detail)}`}`;
}

function findingLines(finding: PresentedFinding, page: Page): string[] {
  const { number, title, operation, address = '', severity, category, check, fields } = finding;
  const rest = fields.length - maxFields;
  return [
    ...wrapped(`✗ ${number}  ${title}`, page.width, 5).map((line) => page.paint(['red', 'bold'], line)),
    ...wrapped(`     ${`${operation} ${address}`.trim()}`, page.width, 5),
    page.paint('dim', `     ${severity} · ${category} · ${visible(check)}`),
    ...fields.slice(0, maxFields).flatMap((one, index) => {
      const isRepeated = one.label === fields[index - 1]?.label;
      return fieldLines(isRepeated ? { ...one, label: '' } : one, page);
    }),
    ...(rest > 0
      ? fieldLines({ label: '', text: `… and ${counted(rest, 'more line')}: --html FILE has all.` }, page)
      : []),
  ];
}

const fieldIndent = 16;

function fieldLines({ label, text, isCommand, lines = [] }: Field, { width, paint }: Page): string[] {
  const start = paint('dim', `     ${label}`.padEnd(fieldIndent));
  // Commands are not wrapped: terminals copy a soft-wrapped line as one.
  if (isCommand) return [start + paint('cyan', shortCurl(text))];
  const indent = ' '.repeat(fieldIndent);
  const [first = '', ...rest] = wrapped(indent + text, width, fieldIndent);
  const below = lines.map((line) => {
    const shown = cut(visible(line.text), width - fieldIndent - 2);
    return indent + (line.marked ? paint('yellow', `${shown} ◀`) : paint('dim', shown));
  });
  return [start + first.slice(fieldIndent), ...rest, ...below];
}

function shortCurl(line: string): string {
  if (line.length <= longestCurl) return line;
  return `${line.slice(0, longestCurl)}… (${line.length.toLocaleString('en')} characters; --html or --json FILE has all)`;
}

function coverage(report: PresentedReport, { paint }: Page): string[] {
  const rows = coverageRows(report.coverage);
  const widest = (texts: readonly string[]) => Math.max(...texts.map((text) => text.length));
  const names = widest(rows.map(({ name }) => name));
  const counts = widest(rows.map(({ share }) => shareText(share)));
  const lines = rows.map(({ name, part, share, state }) => {
    const full = '█'.repeat(Math.floor(part * barWidth));
    const bar = paint(colors[state], full) + paint('dim', '░'.repeat(barWidth - full.length));
    return `  ${name.padEnd(names)}  ${bar}  ${shareText(share).padStart(counts)}${percentText(part).padStart(7)}`;
  });
  return [paint('bold', 'Coverage'), ...lines];
}

function list({ title, entries }: Section, { width, paint }: Page): string[] {
  const lines = entries.flatMap(({ text, items }) => {
    const names = items.slice(0, maxNames).map(({ name }) => name);
    const more = items.length > maxNames ? [`… ${items.length - maxNames} more`] : [];
    const below = items.length === 0 ? [] : wrapped(`    ${[...names, ...more].join(', ')}`, width, 4);
    return [...wrapped(`  ${text}`, width, 2), ...below.map((line) => paint('dim', line))];
  });
  return [paint('bold', title), ...lines];
}

/** Wraps text. All lines but the first are indented. */
function wrapped(text: string, width: number, indent = 0): string[] {
  const [indentation = ''] = /^ */.exec(text) ?? [];
  const room = Math.max(20, width - indent);
  const lines = wrapAnsi(visible(text.slice(indentation.length)), room, { hard: false }).split('\n');
  return lines.map((line, index) => (index === 0 ? indentation : ' '.repeat(indent)) + line);
}

function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let end = width - 1;
  while (end > 0 && stringWidth(text.slice(0, end)) > width - 1) end -= 1;
  return `${text.slice(0, end)}…`;
}

interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const secondsBetweenLines = 10;
const secondsBetweenUpdates = 0.1;

/** Shows progress: a line that is updated on a terminal, or a new line from time to time elsewhere. */
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
    if (now - this.#last < (isTerminal ? secondsBetweenUpdates : secondsBetweenLines) * 1000) return;
    this.#last = now;
    const share = all > 0 ? ` ${done}/${all}` : '';
    const found = findings === 0 ? '' : `, ${counted(findings, 'finding')}`;
    const seconds = Math.floor((now - this.#started) / 1000);
    const line = `${visible(phase)}${share} · ${counted(requests, 'request')}${found} · ${seconds} s`;
    this.#isShown = isTerminal;
    this.#output.write(isTerminal ? `\r\u001b[K${cut(line, (this.#output.columns ?? 80) - 1)}` : `${line}\n`);
  }

  /** Removes the line before other output. */
  clear(): void {
    if (this.#isShown) this.#output.write('\r\u001b[K');
    this.#isShown = false;
  }
}
