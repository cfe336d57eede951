import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { contract, schemaOf } from '../contract/contract.ts';
import { codesOf, errorPage } from './error-page.ts';

test.each(['ProblemCode', 'ProblemErrorCode', 'ItemErrorCode'] as const)(
  '%s describes each of its codes: when it is returned and what to do',
  (name) => {
    const described = codesOf(name);
    expect(described.map(({ code }) => code)).toEqual(schemaOf(name).enum);
    expect(described.filter(({ when, todo }) => when === '' || todo === '')).toEqual([]);
  },
);

test('the codes of invalid values include those of items', () => {
  expect(schemaOf('ProblemErrorCode').enum).toEqual(
    expect.arrayContaining([...(schemaOf('ItemErrorCode').enum ?? [])]),
  );
});

test('the page has each code, with an example of it', () => {
  const { text } = errorPage();
  for (const code of schemaOf('ProblemCode').enum ?? [])
    expect(text).toMatch(
      new RegExp(`<section id="${code}"[^>]*>(?:(?!</section>).)*&quot;code&quot;: &quot;${code}&quot;`, 's'),
    );
  for (const code of schemaOf('ProblemErrorCode').enum ?? [])
    expect(text).toMatch(new RegExp(`<section id="errors-${code}"[^>]*>.*?<pre>[^<]+</pre>`, 's'));
});

test('the examples of invalid values are sentences of the service', async () => {
  const said =
    readFileSync(new URL('bad-requests.txt', import.meta.url), 'utf8') + JSON.stringify(contract.components.examples);
  const sentences: string[] = [];
  for await (const file of glob('**/*.ts', { cwd: fileURLToPath(new URL('..', import.meta.url)) })) {
    const source = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
    for (const [, plain, template] of source.matchAll(/'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g))
      sentences.push(plain ?? template ?? '');
  }
  const isSaid = (example: string) =>
    said.includes(JSON.stringify(example).slice(1, -1)) ||
    sentences.some((sentence) => {
      const fixed = sentence.split(/\$\{[^`]*?\}/);
      const pattern = fixed.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.+');
      return fixed.join('').length * 3 >= example.length && new RegExp(`^${pattern}$`).test(example);
    });
  expect(codesOf('ProblemErrorCode').filter(({ example = '' }) => !isSaid(example))).toEqual([]);
});
