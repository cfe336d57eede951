/** The rows of the table of operations and checks. */
import { type Category, categories } from '../finding/finding.ts';
import type { OperationReport, Report, Tally } from './report.ts';

export interface TableRow {
  readonly label: string;
  /** Shown after the label, less prominently. */
  readonly detail: string;
  readonly state: 'found' | 'clean' | 'unreached';
  readonly reason?: string | undefined;
  readonly checks: Readonly<Record<Category, Tally>>;
}

/** Signs before the labels and the numbers of rows. */
export const marks = { found: '✗', clean: '✓', unreached: '–' } as const;

/** How a cell looks, and what it says. */
export function cellOf({ observations, findings }: Tally): { state: TableRow['state']; text: string } {
  const state = findings > 0 ? 'found' : observations > 0 ? 'clean' : 'unreached';
  return { state, text: `${marks[state]} ${findings || observations || ''}`.trim() };
}

/**
 * Operations with findings have a row each, at the top. Others also do if there are few; otherwise, operations of the
 * same resource share a row.
 */
export function tableRows({ operations }: Report, maxSingleRows = Number.POSITIVE_INFINITY): TableRow[] {
  const { found = [], clean = [], unreached = [] } = Object.groupBy(operations, stateOf);
  if (operations.length <= maxSingleRows)
    return [...found, ...operations.filter((one) => !found.includes(one))].map(singleRow);
  // The segments that all paths share, such as a version.
  const paths = operations.map(({ path }) => path.split('/').slice(1));
  const [first = []] = paths;
  const shared = first.findIndex((segment, index) => paths.some((path) => path[index] !== segment));
  const groups = Map.groupBy(clean, ({ path }) => `/${path.split('/')[Math.max(0, shared) + 1] ?? ''}`);
  return [
    ...found.map(singleRow),
    ...[...groups].map(([resource, all]) => groupRow(resource, all, 'clean')),
    ...(unreached.length === 0 ? [] : [groupRow('not reached', unreached, 'unreached')]),
  ];
}

function stateOf(operation: OperationReport): TableRow['state'] {
  if (categories.some((category) => operation.checks[category].findings > 0)) return 'found';
  return operation.reached ? 'clean' : 'unreached';
}

function singleRow(operation: OperationReport): TableRow {
  const { id, method, path, checks, reason } = operation;
  const address = `${method} ${path}`;
  return { label: id, detail: id === address ? '' : address, state: stateOf(operation), reason, checks };
}

function groupRow(label: string, operations: readonly OperationReport[], state: TableRow['state']): TableRow {
  const [only] = operations;
  if (operations.length === 1 && only !== undefined) return singleRow(only);
  const sums = categories.map((category) => {
    const observations = operations.reduce((sum, { checks }) => sum + checks[category].observations, 0);
    return [category, { observations, findings: 0 }];
  });
  const checks = Object.fromEntries(sums) as TableRow['checks'];
  return { label, detail: `${operations.length} operations`, state, checks };
}
