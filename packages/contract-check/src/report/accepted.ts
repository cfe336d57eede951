/** Findings that a team has accepted: the file of `--baseline`, which it keeps beside its contract. */
import { readFile, writeFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { CannotRun } from '../cannot-run.ts';
import type { Finding, FindingPlace } from '../finding/finding.ts';
import { parsedJson } from '../json.ts';
import { maskText, type Secret } from './mask.ts';
import type { AcceptedFinding, Report } from './report.ts';
import { fileOf } from './texts.ts';

/** One place of a finding, and why it is accepted. */
interface Entry {
  readonly operation: string;
  readonly title: string;
  /** What the place is found by: the check, the operation and the part of it, without values of a run. */
  readonly cause: string;
  readonly reason: string;
}

const text = { type: 'string' };
const properties = { operation: text, title: text, cause: text, reason: text };
const isEntries = new Ajv().compile<readonly Entry[]>({
  type: 'array',
  items: { type: 'object', required: ['cause', 'reason'], properties, additionalProperties: false },
});

/**
 * Reads the file, before a run.
 *
 * @throws CannotRun if it cannot be read, or an entry has no reason.
 */
export async function acceptedIn(file: string): Promise<readonly Entry[]> {
  const entries = await entriesOf(file);
  const missing = entries.findIndex(({ reason }) => reason.trim() === '');
  const { title = '', cause = '' } = entries[missing] ?? {};
  if (missing >= 0)
    throw new CannotRun(
      `Entry ${missing + 1} of ${fileOf(file)} has no reason: ${(title || cause).replace(/\.$/, '')}. Write why the finding is accepted, or remove the entry.`,
    );
  return entries;
}

/** Moves the findings that are accepted at all of their places out of the findings of a report. */
export function withoutAccepted(report: Report, entries: readonly Entry[]): Report {
  const reasons = new Map(entries.map((entry) => [entry.cause, entry.reason]));
  const accepted: AcceptedFinding[] = [];
  const findings: Finding[] = [];
  for (const finding of report.findings) {
    const found = placesOf(finding).map(({ cause }) => reasons.get(cause));
    if (found.includes(undefined)) findings.push(finding);
    else {
      const { operation, check, title, cause } = finding;
      accepted.push({ operation, check, title, cause, reason: [...new Set(found)].join(' ') });
    }
  }
  const occurred = new Set(report.findings.flatMap(placesOf).map(({ cause }) => cause));
  const gone = entries.filter(({ cause }) => !occurred.has(cause)).length;
  const note = `${gone} of ${entries.length} accepted differences did not occur in this run. Use --update-baseline to remove those that are mended.`;
  return { ...report, findings, accepted, notices: gone > 0 ? [...report.notices, note] : report.notices };
}

/**
 * Writes all findings of a report to the file. Reasons in it are kept; new entries have an empty one, to fill in.
 *
 * @returns the number of entries without a reason
 */
export async function acceptAll(report: Report, file: string, secrets: readonly Secret[]): Promise<number> {
  const before = await entriesOf(file, []);
  const reasons = new Map(before.map(({ cause, reason }) => [cause, reason]));
  const entries = report.findings.flatMap(placesOf).map(({ operation, title, cause }): Entry => {
    return {
      operation,
      title: maskText(title, secrets),
      cause: maskText(cause, secrets),
      reason: reasons.get(cause) ?? '',
    };
  });
  const unique = [...new Map(entries.map((entry) => [entry.cause, entry])).values()];
  await writeFile(file, `${JSON.stringify(unique, null, 2)}\n`).catch((error: unknown) => {
    throw new CannotRun(`The baseline ${fileOf(file)} cannot be written: ${String(error)}`);
  });
  return unique.filter(({ reason }) => reason.trim() === '').length;
}

function placesOf(finding: Finding): readonly Pick<FindingPlace, 'operation' | 'title' | 'cause'>[] {
  return finding.places.length === 0 ? [finding] : finding.places;
}

/** @param otherwise the entries of a file that does not exist */
async function entriesOf(file: string, otherwise?: readonly Entry[]): Promise<readonly Entry[]> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    if (otherwise !== undefined && error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return otherwise;
    throw new CannotRun(`The baseline ${fileOf(file)} cannot be read. Create it with --update-baseline.`);
  }
  const entries = parsedJson(content)?.value;
  if (isEntries(entries)) return entries;
  throw new CannotRun(
    `The baseline ${fileOf(file)} is invalid: it must be a JSON array of objects with "cause" and "reason", as --update-baseline writes it.`,
  );
}
