import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { vocabularyTable } from './vocabulary.ts';

test('EXTENSION.md lists every member of x-contract-check', async () => {
  const page = await readFile(new URL('../../EXTENSION.md', import.meta.url), 'utf8');
  expect(page, 'EXTENSION.md must have this between its marks').toContain(
    `<!-- vocabulary -->\n\n${vocabularyTable()}\n\n<!-- /vocabulary -->`,
  );
});
