/**
 * Checks the types of every package and of the scripts with TypeScript 7, which takes a tenth of the time of 6. Programs
 * that generate types and declarations require 6 (openapi-typescript, tsdown).
 *
 * The sources of published packages have the library of the oldest Node that they support, their tests that of the repository.
 *
 * Packages with the same options are checked as one program, because they import each other's sources. With `--separately`
 * each one is checked alone, which also finds a declaration that only another package includes.
 */
import { glob, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from './options.ts';
import { run } from './test/run.ts';

const compiler = join(dirname(fileURLToPath(import.meta.resolve('typescript-7/package.json'))), 'bin/tsc');
const { separately } = readOptions({ options: { separately: { type: 'boolean', default: false } } }).values;

const all: string[] = [];
for await (const project of glob('{packages/*,packages/*/test,scripts,openapi/rules}/tsconfig.json')) all.push(project);
for (const project of separately ? all : await withFewerPrograms(all)) {
  // More threads would each check the types that they share. The compiler ends soon after what its garbage collector would free.
  const command = [process.execPath, compiler, '--project', project, '--noEmit', '--singleThreaded'];
  const { code, output } = await run(command, { environment: { GOGC: 'off', GOMEMLIMIT: '3GiB' } });
  if (code === 0) continue;
  process.exitCode = 1;
  console.log(output);
}
console.log(`${all.length} projects checked.`);

/** Replaces the projects that have only the common options by one. */
async function withFewerPrograms(projects: readonly string[]): Promise<string[]> {
  const others: string[] = [];
  const include: string[] = [];
  for (const project of projects) {
    const settings = JSON.parse(await readFile(project, 'utf8'));
    if (settings.compilerOptions === undefined)
      include.push(...settings.include.map((path: string) => resolve(dirname(project), path)));
    else others.push(project);
  }
  const folder = resolve('node_modules/.cache');
  await mkdir(folder, { recursive: true });
  const common = join(folder, 'typecheck.json');
  await writeFile(common, JSON.stringify({ extends: resolve('tsconfig.base.json'), include }));
  return [...others, common];
}
