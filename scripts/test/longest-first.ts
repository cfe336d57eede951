import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take a minute or more. Vitest sorts by how long files took before, which a machine that has never run them does
 * not know: one of these, begun last, would keep a single core for as long as it takes.
 */
const long =
  /\/(contract-check|workflows|drifts|samples|browser|processes|batch-processes|crash|kill)(\.\w+)?\.test\.ts$/;

/** Starts the tests with the files that take longest. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => long.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
