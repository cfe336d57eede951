/** Findings that a team has accepted: the file of `--baseline`, which it keeps beside its contract. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { CannotRun, required } from '../cannot-run.ts';
import type { Finding } from '../finding/finding.ts';
import { Mask, type Secret } from '../http/mask.ts';
import { isObject, parsedJson } from '../json.ts';
import type { Report } from '../run/report.ts';
import { fileOf } from './texts.ts';

interface Entry {
  readonly operation?: string;
  readonly title?: string;
  /** What the place is found by: the check, the operation and the part of it, without values of a run. */
  readonly cause: string;
  readonly reason: string;
}

/**
 * Reads the file, before a run.
 *
 * @throws CannotRun if it cannot be read, or an entry has no reason.
 */
export async function acceptedIn(file: string): Promise<readonly Entry[]> {
  const entries = await entriesOf(file);
  for (const [index, { title, cause, reason }] of entries.entries()) {
    if (reason.trim() !== '') continue;
    const what = (title ?? cause).replace(/\.$/, '');
    throw new CannotRun(
      `Entry ${index + 1} of ${fileOf(file)} has no reason: ${what}. Write why the finding is accepted, or remove the entry.`,
    );
  }
  return entries;
}

/** Moves the findings that are accepted at all of their places out of the findings of a report. */
export function withoutAccepted(report: Report, entries: readonly Entry[], secrets: readonly Secret[]): Report {
  const reasons = new Map(entries.map((entry) => [entry.cause, entry.reason]));
  const mask = new Mask(secrets);
  // The file has no secrets.
  const causesOf = ({ places }: Finding) => places.map(({ cause }) => mask.text(cause));
  const isAccepted = (finding: Finding) => causesOf(finding).every((cause) => reasons.has(cause));
  const accepted = report.findings.filter(isAccepted).map((finding) => {
    const { operation, check, title, cause } = finding;
    const all = new Set(causesOf(finding).map((one) => reasons.get(one)));
    return { operation, check, title, cause, reason: [...all].join(' ') };
  });
  const findings = report.findings.filter((finding) => !isAccepted(finding));
  const occurred = new Set(report.findings.flatMap(causesOf));
  const gone = entries.filter(({ cause }) => !occurred.has(cause)).length;
  const note = `${gone} of ${entries.length} accepted differences did not occur in this run. Use --update-baseline to remove those that are mended.`;
  return { ...report, findings, accepted, notices: gone > 0 ? [...report.notices, note] : report.notices };
}

/**
 * Writes all findings of a report to the file. Reasons in it are kept; new entries have an empty one, to fill in.
 *
 * @returns the number of entries without a reason
 */
export async function acceptAll({ findings }: Report, file: string, secrets: readonly Secret[]): Promise<number> {
  const before = existsSync(file) ? await entriesOf(file) : [];
  const reasons = new Map(before.map(({ cause, reason }) => [cause, reason]));
  const mask = new Mask(secrets);
  const entries = findings
    .flatMap(({ places }) => places)
    .map(({ operation, ...place }): Entry => {
      const cause = mask.text(place.cause);
      return { operation, title: mask.text(place.title), cause, reason: reasons.get(cause) ?? '' };
    });
  const unique = [...new Map(entries.map((entry) => [entry.cause, entry])).values()];
  const content = `${JSON.stringify(unique, null, 2)}\n`;
  await required(() => writeFile(file, content), `The baseline ${fileOf(file)} cannot be written: `);
  return unique.filter(({ reason }) => reason.trim() === '').length;
}

async function entriesOf(file: string): Promise<readonly Entry[]> {
  const content = await readFile(file, 'utf8').catch(() => {
    throw new CannotRun(`The baseline ${fileOf(file)} cannot be read. Create it with --update-baseline.`);
  });
  const entries = parsedJson(content)?.value;
  if (Array.isArray(entries) && entries.every(isEntry)) return entries;
  throw new CannotRun(
    `The baseline ${fileOf(file)} is invalid: it must be a JSON array of objects with "cause" and "reason", as --update-baseline writes it.`,
  );
}

function isEntry(value: unknown): value is Entry {
  if (!isObject(value) || typeof value.cause !== 'string' || typeof value.reason !== 'string') return false;
  return [value.operation, value.title].every((one) => one === undefined || typeof one === 'string');
}
