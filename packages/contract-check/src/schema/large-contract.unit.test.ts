/** Properties of generated values, on the contract of the service of this repository. It is compiled once for all of them. */
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isEveryDriftTested, sampleOf } from '../../test/sample.ts';
import { OpenApiDocument } from '../document/document.ts';
import { operationsOf } from '../document/operation.ts';
import { isObject, type JsonObject } from '../json.ts';
import { Validators } from './validators.ts';
import { Values } from './values.ts';
import { boundsOf, breaksOf, hostileOf } from './variants.ts';

const extents = ['least', 'most', 'some'] as const;
const ours = await OpenApiDocument.load(fileURLToPath(new URL('../../../../openapi/openapi.yaml', import.meta.url)));
const validators = Validators.of(ours);
const values = new Values(ours, validators);
/** Compiling a schema takes longest, so few are drawn by day. */
const runs = (numRuns: number) => ({ numRuns: isEveryDriftTested ? 30 * numRuns : numRuns });
const inputs = operationsOf(ours).flatMap(({ id, body, parameters }) => [
  ...(body?.contents ?? []).map(({ schema = {} }) => ({ id, schema, isBody: true })),
  ...parameters.map(({ name, schema }) => ({ id: `${id} ${name}`, schema, isBody: false })),
]);
const shown = new Set<JsonObject>();
const bodies = operationsOf(ours)
  .flatMap(({ id, body }) => (body?.contents ?? []).map(({ schema = {} }) => [id, schema] as const))
  .filter(([, schema]) => !shown.has(ours.object(schema)) && shown.add(ours.object(schema)).size > 0);

test('every body has a value of every extent, the same for the same seed', () => {
  for (const [id, schema] of sampleOf(bodies, 48)) {
    for (const extent of extents) {
      const sample = values.sample(schema, extent, 7);
      expect(sample, `${id} ${extent}`).toBeDefined();
      expect(validators.breaches(schema, sample?.value, 'request'), id).toEqual([]);
    }
  }
  const [, schema = {}] = bodies[0] ?? [];
  expect(values.sample(schema, 'some', 3)).toEqual(values.sample(schema, 'some', 3));
});

test('a body that excludes most combinations of its parts has a value, whatever the seed', () => {
  const schema = bodies.find(([id]) => id === 'createCustomRecordType')?.[1] ?? {};
  const seeds = Array.from({ length: 40 }, (_, seed) => seed);
  expect(seeds.filter((seed) => values.sample(schema, 'most', seed) === undefined)).toEqual([]);
});

test('a generated value is nearly always valid, whatever the seed', () => {
  fc.assert(
    fc.property(fc.constantFrom(...bodies), fc.integer(), ([id, schema], seed) => {
      const value = values.generate([schema], 'some', seed);
      // What `not` says is checked only by the validator, also within a value.
      const breaches = validators.breaches(schema, value, 'request').filter(({ keyword }) => keyword !== 'not');
      expect(breaches, id).toEqual([]);
    }),
    runs(8),
  );
});

test('a fresh value is valid, and its texts differ', () => {
  for (const [id, schema] of sampleOf(bodies, 8)) {
    const sample = values.sample(schema, 'most', 5);
    const fresh = values.fresh(schema, sample?.value, 6);
    expect(validators.breaches(schema, fresh, 'request'), id).toEqual([]);
  }
  const client = bodies.find(([id]) => id === 'onboardClient')?.[1] ?? {};
  const value = values.sample(client, 'least', 1)?.value;
  const fresh = values.fresh(client, value, 2);
  expect(isObject(fresh) && isObject(value) && fresh.name !== value.name).toBe(true);
  expect(values.fresh(client, value, 2, (_, key) => key !== 'name')).toEqual(value);
});

/** Checks of keywords that are independent of the validator. */
const independent: Record<string, (part: unknown, bound: number) => boolean> = {
  minLength: (part, bound) => [...String(part)].length >= bound,
  maxLength: (part, bound) => [...String(part)].length <= bound,
  minimum: (part, bound) => Number(part) >= bound,
  maximum: (part, bound) => Number(part) <= bound,
  minItems: (part, bound) => (part as unknown[]).length >= bound,
  maxItems: (part, bound) => (part as unknown[]).length <= bound,
  minProperties: (part, bound) => Object.keys(Object(part)).length >= bound,
  maxProperties: (part, bound) => Object.keys(Object(part)).length <= bound,
};

function at(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((node, segment) => Object(node)[segment.replaceAll('~1', '/').replaceAll('~0', '~')], value);
}

test('every violation is rejected, at its pointer, with a place', () => {
  fc.assert(
    fc.property(fc.constantFrom(...inputs), fc.nat(), ({ id, schema }, seed) => {
      const sample = values.sample(schema, 'some', seed);
      const breaks = breaksOf(values, schema, sample?.value);
      expect(breaks.length, id).toBeGreaterThan(0);
      for (const { keyword, pointer, place, value, note } of breaks) {
        expect(validators.accepts(schema, value), `${id} ${note}`).toBe(false);
        expect(place, note).toBeDefined();
        const bound = validators.breaches(schema, value, 'request').find((breach) => breach.keyword === keyword);
        const number = Number(/(\d+)/.exec(bound?.message ?? '')?.[1]);
        const holds = independent[keyword];
        if (holds !== undefined && bound?.pointer === pointer && Number.isFinite(number)) {
          expect(holds(at(value, pointer), number), `${id} ${note}`).toBe(false);
        }
      }
    }),
    runs(5),
  );
});

test('every bound is accepted, and so is its neighbour', () => {
  fc.assert(
    fc.property(fc.constantFrom(...inputs), fc.nat(), ({ id, schema }, seed) => {
      const sample = values.sample(schema, 'some', seed);
      for (const { value, neighbour, note, place } of boundsOf(values, schema, sample?.value)) {
        expect(validators.accepts(schema, value), `${id} ${note}`).toBe(true);
        if (neighbour !== undefined) expect(validators.accepts(schema, neighbour), `${id} ${note}`).toBe(true);
        expect(place, `${id} ${note}`).toBeDefined();
      }
    }),
    runs(4),
  );
});

test('every hostile value is allowed', () => {
  fc.assert(
    fc.property(fc.constantFrom(...inputs.filter(({ isBody }) => isBody)), fc.nat(), ({ id, schema }, seed) => {
      const sample = values.sample(schema, 'some', seed);
      const found = hostileOf(values, schema, sample?.value, 100);
      for (const { value, note } of found) expect(validators.accepts(schema, value), `${id} ${note}`).toBe(true);
    }),
    runs(4),
  );
});
