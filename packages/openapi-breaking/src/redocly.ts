/**
 * The comparison uses `redocly diff`, which comes with the linter. oasdiff, tested with the same eighty changes to the contract, missed more,
 * and reported a change of a shared schema at each of its hundreds of uses.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Bundle } from './document.ts';

/** One side of a change: its place in the bundle, and its value. */
interface Side {
  readonly pointer: string;
  readonly value: unknown;
}

/** A change as Redocly reports it. A component that many operations use is reported once, on the path of the first. */
export interface Change {
  /** The path from the root through every reference. */
  readonly path: string;
  readonly typeName: string;
  readonly kind: 'added' | 'removed' | 'modified';
  readonly impact: 'major' | 'minor' | 'patch';
  readonly verdicts: readonly { readonly ruleId: string; readonly impact: string; readonly message: string }[];
  readonly property?: string;
  readonly base?: Side;
  readonly revision?: Side;
}

const redocly = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'));

/** Returns every change between two bundles. */
export async function changesBetween(released: Bundle, present: Bundle): Promise<readonly Change[]> {
  // A separate folder without a configuration: there every rule of the comparison is enabled, and no rule of the linter.
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-breaking-'));
  try {
    await writeFile(join(folder, 'released.json'), JSON.stringify(released));
    await writeFile(join(folder, 'present.json'), JSON.stringify(present));
    const words = ['diff', 'released.json', 'present.json', '--format=json', '--output=report.json', '--fail-on=none'];
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    await promisify(execFile)(process.execPath, [redocly, ...words], { cwd: folder, env });
    const report: { reportVersion: string; changes: Change[] } = JSON.parse(
      await readFile(join(folder, 'report.json'), 'utf8'),
    );
    if (report.reportVersion !== '1')
      throw new Error(`The report has the unsupported version ${report.reportVersion}.`);
    return report.changes;
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? `${error.stderr}` : `${error}`;
    throw new Error(`Redocly could not compare the contracts:\n${output}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}
