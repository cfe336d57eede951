/** A report for a terminal. */
import { styleText } from 'node:util';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { categories } from '../finding/finding.ts';
import type { Progress } from '../options.ts';
import { coverageRows, percentText, shareText } from './coverage-table.ts';
import { excerptOf } from './excerpt.ts';
import { type TableRow, tableRows } from './operation-table.ts';
import { leftLines, stoppedText } from './plan.ts';
import {
  counted,
  fileOf,
  type Presentation,
  type PresentedExchange,
  type PresentedFinding,
  type PresentedReport,
  present,
  relevantHeaders,
} from './presented.ts';
import type { Report, Tally } from './report.ts';
import { visible } from './visible.ts';

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
const maxExchanges = 5;
const longestCurl = 2_000;
const narrowestLabel = 30;
const gap = '  ';
/** The words of each category in separate lines, to leave space for the operations. */
const headings = categories.map((category) => category.split(' '));
const headLines = Math.max(...headings.map((words) => words.length));
const fullColumns = headings.map((words) => gap.length + Math.max(...words.map((word) => word.length)));
const columnsWidth = fullColumns.reduce((sum, width) => sum + width);

/** The report: a summary, also in the last line, table of operations, findings, and coverage. */
export function renderTerminal(report: Report, options: TerminalOptions = {}): string {
  const page = pageOf(options);
  const shown = present(report, options);
  const parts = [
    ...[[...summary(shown, page), ...heading(shown, page)], table(shown, page), ...findings(shown, page)],
    ...[coverage(shown, page), missed(shown, page)],
    ...[section('Left on the server', leftLines(shown.left), page), section('Notes', shown.notices, page)],
    ...[shown.stopped === undefined ? [] : wrapped(stoppedText(shown.stopped), page.width, ''), summary(shown, page)],
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

const colors = { bad: 'red', good: 'green', fair: 'yellow' } as const;

function summary({ verdict, state }: PresentedReport, { paint, width }: Page): string[] {
  return wrapped(verdict, width, '').map((line) => paint(['bold', colors[state]], line));
}

function heading({ title, url, spec }: PresentedReport, { paint, directory }: Page): string[] {
  return [
    paint('bold', visible(title === '' ? 'Contract check' : title)),
    paint('dim', `${visible(url)} against ${visible(fileOf(spec, directory))}`),
  ];
}

function table(report: PresentedReport, page: Page): string[] {
  const rows = tableRows(report);
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
  const cells = categories.map((category, index) => cell(row.checks[category], columns[index] ?? 0, page)).join('');
  const label = cut(labelOf(row), width ?? page.width);
  const painted = paintLabel(label, row, page);
  return width === undefined ? [painted, cells] : [painted + ' '.repeat(width - stringWidth(label)) + cells];
}

function labelOf({ state, label, detail }: TableRow): string {
  return `${marks[state]} ${visible(label)}${detail === '' ? '' : `${gap}${visible(detail)}`}`;
}

const marks = { found: '✗', clean: '✓', unreached: '–' } as const;

function paintLabel(text: string, { state, label }: TableRow, { paint }: Page): string {
  const name = text.slice(0, 2 + visible(label).length);
  const style: Style = state === 'found' ? ['red', 'bold'] : state === 'unreached' ? 'yellow' : 'reset';
  return paint(style, name) + paint('dim', text.slice(name.length));
}

function cell({ observations, findings }: Tally, width: number, { paint }: Page): string {
  if (findings > 0) return paint(['red', 'bold'], `✗ ${findings}`.padStart(width));
  if (observations > 0) return paint('green', `✓ ${observations}`.padStart(width));
  return paint('dim', '–'.padStart(width));
}

function findings(report: PresentedReport, page: Page): string[][] {
  const shown = report.findings.slice(0, maxFindings);
  const rest = report.findings.length - shown.length;
  const more = page.paint('dim', `… and ${counted(rest, 'more finding')}: --html FILE shows all.`);
  return [...shown.map((finding) => findingLines(finding, page)), rest === 0 ? [] : [more]];
}

const maxPlaces = 12;

function findingLines(finding: PresentedFinding, page: Page): string[] {
  const { paint, width } = page;
  const { number, title, operation, address = '', severity, category, check, contract, details } = finding;
  const shown = details.slice(0, maxPlaces);
  const rest = details.length - shown.length;
  return [
    ...wrapped(`✗ ${number}  ${visible(title)}`, width, '     ').map((line) => paint(['red', 'bold'], line)),
    ...wrapped(`     ${visible(`${operation} ${address}`.trim())}`, width, '     '),
    paint('dim', `     ${severity} · ${category} · ${visible(check)}`),
    // Many titles say what is expected.
    ...(title.startsWith(finding.expected) ? [] : field('expected', finding.expected, page)),
    ...field('actual', finding.actual, page),
    ...(contract === undefined ? [] : field('contract', contract, page)),
    ...exchangeLines(finding, page),
    ...shown.flatMap(([label, text], index) => field(label === shown[index - 1]?.[0] ? '' : label, text, page)),
    ...(rest === 0 ? [] : field('', `… and ${counted(rest, 'more place')}: --json FILE has all.`, page)),
  ];
}

const fieldIndent = ' '.repeat(16);

function field(name: string, text: string, { width, paint }: Page): string[] {
  const [first = '', ...rest] = wrapped(`${fieldIndent}${visible(text)}`, width, fieldIndent);
  return [fieldLabel(name, paint) + first.slice(fieldIndent.length), ...rest];
}

function fieldLabel(name: string, paint: Page['paint']): string {
  return paint('dim', `     ${name}`.padEnd(fieldIndent.length));
}

/** Does not wrap text to copy: terminals copy a soft-wrapped line as one. */
function copied(name: string, text: string, { paint }: Page): string {
  return fieldLabel(name, paint) + paint('cyan', text);
}

function exchangeLines(finding: PresentedFinding, page: Page): string[] {
  const { exchanges } = finding;
  const shown = exchanges.slice(-maxExchanges);
  const left = exchanges.length - shown.length;
  return [
    ...(left === 0 ? [] : field('', `… ${counted(left, 'earlier request')}: --html FILE shows all.`, page)),
    ...shown.flatMap((exchange, index) => [
      copied(exchanges.length === 1 ? 'request' : `request ${left + index + 1}`, shortCurl(exchange.curl), page),
      ...responseLines(finding, exchange, index === shown.length - 1, page),
    ]),
  ];
}

function shortCurl(line: string): string {
  if (line.length <= longestCurl) return line;
  return `${line.slice(0, longestCurl)}… (${line.length.toLocaleString('en')} characters; --html or --json FILE has all)`;
}

function responseLines(finding: PresentedFinding, exchange: PresentedExchange, isLast: boolean, page: Page): string[] {
  const first = field('response', exchange.summary, page);
  if (!isLast) return first;
  const headers = relevantHeaders(finding, exchange).map(([name, value]) => `${name}: ${value}`);
  const body = excerptOf(finding, exchange.response);
  return [
    ...first,
    ...headers.map((line) => fieldIndent + cut(visible(line), page.width - fieldIndent.length)),
    ...body.map(({ text, marked }) => {
      const line = cut(visible(text), page.width - fieldIndent.length - 2);
      return fieldIndent + (marked ? page.paint('yellow', `${line} ◀`) : page.paint('dim', line));
    }),
  ];
}

const barWidth = 20;

function coverage(report: PresentedReport, { paint }: Page): string[] {
  const rows = coverageRows(report.coverage);
  const names = Math.max(...rows.map(({ name }) => name.length));
  const counts = rows.map(({ share }) => shareText(share));
  const countWidth = Math.max(...counts.map((text) => text.length));
  return [
    paint('bold', 'Coverage'),
    ...rows.map(({ name, part }, index) => {
      const full = '█'.repeat(Math.floor(part * barWidth));
      const empty = '░'.repeat(barWidth - full.length);
      const style = part === 1 ? 'green' : part >= 0.8 ? 'yellow' : 'red';
      const numbers = `${counts[index]?.padStart(countWidth)}${percentText(part).padStart(7)}`;
      return `  ${name.padEnd(names)}  ${paint(style, full)}${paint('dim', empty)}  ${numbers}`;
    }),
  ];
}

/** Maximum number of names to list. */
const maxNames = 10;

function missed({ gaps }: PresentedReport, page: Page): string[] {
  const lines = gaps.flatMap(({ count, reason, items }) => {
    const names = items.slice(0, maxNames).map(({ name }) => visible(name));
    const more = items.length > maxNames ? [`… ${items.length - maxNames} more`] : [];
    const list = wrapped(`    ${[...names, ...more].join(', ')}`, page.width, '    ');
    return [...bullet(`${count}: ${visible(reason)}`, page), ...list.map((line) => page.paint('dim', line))];
  });
  return lines.length === 0 ? [] : [page.paint('bold', 'Not covered'), ...lines];
}

function section(title: string, texts: readonly string[], page: Page): string[] {
  if (texts.length === 0) return [];
  return [page.paint('bold', title), ...texts.flatMap((text) => bullet(visible(text), page))];
}

function bullet(text: string, { width }: Page): string[] {
  return wrapped(`  ${text}`, width, '  ');
}

/** Wraps text. All lines but the first start with the indent. */
function wrapped(text: string, width: number, indent: string): string[] {
  const [indentation = ''] = /^ */.exec(text) ?? [];
  const room = Math.max(20, width - indent.length);
  const lines = wrapAnsi(text.slice(indentation.length), room, { hard: false }).split('\n');
  return lines.map((line, index) => (index === 0 ? indentation : indent) + line);
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

  update(progress: Progress): void {
    const now = this.#now();
    const isTerminal = this.#output.isTTY === true;
    if (now - this.#last < (isTerminal ? secondsBetweenUpdates : secondsBetweenLines) * 1000) return;
    this.#last = now;
    const line = progressText(progress, now - this.#started);
    this.#isShown = isTerminal;
    this.#output.write(isTerminal ? `\r\u001b[K${cut(line, (this.#output.columns ?? 80) - 1)}` : `${line}\n`);
  }

  /** Removes the line before other output. */
  clear(): void {
    if (this.#isShown) this.#output.write('\r\u001b[K');
    this.#isShown = false;
  }
}

function progressText({ phase, done, all, requests, findings }: Progress, milliseconds: number): string {
  const share = all > 0 ? ` ${done}/${all}` : '';
  const found = findings === 0 ? '' : `, ${counted(findings, 'finding')}`;
  return `${visible(phase)}${share} · ${counted(requests, 'request')}${found} · ${Math.floor(milliseconds / 1000)} s`;
}
