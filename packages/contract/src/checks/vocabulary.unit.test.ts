import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { vocabularyTable } from './vocabulary.ts';

test('the README tells all that a contract may say to the check', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
  expect(readme, 'put this between its marks').toContain(
    `<!-- vocabulary -->\n\n${vocabularyTable()}\n\n<!-- /vocabulary -->`,
  );
});
