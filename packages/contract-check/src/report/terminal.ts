import { styleText } from 'node:util';
import type { Progress } from '../run/options.ts';
import {
  coverageKinds,
  isComplete,
  type OperationReport,
  partOf,
  percentText,
  type Report,
  shareText,
} from '../run/report.ts';
import { type Field, fieldsOf } from './fields.ts';
import { type MaskedFinding, type MaskedReport, masked, type Presentation } from './masked.ts';
import { type Section, sectionsOf, verdictOf } from './sections.ts';
import { counted, fileOf, visible } from './texts.ts';

export interface TerminalOptions extends Presentation {
  readonly color?: boolean;
}

type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/** Many findings usually share few causes, and a longer report is not read. */
const maxFindings = 50;
const maxFields = 24;
const maxCurlLength = 2_000;
const maxNames = 10;

/** The report: a summary, also in the last line, findings, and coverage. */
export function renderTerminal(report: Report, options: TerminalOptions = {}): string {
  const paint = paintOf(options);
  const shown = masked(report, options.secrets);
  const { title, url, spec, findings, coverage } = shown;
  const rest = findings.length - maxFindings;
  const parts = [
    [
      summary(shown, paint),
      paint('bold', visible(title === '' ? 'Contract check' : title)),
      paint('dim', `${visible(url)} against ${visible(fileOf(spec))}`),
    ],
    ...findings.slice(0, maxFindings).map((finding, index) => {
      const heading = paint(['red', 'bold'], visible(`✗ ${index + 1}  ${finding.title}`));
      return [heading, ...findingLines(finding, shown, paint)];
    }),
    rest > 0 ? [paint('dim', `… and ${counted(rest, 'more finding')}: --json FILE has all.`)] : [],
    [
      paint('bold', 'Coverage'),
      ...coverageKinds.map((kind) => {
        const share = coverage.byKind[kind];
        const part = partOf(share);
        const color = part === 1 ? 'green' : part >= 0.8 ? 'yellow' : 'red';
        return `  ${kind.padEnd(14)}${shareText(share).padStart(16)}${paint(color, percentText(part).padStart(8))}`;
      }),
    ],
    ...sectionsOf(shown).map((section) => list(section, paint)),
    [summary(shown, paint)],
  ];
  const texts = parts.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${texts.join('\n\n')}\n`;
}

function paintOf({ color = false }: TerminalOptions): Paint {
  return (style, text) => (color ? styleText(style, text, { validateStream: false }) : text);
}

function summary(report: MaskedReport, paint: Paint): string {
  const color = report.findings.length > 0 ? 'red' : isComplete(report) ? 'green' : 'yellow';
  return paint(['bold', color], visible(verdictOf(report)));
}

function findingLines(finding: MaskedFinding, { operations }: MaskedReport, paint: Paint): string[] {
  const { severity, category, check } = finding;
  const fields = fieldsOf(finding);
  const rest = fields.length - maxFields;
  return [
    visible(`     ${addressOf(finding, operations)}`),
    paint('dim', `     ${severity} · ${category} · ${visible(check)}`),
    ...fields.slice(0, maxFields).flatMap((field) => fieldLines(field, paint)),
    ...(rest > 0 ? [paint('dim', `     … and ${counted(rest, 'more line')}: --json FILE has all.`)] : []),
  ];
}

/** `listClients GET /clients`; without a method and a path outside the contract, or if they are the ID. */
function addressOf({ operation: id }: MaskedFinding, operations: readonly OperationReport[]): string {
  const operation = operations.find((one) => one.id === id);
  const address = operation === undefined ? id : `${operation.method} ${operation.path}`;
  return address === id ? id : `${id} ${address}`;
}

function fieldLines({ label, text, isCommand, lines = [] }: Field, paint: Paint): string[] {
  const start = paint('dim', `     ${label}`.padEnd(16));
  return [
    start + (isCommand ? paint('cyan', shortCurl(text)) : visible(text)),
    ...lines.map((line) => paint('dim', `${' '.repeat(16)}${visible(line)}`)),
  ];
}

function shortCurl(line: string): string {
  if (line.length <= maxCurlLength) return line;
  return `${line.slice(0, maxCurlLength)}… (${line.length.toLocaleString('en')} characters; --json FILE has all)`;
}

function list({ title, entries }: Section, paint: Paint): string[] {
  const lines = entries.flatMap(({ text, names = [] }) => {
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

/**
 * Shows progress: a line that is updated on a terminal, or a new line every ten seconds elsewhere.
 *
 * @param now milliseconds
 */
export function progressLine(output: Output, now = () => performance.now()) {
  const isTerminal = output.isTTY === true;
  const started = now();
  let last = isTerminal ? Number.NEGATIVE_INFINITY : started;
  let isShown = false;
  return {
    update({ phase, done, all, requests, findings }: Progress): void {
      if (now() - last < (isTerminal ? 100 : 10_000)) return;
      last = now();
      const share = all > 0 ? ` ${done}/${all}` : '';
      const found = findings === 0 ? '' : `, ${counted(findings, 'finding')}`;
      const seconds = Math.floor((last - started) / 1000);
      const line = `${visible(phase)}${share} · ${counted(requests, 'request')}${found} · ${seconds} s`;
      isShown = isTerminal;
      output.write(isTerminal ? `\r\u001b[K${line.slice(0, (output.columns ?? 80) - 1)}` : `${line}\n`);
    },
    /** Removes the line before other output. */
    clear(): void {
      if (isShown) output.write('\r\u001b[K');
      isShown = false;
    },
  };
}
