import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** The result of one drift, a row of the table. */
export interface DriftRow {
  readonly suite: string;
  /** The category, such as `responses`. */
  readonly part: string;
  readonly operation: string;
  readonly kind: string;
  readonly what: string;
  /** The checks that found it; empty if it was missed. */
  readonly checks: readonly string[];
}

/** Findings on the correct server. */
export interface Correct {
  readonly seeds: number;
  readonly findings: number;
}

const file = fileURLToPath(new URL('../DRIFTS.md', import.meta.url));

/** Writes the table of a suite to DRIFTS.md, between its marks. */
export async function writeDriftTable(suite: string, rows: readonly DriftRow[], correct: Correct): Promise<void> {
  const [start, end] = [`<!-- drifts: ${suite} -->`, `<!-- /drifts: ${suite} -->`];
  const text = await readFile(file, 'utf8');
  if (!text.includes(start) || !text.includes(end)) throw new Error(`DRIFTS.md has no marks for the suite ${suite}.`);
  const before = text.slice(0, text.indexOf(start) + start.length);
  await writeFile(file, `${before}\n\n${driftTable(suite, rows, correct)}\n\n${text.slice(text.indexOf(end))}`);
}

/** Markdown: the number of found drifts of each category, and a row for each drift. */
export function driftTable(suite: string, rows: readonly DriftRow[], { seeds, findings }: Correct): string {
  const caught = rows.filter(({ checks }) => checks.length > 0).length;
  const operations = new Set(rows.map(({ operation }) => operation)).size;
  const lines = [
    `**${suite}: ${caught} of ${rows.length} drifts on ${operations} operations are caught.** The correct server, over ${seeds} seeds: ${findings === 0 ? 'no finding' : `${findings} findings`}.`,
    '',
    '| part | drifts | caught |',
    '|---|--:|--:|',
  ];
  for (const [name, group] of Map.groupBy(rows, ({ part }) => part)) {
    lines.push(`| ${name} | ${group.length} | ${group.filter(({ checks }) => checks.length > 0).length} |`);
  }
  lines.push('', '<details>', '<summary>Every drift</summary>', '');
  lines.push('| operation | kind | what the server does | caught by |', '|---|---|---|---|');
  for (const { operation, kind, what, checks } of rows) {
    const by = checks.length === 0 ? '**missed**' : checks.map((check) => `\`${check}\``).join(', ');
    lines.push(`| \`${operation}\` | ${kind} | ${what.replaceAll('|', '\\|')} | ${by} |`);
  }
  return [...lines, '', '</details>'].join('\n');
}
