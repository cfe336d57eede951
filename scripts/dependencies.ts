/**
 * Checks who imports whom, imports of types included: no module imports itself through others, and in the server each layer
 * imports only from those below it in the table of CONTRIBUTING.md.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import { rulesOfLayers } from './dependencies/layers.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);
const layers = rulesOfLayers('packages/server/src/', await readFile('CONTRIBUTING.md', 'utf8'));

const { output } = await cruise(['packages', 'scripts', 'openapi/rules'], {
  validate: true,
  ruleSet: {
    forbidden: [
      { name: 'cycle', severity: 'error', from: {}, to: { circular: true } },
      {
        name: 'sources import no tests',
        severity: 'error',
        from: { path: '^packages/[^/]+/src/', pathNot: layers.tests },
        to: { path: `^packages/[^/]+/(test|bench|scripts)/|${layers.tests}` },
      },
      {
        name: 'packages import each other through their entry points',
        severity: 'error',
        // Demo data is written with the rules of the server.
        from: { path: '^packages/([^/]+)/src/', pathNot: [layers.tests, '^packages/demo-data/'] },
        to: { path: '^packages/', pathNot: ['^packages/$1/', '^packages/[^/]+/src/index\\.ts$'] },
      },
      ...layers.forbidden,
    ],
  },
  // Types, too.
  tsPreCompilationDeps: true,
  exclude: { path: '/(dist|generated)/' },
  doNotFollow: { path: 'node_modules' },
});
if (typeof output === 'string') throw new Error(output);

const problems = [...problemsOf(output), ...withoutRoom(output)];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${output.summary.totalCruised} modules checked.`);

function problemsOf({ summary: { violations } }: ICruiseResult): string[] {
  return violations.map(({ rule, from, to, cycle = [] }) =>
    [`${rule.name}: ${from} → ${to}`, ...cycle.map(({ name }) => `    → ${name}`)].join('\n'),
  );
}

function withoutRoom({ modules }: ICruiseResult): string[] {
  const found = modules.map(({ source }) => source).filter((source) => layers.isMissing(source));
  return found.map((source) => `${source} is in no layer. Add one to the table in CONTRIBUTING.md.`);
}
