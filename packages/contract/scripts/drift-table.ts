import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** What became of one drift, as a row of the table. */
export interface DriftRow {
  readonly suite: string;
  /** The part of the suite, such as `answers`. */
  readonly part: string;
  readonly operation: string;
  readonly kind: string;
  readonly what: string;
  /** The checks that found it; none, where it was missed. */
  readonly checks: readonly string[];
}

const readme = fileURLToPath(new URL('../README.md', import.meta.url));
const [start, end] = ['<!-- drifts -->', '<!-- /drifts -->'];

/** Puts the table into the package's README, between its marks; a README without them gets them at its end. */
export async function writeDriftTable(rows: readonly DriftRow[], seeds: number): Promise<void> {
  const text = await readFile(readme, 'utf8').catch(() => '# Contract check\n');
  const marked = text.includes(start) ? text : `${text.trimEnd()}\n\n## Drifts\n\n${start}\n${end}\n`;
  const before = marked.slice(0, marked.indexOf(start) + start.length);
  const after = marked.slice(marked.indexOf(end));
  await writeFile(readme, `${before}\n${driftTable(rows, seeds)}\n${after}`);
}

/** As Markdown: how many of each part were caught, and under it each drift. */
export function driftTable(rows: readonly DriftRow[], seeds: number): string {
  const caught = rows.filter(({ checks }) => checks.length > 0).length;
  const operations = new Set(rows.map(({ suite, operation }) => `${suite} ${operation}`)).size;
  const lines = [
    `${caught} of ${rows.length} drifts on ${operations} operations are caught. Of the correct servers, ${seeds} seeds say nothing.`,
    '',
    '| server | part | drifts | caught |',
    '|---|---|--:|--:|',
  ];
  const groups = Map.groupBy(rows, ({ suite, part }) => `${suite} | ${part}`);
  for (const [name, group] of groups) {
    lines.push(`| ${name} | ${group.length} | ${group.filter(({ checks }) => checks.length > 0).length} |`);
  }
  lines.push('', '<details>', '<summary>Every drift</summary>', '');
  lines.push('| server | operation | kind | what the server does | caught by |', '|---|---|---|---|---|');
  for (const { suite, operation, kind, what, checks } of rows) {
    const by = checks.length === 0 ? '**missed**' : checks.map((check) => `\`${check}\``).join(', ');
    lines.push(`| ${suite} | \`${operation}\` | ${kind} | ${what.replaceAll('|', '\\|')} | ${by} |`);
  }
  return [...lines, '', '</details>'].join('\n');
}
