import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take longest. Vitest sorts by previous durations, which are unknown on a new machine: one of these,
 * started last, would run alone at the end.
 */
const long =
  /\/(contract-check|workflows|drifts|samples|reference|browser|processes|batch-processes|crash|kill|demo|main|pglite|mcp)(\.\w+)?\.test\.ts$/;

/** Starts the tests with the slowest files. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => long.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
