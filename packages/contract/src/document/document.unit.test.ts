import { expect, test } from 'vitest';
import { Validators } from '../schema/validators.ts';
import { OpenApiDocument } from './document.ts';
import { operationsOf } from './operation.ts';

const address = new URL('../../../../openapi/openapi.yaml', import.meta.url).pathname;
const document = await OpenApiDocument.load(address);
const operations = operationsOf(document);
const validators = Validators.of(document);

test('every operation of a split document is found, with its references followed', () => {
  const paths = Object.values(document.object(document.root.paths)).map((item) => document.object(item));
  const count = paths.flatMap((item) =>
    Object.keys(item).filter((key) => /^(get|put|post|delete|patch)$/.test(key)),
  ).length;
  expect(operations).toHaveLength(count);
  for (const operation of operations) expect(operation.answers.map((answer) => answer.status)).toContain('500');
});

test('every example of a body is accepted by its schema', () => {
  for (const operation of operations) {
    const contents = [
      ...(operation.body?.contents ?? []).map((content) => ({ content, direction: 'request' as const })),
      ...operation.answers.flatMap((answer) =>
        answer.contents.map((content) => ({ content, direction: 'answer' as const })),
      ),
    ];
    for (const { content, direction } of contents) {
      expect(content.examples.length).toBeGreaterThan(0);
      for (const example of content.examples) {
        expect(validators.breaches(content.schema ?? {}, example, direction), operation.id).toEqual([]);
      }
    }
  }
});

test('a breach is told with the file and the line of the split source', () => {
  const schema = operations.find(({ id }) => id === 'getClient')?.answers[0]?.contents[0]?.schema ?? {};
  const breaches = validators.breaches(schema, { name: '' }, 'answer');
  const named = breaches.find(({ pointer }) => pointer === '/name');
  expect(named).toMatchObject({ keyword: 'minLength', place: { pointer: '#/properties/name/minLength' } });
  expect(named?.place?.file).toMatch(/openapi\/schemas\/clients\/ClientFields\.yaml$/);
  const missing = breaches.find(({ pointer }) => pointer === '/version');
  expect(missing).toMatchObject({ keyword: 'required', place: { pointer: '#/required' } });
});

test('what is no OpenAPI 3 document is refused with a sentence', async () => {
  const other = new URL('../../package.json', import.meta.url).pathname;
  await expect(OpenApiDocument.load(other)).rejects.toThrow(/is not an OpenAPI 3\.0 or 3\.1 document/);
});
