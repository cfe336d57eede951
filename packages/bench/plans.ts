/**
 * Reads the plans of every list, search and by-ID read on the demo data of a large firm, and fails where one reads a whole large
 * table, sorts more than a page, or visits many rows for the few that it returns.
 */

import { type PlanNode, plansOf } from '@financial-automation/server/test/explain';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { type FirmRead, readsOf } from './firm-reads.ts';
import { openMidFirm } from './mid-firm.ts';

const { values } = readOptions({
  options: {
    plans: { type: 'boolean' },
    database: { type: 'string' },
    profile: { type: 'string', default: 'mid' },
    all: { type: 'boolean', default: false },
  },
});

/** A table with more rows than this is large. */
const largeTable = 5_000;
/** The rows of the largest page, which are sorted quickly. */
const mostSorted = 1_000;
/** Rows that a page of 50 may visit: as many as a firm has contacts, and fewer than it has entries of work. */
const mostVisited = 25_000;

/**
 * Reads without an index, and why. What is overdue changes with the day, so no index can contain it; searches usually also filter by
 * what is due. A `systemRef` is the caller's own key, of which callers know the whole. `lockReason` has few values, each of which
 * most entries have; `isLocked` finds the others.
 */
const exempt = [/overdueBalance/, /daysPastDue/, /lockReason/, /"systemRef":\{"_ilike"/];

const firm = await openMidFirm(values.database, values.profile);
const sizes = new Map(
  (
    await firm.store.system((transaction) =>
      transaction.all(sql<{ name: string; rows: number }>`
        select relname as name, reltuples::float8 as rows from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`),
    )
  ).map(({ name, rows }) => [name, rows]),
);

/** Returns what is slow in a plan, and how many rows it visits. Values of other rows are only read for the rows of the page. */
function examine(node: PlanNode, isRowOfPage: boolean): { readonly slow: string[]; readonly visited: number } {
  const isPart = isRowOfPage || node['Parent Relationship'] === 'SubPlan';
  const below = (node.Plans ?? []).map((one) => examine(one, isPart));
  const slow = below.flatMap((one) => one.slow);
  const loops = node['Actual Loops'];
  const table = node['Relation Name'];
  const rows =
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)) *
    loops;
  if (node['Node Type'] === 'Seq Scan' && (sizes.get(table ?? '') ?? 0) > largeTable) slow.push(`Seq Scan ${table}`);
  if (/Sort/.test(node['Node Type']) && !isPart) {
    const sorted = (node.Plans ?? []).reduce((sum, one) => sum + one['Actual Rows'] * one['Actual Loops'], 0);
    if (sorted > mostSorted) slow.push(`sorts ${Math.round(sorted)} rows`);
  }
  const visited = (table === undefined ? 0 : rows) + below.reduce((sum, one) => sum + one.visited, 0);
  return { slow, visited: Math.round(visited) };
}

async function check(read: FirmRead) {
  const started = performance.now();
  const [plan] = await firm.store.read(firm.scope.tenantId, (session) => plansOf(session, read.run));
  if (plan === undefined) throw new Error(`${read.name} has no plan.`);
  const { slow, visited } = examine(plan, false);
  const problems = visited > mostVisited ? [...slow, `visits ${visited} rows`] : slow;
  return { read: read.name, milliseconds: Math.round(performance.now() - started), visited, problems };
}

try {
  const reads = await firm.store.read(firm.scope.tenantId, (session) => readsOf(session, firm.scope));
  const checked = [];
  for (const read of reads) checked.push(await check(read));
  const isExempt = (name: string) => exempt.some((pattern) => pattern.test(name));
  const slow = checked.filter(({ read, problems }) => problems.length > 0 && !isExempt(read));
  for (const { read, milliseconds, problems } of values.all ? checked : slow)
    console.log(
      `${read}: ${problems.join(', ') || 'by index'}${isExempt(read) ? ', exempt' : ''} (${milliseconds} ms)`,
    );
  console.log(`${checked.length} reads, ${slow.length} of them slow.`);
  if (slow.length > 0) process.exitCode = 1;
} finally {
  await firm.close();
}
