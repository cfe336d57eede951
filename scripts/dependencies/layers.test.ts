import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cruise, type IForbiddenRuleType } from 'dependency-cruiser';
import { afterAll, expect, test } from 'vitest';
import { ruleOfPackages, rulesOfFaces, rulesOfLayers } from './layers.ts';

const table = `In \`src\`, layers:

| layer | contents |
|---|---|
| \`main.ts\` | the process |
| \`pay/\` | pages |
| \`pay/processor.ts\`, \`store/\` | below |

| \`other/\` | of another table |
`;
const folder = await mkdtemp(join(tmpdir(), 'layers-'));
afterAll(() => rm(folder, { recursive: true }));

/** Returns the rules that modules with these imports violate. */
async function violated(
  modules: Readonly<Record<string, string>>,
  forbidden: readonly IForbiddenRuleType[] = rulesOfLayers('src/', table).forbidden,
): Promise<string[]> {
  const roots = [...new Set(Object.keys(modules).map((path) => path.split('/')[0] ?? ''))];
  for (const root of roots) await rm(join(folder, root), { recursive: true, force: true });
  for (const [path, text] of Object.entries(modules)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const options = {
    validate: true,
    ruleSet: { forbidden: [...forbidden] },
    tsPreCompilationDeps: true,
    baseDir: folder,
  };
  const { output } = await cruise(roots, options);
  return typeof output === 'string'
    ? [output]
    : output.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`);
}

const empty = 'export type One = 1;\n';

test('a layer may import from those below it', async () => {
  expect(
    await violated({
      'src/main.ts': `import './pay/page.ts';\nimport './store/store.ts';\n`,
      'src/pay/page.ts': `import './processor.ts';\nexport type One = 1;\n`,
      'src/pay/processor.ts': `import '../store/store.ts';\n`,
      'src/store/store.ts': empty,
    }),
  ).toEqual([]);
});

test('a layer may not import from those above it, not even types', async () => {
  expect(
    await violated({
      'src/pay/page.ts': empty,
      'src/store/store.ts': `import type { One } from '../pay/page.ts';\nexport type Two = One;\n`,
    }),
  ).toEqual(['pay/processor.ts is below pay/: src/store/store.ts → src/pay/page.ts']);
});

test('a file with a layer of its own is not in that of its directory', async () => {
  expect(
    await violated({
      'src/pay/page.ts': empty,
      'src/pay/processor.ts': `import type { One } from './page.ts';\nexport type Two = One;\n`,
    }),
  ).toEqual(['pay/processor.ts is below pay/: src/pay/processor.ts → src/pay/page.ts']);
});

test('tests may import from any layer', async () => {
  expect(
    await violated({
      'src/pay/page.ts': empty,
      'src/store/store.test.ts': `import type { One } from '../pay/page.ts';\nexport type Two = One;\n`,
    }),
  ).toEqual([]);
});

test('a module in no layer is missing in the table', () => {
  const { isMissing } = rulesOfLayers('src/', table);
  expect(
    ['src/main.ts', 'src/other/one.ts', 'src/pay/x/y.ts', 'src/main.test.ts', 'scripts/x.ts'].filter(isMissing),
  ).toEqual(['src/other/one.ts']);
});

test('packages import each other by their names', async () => {
  const modules = {
    'packages/bench/main.ts': `import '../server/src/app.ts';\n`,
    'packages/bench/stack.ts': `import '@financial-automation/server/service';\nimport '../client/src/index.ts';\n`,
    'packages/bench/node_modules/@financial-automation/server/package.json':
      '{ "exports": { "./service": "./app.ts" } }',
    'packages/bench/node_modules/@financial-automation/server/app.ts': empty,
    'packages/client/src/index.ts': empty,
    'packages/server/src/main.ts': `import './app.ts';\n`,
    'packages/server/src/app.ts': empty,
  };
  expect(await violated(modules, [ruleOfPackages])).toEqual([
    'a package is imported by its name: packages/bench/main.ts → packages/server/src/app.ts',
  ]);
});

test('a text without a table is rejected', () => {
  expect(() => rulesOfLayers('src/', '`src` has no layers.')).toThrow('No table of layers follows `src/`.');
});

test('a room is imported through its index.ts, by other rooms and by those above', async () => {
  const modules = {
    'src/pay/cards/index.ts': `export type { One } from './card.ts';\n`,
    'src/pay/cards/card.ts': empty,
    'src/pay/banks/bank.ts': `import type { One } from '../cards/card.ts';\nexport type Two = One;\n`,
    'src/main.ts': `import './pay/cards/index.ts';\nimport './pay/banks/bank.ts';\n`,
    'src/main.test.ts': `import './pay/cards/card.ts';\n`,
  };
  const rule = 'is imported through its index.ts';
  expect(await violated(modules, rulesOfFaces('src/', ['src/pay/banks/', 'src/pay/cards/']))).toEqual([
    `src/pay/banks/ ${rule}: src/main.ts → src/pay/banks/bank.ts`,
    `src/pay/cards/ ${rule}: src/pay/banks/bank.ts → src/pay/cards/card.ts`,
  ]);
});
