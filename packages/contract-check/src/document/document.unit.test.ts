import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Validators } from '../schema/validators.ts';
import { OpenApiDocument } from './document.ts';
import { operationsOf } from './operation.ts';

const address = fileURLToPath(new URL('../../../../openapi/openapi.yaml', import.meta.url));
const document = await OpenApiDocument.load(address);
const operations = operationsOf(document);
const validators = Validators.of(document);

test('every operation of a split document is found, with references resolved', () => {
  const paths = Object.values(document.object(document.root.paths)).map((item) => document.object(item));
  const count = paths.flatMap((item) =>
    Object.keys(item).filter((key) => /^(get|put|post|delete|patch)$/.test(key)),
  ).length;
  expect(operations).toHaveLength(count);
  for (const { responses } of operations)
    expect(responses.map(({ status }) => status)).toContainEqual(expect.stringMatching(/^20[0-2]$/));
});

test('every example of a body is accepted by its schema', () => {
  for (const operation of operations) {
    const contents = [
      ...(operation.body?.contents ?? []).map((content) => ({ content, direction: 'request' as const })),
      ...operation.responses.flatMap((response) =>
        response.contents.map((content) => ({ content, direction: 'response' as const })),
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

test('a violation has the file and line of the split source', () => {
  const schema = operations.find(({ id }) => id === 'getClient')?.responses[0]?.contents[0]?.schema ?? {};
  const breaches = validators.breaches(schema, { name: '' }, 'response');
  const named = breaches.find(({ pointer }) => pointer === '/name');
  expect(named).toMatchObject({ keyword: 'minLength', place: { pointer: '#/properties/name/minLength' } });
  expect(named?.place?.file).toMatch(/openapi\/schemas\/clients\/ClientDetails\.yaml$/);
  const missing = breaches.find(({ pointer }) => pointer === '/version');
  expect(missing).toMatchObject({ keyword: 'required', place: { pointer: '#/required' } });
});

test('a document that is not OpenAPI 3 is rejected with a message', async () => {
  const other = fileURLToPath(new URL('../../package.json', import.meta.url));
  await expect(OpenApiDocument.load(other)).rejects.toThrow(
    /is not an OpenAPI 3\.0, 3\.1, 3\.2 or Swagger 2\.0 document/,
  );
});

test('a document that cannot be read is named', async () => {
  const nowhere = 'http://127.0.0.1:1/openapi.json';
  await expect(OpenApiDocument.load(nowhere)).rejects.toThrow(`${nowhere} cannot be read: `);
});

test('a union of literals is an enum, as long as it says nothing else', async () => {
  const [word, other] = [
    { type: 'string', const: 'a' },
    { type: 'string', enum: ['b', 'c'] },
  ];
  const schemas = {
    Words: { anyOf: [word, other, { type: 'null' }] },
    Other: { anyOf: [word, { type: 'string', minLength: 9 }] },
  };
  const file = join(await mkdtemp(join(tmpdir(), 'literals-')), 'openapi.json');
  await writeFile(file, JSON.stringify({ openapi: '3.1.0', paths: {}, components: { schemas } }));
  const { root } = await OpenApiDocument.load(file);
  expect(root).toMatchObject({
    components: { schemas: { Words: { enum: ['a', 'b', 'c', null] }, Other: schemas.Other } },
  });
});
