import type { OpenApiDocument } from '../document/document.ts';
import type { Operation } from '../document/operation.ts';
import { type Category, categories } from '../finding/finding.ts';
import type { FindingRegistry } from '../finding/finding-registry.ts';
import { remembered } from '../memory.ts';
import { shortfallOf } from '../report/coverage-table.ts';
import type { MinCoverage, OperationReport, Report } from '../report/report.ts';
import type { CoverageBook } from './coverage.ts';

/** What a run knows about an operation. */
export interface OperationState {
  requests: number;
  isReached: boolean;
  isNotImplemented: boolean;
  /** Whether its input was checked completely. */
  isChecked: boolean;
  reason: string | undefined;
  readonly observations: Record<Category, number>;
}

/** The state of each operation. */
export class States {
  readonly #states = new Map<string, OperationState>();

  of({ id }: Operation): OperationState {
    return remembered(this.#states, id, () => ({
      ...{ requests: 0, isReached: false, isNotImplemented: false, isChecked: false, reason: undefined },
      observations: Object.fromEntries(categories.map((one) => [one, 0])) as Record<Category, number>,
    }));
  }
}

interface Results {
  readonly document: OpenApiDocument;
  readonly judged: readonly Operation[];
  readonly states: States;
  readonly registry: FindingRegistry;
  readonly coverage: CoverageBook;
}

/** The part of a report that follows from exchanges, whoever sent the requests. */
export function resultsOf(
  { document, judged, states, registry, coverage: book }: Results,
  minimum: MinCoverage,
): Pick<Report, 'spec' | 'title' | 'operations' | 'findings' | 'coverage' | 'shortfall'> {
  const findings = registry.findings();
  const operations = judged.map((operation): OperationReport => {
    const { id, method, path } = operation;
    const { isReached: reached, reason, requests, observations } = states.of(operation);
    const own = findings.filter((finding) => finding.operation === id || finding.also.includes(id));
    const tallies = categories.map((one) => {
      const count = own.filter(({ category }) => category === one).length;
      return [one, { observations: observations[one], findings: count }];
    });
    const checks = Object.fromEntries(tallies) as OperationReport['checks'];
    return { id, method, path, reached, reason: reached ? undefined : reason, requests, checks };
  });
  const reasons = new Map(operations.map(({ id, reason }) => [id, reason]));
  const coverage = book.coverage((operation) => reasons.get(operation));
  return {
    spec: document.rootAddress,
    title: String(document.object(document.root.info).title ?? ''),
    ...{ operations, findings, coverage, shortfall: shortfallOf(coverage, minimum) },
  };
}
