import { standardWaitMs } from '../../admission/admission.ts';
import { Shares } from '../../admission/shares.ts';
import type { Lookup } from '../../entity/loaded-rows.ts';
import { sourceFile } from '../../platform/source-file.ts';
import { OverBudget, WorkerPool } from '../../platform/worker-pool.ts';
import { budgetRejection } from '../../wire/large-body.ts';

/** Texts to match with a pattern. */
export interface PatternTask {
  readonly pattern: string;
  readonly texts: readonly string[];
}

/**
 * What is wrong with each text, and the number of characters up to which texts are matched; or why the pattern is not
 * supported.
 */
export type PatternReport =
  | { readonly maxTextLength: number; readonly faults: readonly (string | null)[] }
  | { readonly fault: string };

/** By pattern; a field without one has none. */
export type PatternReports = ReadonlyMap<string | null, PatternReport>;

/** A text of a field with a pattern. */
export interface PatternTest {
  readonly pattern: string;
  readonly text: string;
}

const maxThreads = 2;

/**
 * What tenants define must not block the thread that serves all requests: a pattern of a thousand characters can take a fifth
 * of a second to compile, and a megabyte of text ten seconds to match. Usual ones take a millisecond in all.
 */
const pool = new WorkerPool<readonly PatternTask[], readonly PatternReport[]>(
  sourceFile('modules/records/pattern-worker.ts'),
  { workers: maxThreads, cpu: 250, elapsed: 15_000 },
);

/** Next to others, a tenant has one thread. */
const turns = new Shares(
  { units: maxThreads, heavy: 1, allHeavy: maxThreads, waitMs: standardWaitMs, maxWaiting: 100 },
  { started() {}, rejected() {} },
);

/**
 * Compiles patterns, and matches texts with them, in a thread of its own.
 *
 * @returns a report for each task.
 * @throws Rejection `PAYLOAD_TOO_LARGE` if it takes too much processor time; `CONCURRENCY_LIMITED` or `SERVICE_UNAVAILABLE` if the
 * turn of the tenant does not come.
 */
async function runPatterns(tenantId: number, tasks: readonly PatternTask[]): Promise<readonly PatternReport[]> {
  if (tasks.length === 0) return [];
  const slot = await turns.enter(String(tenantId), '', 'heavy');
  try {
    return await pool.run(tasks);
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error;
    throw budgetRejection(error.limit, 'The patterns take');
  } finally {
    slot.end();
  }
}

/** Reports whether the patterns of fields are supported. @throws Rejection like `runPatterns` */
export async function reportPatterns(
  tenantId: number,
  fields: readonly { readonly pattern: string | null }[],
): Promise<PatternReports> {
  const patterns = [...new Set(fields.flatMap(({ pattern }) => pattern ?? []))];
  const reports = await runPatterns(
    tenantId,
    patterns.map((pattern) => ({ pattern, texts: [] })),
  );
  return new Map(reports.map((report, index) => [patterns[index] ?? '', report]));
}

/** Returns what is wrong with each text that does not match its pattern, by `keyOf` the test. @throws Rejection like `runPatterns` */
export async function findMismatches(
  tenantId: number,
  tests: readonly PatternTest[],
): Promise<ReadonlyMap<string, string>> {
  const tasks = [...Map.groupBy(tests, ({ pattern }) => pattern)].map(([pattern, group]) => ({
    pattern,
    texts: group.map(({ text }) => text),
  }));
  const reports = await runPatterns(tenantId, tasks);
  const found = new Map<string, string>();
  for (const [index, { pattern, texts }] of tasks.entries()) {
    const report = reports[index];
    if (report === undefined || 'fault' in report) throw new Error(`The invalid pattern ${pattern} was not rejected.`);
    for (const [position, detail] of report.faults.entries())
      if (detail !== null) found.set(keyOf({ pattern, text: texts[position] ?? '' }), detail);
  }
  return found;
}

export function keyOf({ pattern, text }: PatternTest): string {
  return JSON.stringify([pattern, text]);
}

/** What is wrong with a text that does not match its pattern, by the key of the test. */
export const mismatches: Lookup<string> = {
  name: 'texts that do not match their patterns',
  load: (_transaction, tenantId, keys) =>
    findMismatches(
      tenantId,
      keys.map((key) => {
        const [pattern, text] = JSON.parse(key);
        return { pattern, text };
      }),
    ),
};
