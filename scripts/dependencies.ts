/**
 * Checks who imports whom, imports of types included: no module imports itself through others, and in the server and the contract
 * check each layer imports only from those below it in the table of a page. Rules and commands are pure.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cruise, type ICruiseOptions, type ICruiseResult } from 'dependency-cruiser';
import { ruleOfPackages, rulesOfFaces, rulesOfLayers } from './dependencies/layers.ts';
import { impurePlans } from './dependencies/purity.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);
const server = 'packages/server/src/';
const modules = `${server}modules/`;
const layered = [
  { directory: server, page: 'CONTRIBUTING.md' },
  { directory: modules, page: 'CONTRIBUTING.md' },
  { directory: 'packages/contract-check/src/', page: 'packages/contract-check/README.md' },
].map(({ directory, page }) => ({ page, ...rulesOfLayers(directory, readFileSync(page, 'utf8')) }));
// Each module is a room, and so is what its `index.ts` says to be one.
const rooms = new Set(
  [...globSync(`${modules}*/`), ...globSync(`${server}**/index.ts`).map(dirname)].map(
    (room) => `${room.replace(/\/$/, '')}/`,
  ),
);
const tests = layered[0]?.tests ?? '';

const rules: ICruiseOptions = {
  validate: true,
  ruleSet: {
    forbidden: [
      { name: 'cycle', severity: 'error', from: {}, to: { circular: true } },
      {
        name: 'sources import no tests',
        severity: 'error',
        from: { path: '^packages/[^/]+/src/', pathNot: tests },
        to: { path: `^packages/[^/]+/(test|bench|scripts)/|${tests}` },
      },
      ...layered.flatMap(({ forbidden }) => forbidden),
      ...rulesOfFaces(server, [...rooms]),
      ruleOfPackages,
    ],
  },
  // Types, too.
  tsPreCompilationDeps: true,
  exclude: { path: '/(dist|generated)/' },
  doNotFollow: { path: 'node_modules' },
};
const { output } = await cruise(['packages', 'scripts', 'openapi/rules'], rules, {
  exportsFields: ['exports'],
  conditionNames: ['node', 'import', 'default'],
  extensions: ['.ts', '.js', '.mjs', '.json'],
});
if (typeof output === 'string') throw new Error(output);

const problems = [
  ...problemsOf(output),
  ...withoutRoom(output),
  ...impurePlans(output.modules, (source) => readFileSync(source, 'utf8'), new RegExp(tests)),
];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${output.summary.totalCruised} modules checked.`);

function problemsOf({ summary: { violations } }: ICruiseResult): string[] {
  return violations.map(({ rule, from, to, cycle = [] }) =>
    [`${rule.name}: ${from} → ${to}`, ...cycle.map(({ name }) => `    → ${name}`)].join('\n'),
  );
}

function withoutRoom({ modules }: ICruiseResult): string[] {
  return modules.flatMap(({ source }) =>
    layered
      .filter(({ isMissing }) => isMissing(source))
      .map(({ page }) => `${source} is in no layer. Add one to the table in ${page}.`),
  );
}
