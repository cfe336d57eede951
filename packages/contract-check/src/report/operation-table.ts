/** The rows of the table of operations and checks. */
import { type Category, categories } from '../finding/finding.ts';
import type { OperationReport, Report, Tally } from './report.ts';

export interface TableRow {
  readonly label: string;
  /** Shown after the label, less prominently. */
  readonly detail: string;
  readonly state: 'found' | 'clean' | 'unreached';
  readonly checks: Readonly<Record<Category, Tally>>;
}

/** Up to this number, each operation has its own row. */
const maxSingleRows = 24;

/**
 * Operations with findings have a row each, at the top. Others also do if there are few; otherwise, operations of the
 * same resource share a row.
 */
export function tableRows(report: Report): TableRow[] {
  const found = report.operations.filter((operation) => stateOf(operation) === 'found');
  const others = report.operations.filter((operation) => stateOf(operation) !== 'found');
  if (report.operations.length <= maxSingleRows) return [...found, ...others].map(singleRow);
  const shared = sharedSegments(report.operations);
  const clean = others.filter(({ reached }) => reached);
  const missed = others.filter(({ reached }) => !reached);
  const groups = Map.groupBy(clean, ({ path }) => resourceOf(path, shared));
  return [
    ...found.map(singleRow),
    ...[...groups].map(([resource, operations]) => groupRow(resource, operations)),
    ...(missed.length === 0 ? [] : [{ ...groupRow('not reached', missed), state: 'unreached' as const }]),
  ];
}

export function stateOf(operation: OperationReport): TableRow['state'] {
  if (categories.some((category) => operation.checks[category].findings > 0)) return 'found';
  return operation.reached ? 'clean' : 'unreached';
}

function singleRow(operation: OperationReport): TableRow {
  const { id, method, path, checks } = operation;
  const address = `${method} ${path}`;
  return { label: id, detail: id === address ? '' : address, state: stateOf(operation), checks };
}

function groupRow(label: string, operations: readonly OperationReport[]): TableRow {
  const [only] = operations;
  if (operations.length === 1 && only !== undefined) return singleRow(only);
  const sum = (category: Category, of: keyof Tally) =>
    operations.reduce((all, { checks }) => all + checks[category][of], 0);
  const checks = Object.fromEntries(
    categories.map((one) => [one, { observations: sum(one, 'observations'), findings: sum(one, 'findings') }]),
  ) as TableRow['checks'];
  return { label, detail: `${operations.length} operations`, state: 'clean', checks };
}

/** The number of segments that all paths share, such as a version. */
function sharedSegments(operations: readonly OperationReport[]): number {
  const paths = operations.map(({ path }) => path.split('/').slice(1));
  const [first = []] = paths;
  const differing = first.findIndex((segment, index) => paths.some((path) => path[index] !== segment));
  return differing < 0 ? Math.max(0, first.length - 1) : differing;
}

function resourceOf(path: string, shared: number): string {
  const segment = path.split('/')[shared + 1];
  return segment === undefined ? path : `/${segment}`;
}
