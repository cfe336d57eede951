/** Checks the types of every package and of the scripts, two at a time. */
import { execFile } from 'node:child_process';
import { glob } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const projects: string[] = [];
for await (const file of glob('{packages/*,scripts,openapi/rules}/tsconfig.json')) projects.push(file);

let failed = false;
const waiting = [...projects];
await Promise.all(
  [1, 2].map(async () => {
    for (let project = waiting.shift(); project !== undefined; project = waiting.shift()) {
      try {
        await run('tsc', ['--project', project, '--noEmit']);
      } catch (error) {
        failed = true;
        console.log((error as { stdout: string }).stdout);
      }
    }
  }),
);
console.log(`${projects.length} projects checked.`);
if (failed) process.exitCode = 1;
