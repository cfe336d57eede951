import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take longest. Vitest sorts by previous durations, which are unknown on a new machine: one of these,
 * started last, would run alone at the end.
 */
const long =
  /\/(contract-check|workflows|drifts|samples|reference|browser|processes|batch-processes|crash|kill|demo|main|pglite|mcp|delivery|left|move-tenant|payments-of-moved-tenant)(\.\w+)*\.test\.ts$/;

/**
 * Runs project by project, because a worker goes on only with a file of the same project: the next one loads all modules
 * again. The project with the most files is the last, so that small files fill the workers until the end. Each project
 * starts with its slowest files.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    const fewestFirst = [...projects.values()].sort((one, other) => one.length - other.length);
    const isLong = ({ moduleId }: TestSpecification) => long.test(moduleId);
    return fewestFirst.flatMap((all) => [...all.filter(isLong), ...all.filter((file) => !isLong(file))]);
  }
}
