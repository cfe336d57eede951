import { beforeAll, describe, expect, test } from 'vitest';
import { compare } from '../src/compare.ts';
import { type Break, type Bundle, pointerTo } from '../src/document.ts';
import { type Constraint, constraints, type Direction, type Edit, edits, type Way } from './catalogue.ts';

const json = (schema: unknown) => ({ content: { 'application/json': { schema } } });
const within = (schema: unknown) => ({ type: 'object', properties: { in: schema } });

interface Place {
  readonly at: string;
  readonly direction: Direction;
  readonly isText: boolean;
}

/** Every place of a schema, with the pointer of the place in an operation. */
const places: Readonly<Record<string, Place>> = {
  body: { at: '/put/requestBody/', direction: 'request', isText: false },
  property: { at: '/post/requestBody/', direction: 'request', isText: false },
  parameter: { at: '/post/parameters/', direction: 'request', isText: true },
  response: { at: '/put/responses/200/content/', direction: 'response', isText: false },
  'property of a response': { at: '/post/responses/200/content/', direction: 'response', isText: false },
  header: { at: '/post/responses/200/headers/', direction: 'response', isText: true },
};

function itemOf(schema: Constraint['wide']): object {
  return {
    put: { requestBody: json(schema), responses: { 200: { description: 'It.', ...json(schema) } } },
    post: {
      parameters: [{ name: 'in', in: 'query', schema }],
      requestBody: json(within(schema)),
      responses: { 200: { description: 'It.', headers: { In: { schema } }, ...json(within(schema)) } },
    },
  };
}

const pathOf = (name: string) => `/${name}`;

function documentOf(side: 'before' | 'after'): Bundle {
  const of = ({ wide, narrow }: Constraint, isForward: boolean) => (isForward === (side === 'before') ? wide : narrow);
  const document = {
    openapi: '3.1.0',
    info: { title: 'A catalogue', version: '1.0.0' },
    components: { securitySchemes: { oauth: { type: 'oauth2', flows: {} }, key: { type: 'http', scheme: 'bearer' } } },
    paths: {
      ...Object.fromEntries(
        constraints.flatMap((row) => [
          [pathOf(`${row.name} narrower`), itemOf(of(row, true))],
          [pathOf(`${row.name} wider`), itemOf(of(row, false))],
        ]),
      ),
      ...Object.fromEntries(edits.map((edit) => [pathOf(edit.name), { post: edit[side] }])),
    },
  };
  // Written and read again, so that no two places are the same object.
  return JSON.parse(JSON.stringify(document));
}

let breaks: readonly Break[];
beforeAll(async () => {
  ({ breaks } = await compare(documentOf('before'), documentOf('after')));
});

const found = (name: string, inside = '/') => {
  const start = `${pointerTo('paths', pathOf(name))}${inside}`;
  return breaks.filter(({ at }) => at.startsWith(start)).map(({ rule, says }) => `${rule}: ${says}`);
};

const usual: NonNullable<Constraint['breaks']> = { narrower: ['request'], wider: ['response'] };

const isBreak = ({ breaks = usual, breaksInText = breaks }: Constraint, way: Way, { direction, isText }: Place) =>
  (isText ? breaksInText : breaks)[way].includes(direction);

describe.each(constraints)('$name', (row) => {
  test.each(['narrower', 'wider'] as const)('%s', (way) => {
    const got = Object.entries(places).filter(([, { at }]) => found(`${row.name} ${way}`, at).length > 0);
    const expected = Object.entries(places).filter(([, place]) => isBreak(row, way, place));
    expect(
      got.map(([name]) => name),
      found(`${row.name} ${way}`).join('\n'),
    ).toEqual(expected.map(([name]) => name));
  });
});

test.each(edits)('$name', (edit: Edit) => {
  expect(found(edit.name).length > 0, found(edit.name).join('\n')).toBe(edit.isBreak);
});

test('documents without operationId, responses, components and extensions', async () => {
  const document = (more: object) => ({ openapi: '3.0.3', paths: { '/a': { get: {}, ...more } } });
  expect(await compare(document({}), document({}))).toEqual({ breaks: [], others: [] });
  expect((await compare(document({ put: {} }), document({}))).breaks).toEqual([
    { rule: 'operation-removed', at: '#/paths/~1a/put', says: 'Operation `PUT /a` was removed.' },
  ]);
});
