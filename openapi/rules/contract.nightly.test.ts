import { fileURLToPath } from 'node:url';
import { bundle, lintFromString, loadConfig, type NormalizedProblem } from '@redocly/openapi-core';
import { describe, expect, test } from 'vitest';
import { objectOf } from './contract.ts';
import { splitSchemas } from './published.ts';

const root = new URL('../../', import.meta.url);
const ref = fileURLToPath(new URL('openapi/openapi.yaml', root));
const config = await loadConfig({ configPath: fileURLToPath(new URL('redocly.yaml', root)) });

/** One line per finding, so that a failing test says what `pnpm lint:contract` would. */
function lines(problems: NormalizedProblem[]): string[] {
  return problems.map(({ ruleId, message, location: [place] }) => {
    const file = place?.source.absoluteRef.replace(fileURLToPath(root), '') ?? '';
    return `${file}${place?.pointer ?? ''} ${ruleId}: ${message}`;
  });
}

describe('the bundle', () => {
  // `pnpm test` lints the sources, and the bundle by the rules of others.
  test('keeps every rule', async () => {
    const result = await bundle({ ref, config });
    expect(lines(result.problems)).toEqual([]);
    const { published } = splitSchemas(objectOf(result.bundle.parsed));
    const source = JSON.stringify(published);
    const problems = await lintFromString({ source, absoluteRef: fileURLToPath(new URL('bundle.json', root)), config });
    expect(lines(problems)).toEqual([]);
  });
});
