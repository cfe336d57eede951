import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import type { JsonObject } from '../json.ts';
import { hostileEverywhere, malformedAround, oddBodies } from './hostile.ts';
import { Validators } from './validators.ts';
import { Values } from './values.ts';
import { hostileOf } from './variants.ts';

async function load(schemas: Record<string, unknown>) {
  const file = join(await mkdtemp(join(tmpdir(), 'hostile-')), 'openapi.json');
  await writeFile(file, JSON.stringify({ openapi: '3.1.0', paths: {}, components: { schemas } }));
  const document = await OpenApiDocument.load(file);
  const validators = Validators.of(document);
  const schema = (name: string) => document.resolve({ $ref: `#/components/schemas/${name}` }) as JsonObject;
  return { document, validators, schema };
}

test('each type has its typical edge cases', async () => {
  const { document, validators, schema } = await load({
    number: { type: 'number' },
    integer: { type: 'integer', minimum: 0 },
    text: { type: 'string' },
    texts: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } },
    long: { type: 'string', maxLength: 50_000 },
    list: { type: 'array', items: { type: 'integer' } },
    map: { type: 'object', additionalProperties: { type: 'integer' } },
    tree: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/components/schemas/tree' } } } },
  });
  const values = (name: string, value: unknown) =>
    hostileOf(new Values(document, validators), schema(name), value).map((one) => one.value);
  expect(values('number', 1)).toEqual(expect.arrayContaining([1e308, 2 ** 53, 1e-300]));
  expect(values('number', 1).some((value) => Object.is(value, -0))).toBe(true);
  expect(values('integer', 1)).not.toContain(-1e308);
  const odd = ['a\u0000b', '\ud800', '../../../../etc/passwd', '%'];
  expect(values('text', 'a')).toEqual(expect.arrayContaining(odd));
  const texts = [...hostileEverywhere(new Values(document, validators), schema('texts'), { a: 'x', b: 'y' })];
  for (const text of odd) expect(texts).toContainEqual({ a: text, b: text });
  expect(values('long', 'a').map((value) => String(value).length)).toContain(50_000);
  expect(values('list', [1]).map((value) => (value as unknown[]).length)).toContain(10_000);
  expect(values('map', {}).flatMap((value) => Object.keys(Object(value)))).toEqual(
    expect.arrayContaining(['__proto__', 'constructor']),
  );
  const depths = values('tree', {}).map((value) => JSON.stringify(value).split('children').length - 1);
  expect(Math.max(...depths)).toBeGreaterThanOrEqual(50);
});

test('exactly the malformed bodies do not parse', () => {
  const { malformed, odd } = oddBodies('application/json');
  for (const text of [...malformed, ...malformedAround('{"a":[1,"b"]}')])
    expect(() => JSON.parse(text), text).toThrow();
  // Parsers may accept or reject a byte order mark.
  for (const text of odd) expect(() => JSON.parse(text.replace(/^\ufeff/, '')), text).not.toThrow();
  expect(oddBodies('application/problem+json; charset=utf-8').malformed.length).toBeGreaterThan(0);
  expect(oddBodies('image/png')).toEqual({ malformed: [], odd: [] });
});
