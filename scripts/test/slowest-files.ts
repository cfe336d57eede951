import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

/** Lists the slowest files of a test run, including the time before their first test. */
export default class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module) => {
      const { collectDuration, setupDuration, duration } = module.diagnostic();
      return { module, seconds: (collectDuration + setupDuration + duration) / 1000 };
    });
    files.sort((one, other) => other.seconds - one.seconds);
    console.log('\nThe slowest test files:');
    for (const { module, seconds } of files.slice(0, 15)) {
      const file = relative(process.cwd(), module.moduleId);
      console.log(`${seconds.toFixed(0).padStart(5)} s  ${module.project.name.padEnd(15)} ${file}`);
    }
  }
}
