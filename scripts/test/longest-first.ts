import { BaseSequencer, type TestSpecification } from 'vitest/node';

const named = (...names: string[]) => new RegExp(`/(${names.join('|')})(\\.\\w+)*\\.test\\.ts$`);

/**
 * Files that take longest. Vitest sorts by previous durations, which are unknown on a new machine: one of these,
 * started last, would run alone at the end.
 */
const long = named(
  ...['contract-check', 'drifts', 'samples', 'reference', 'browser', 'demo', 'main', 'pglite', 'mcp', 'served'],
  ...['books\\.property', 'bounds\\.property', 'rehearsal\\.property', 'console', 'copies', 'markdown', 'ci', 'safety'],
);
/** Files that mostly wait: for a lease, a retry or a process. Many of them at the same time would leave the cores idle. */
const waiting = named(
  ...['billing/kill', 'workflows', 'crash', 'processes', 'delivery', 'job', 'deliveries', 'left', 'batch-processes'],
  ...['pay/kill', 'events/delivery/isolation', 'move-tenant', 'bad-start', 'sandbox/clock', 'linger', 'alerts'],
);

/**
 * Runs project by project, because a worker goes on only with a file of the same project: the next one loads all modules
 * again. The project with the most files is the last, so that small files fill the workers until the end. Each project
 * starts with its slowest files, of which every third one waits.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    const fewestFirst = [...projects.values()].sort((one, other) => one.length - other.length);
    return fewestFirst.flatMap((all) => {
      const {
        waits = [],
        takesLong = [],
        isShort = [],
      } = Object.groupBy(all, ({ moduleId }) =>
        waiting.test(moduleId) ? 'waits' : long.test(moduleId) ? 'takesLong' : 'isShort',
      );
      return interleaved(waits, [...takesLong, ...isShort]);
    });
  }
}

/** The first of some, two of others, and so on. */
function interleaved<Element>(some: readonly Element[], others: readonly Element[]): Element[] {
  const placed = some.flatMap((one, index) => [one, ...others.slice(2 * index, 2 * index + 2)]);
  return [...placed, ...others.slice(2 * some.length)];
}
