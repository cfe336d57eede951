import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { analyse } from 'scslre';
import * as ts from 'typescript';
import { expect, test } from 'vitest';
import { contract } from '../contract/contract.ts';

const packages = fileURLToPath(new URL('../../../', import.meta.url));

/** Patterns that see no input that a caller chooses freely, and why. */
const harmless = new Map([
  ['/\\{[^}]+\\}/g', 'paths of the contract, once at start'],
  ['/\\/+$/', 'a setting of the operator'],
  ['/"(?:[^"\\\\]|\\\\.)*"|[{}[\\],:]|[^\\s{}[\\],:"]+/g', 'valid JSON: every quotation mark has its end'],
  ['/"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"|[{}[\\],]/gs', 'valid JSON: every quotation mark has its end'],
]);

/** All patterns of the sources that run in a service or a client, and of the contract, with the place of one use. */
function allPatterns(): Map<string, string> {
  const found = new Map<string, string>();
  for (const file of globSync('{server,demo-data,client,mock,mcp,spec}/src/**/*.ts', { cwd: packages })) {
    if (file.endsWith('.test.ts')) continue;
    const source = ts.createSourceFile(file, readFileSync(`${packages}${file}`, 'utf8'), ts.ScriptTarget.Latest);
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) found.set(node.text, file);
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  // Ajv compiles patterns with the flag u.
  JSON.stringify(contract, (key, value: unknown) => {
    if (key === 'pattern' && typeof value === 'string') found.set(`/${value}/u`, 'the contract');
    return value;
  });
  return found;
}

/** Files that create patterns while the service runs, and of what. */
const patternSources = new Map([
  ['modules/records/pattern-worker.ts', 'definitions of tenants, in threads with a budget of processor time'],
  ['modules/contacts/personal-data.ts', 'texts without operators'],
  ['contract/fields.ts', 'patterns of the contract'],
  ['entity/row-bounds.ts', 'patterns of the contract'],
  ['operator/operator.ts', 'patterns of the contract'],
  ['operator/tenants.ts', 'patterns of the contract'],
  ['admission/tenant-settings.ts', 'patterns of the contract'],
]);

/** Whether a file creates a pattern within a function, or imports the engine for patterns of tenants. */
function createsPatterns(file: string): boolean {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  const visit = (node: ts.Node, isInFunction: boolean): boolean => {
    const isPattern =
      (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText(source) === 'RegExp';
    const isEngine = ts.isImportDeclaration(node) && node.moduleSpecifier.getText(source) === "'re2js'";
    if (isEngine || (isPattern && isInFunction)) return true;
    return ts.forEachChild(node, (child) => visit(child, isInFunction || ts.isFunctionLike(node))) === true;
  };
  return visit(source, false);
}

function isLinear(pattern: string): boolean {
  const end = pattern.lastIndexOf('/');
  return analyse({ source: pattern.slice(1, end), flags: pattern.slice(end + 1) }).reports.length === 0;
}

test('no pattern that sees input takes more than linear time', () => {
  const patterns = [...allPatterns()].filter(([pattern]) => !harmless.has(pattern));
  expect(patterns.length).toBeGreaterThan(100);
  expect(patterns.filter(([pattern]) => !isLinear(pattern))).toEqual([]);
});

test('only threads with a budget compile patterns of tenants', () => {
  const root = `${packages}server/src/`;
  const found = globSync('**/*.ts', { cwd: root }).filter(
    (file) => !file.endsWith('.test.ts') && createsPatterns(`${root}${file}`),
  );
  expect(found.sort()).toEqual([...patternSources.keys()].sort());
});

test.each(['/0+$/', '/^(a+)+$/u', '/\\s*,/'])('a slow pattern is detected: %s', (pattern) => {
  expect(isLinear(pattern)).toBe(false);
});
