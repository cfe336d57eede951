import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { isNightly } from '../../test/nightly.ts';
import { findUnstorable, Unstorable } from '../contract/unstorable.ts';
import { parseBody } from './body.ts';
import { FormFields } from './form.ts';

const parse = (text: string) => parseBody(new TextEncoder().encode(text));

test.each(['0', '-1', '0.1', '1e3', '1.50', '100000000000000000000', '0e99', '1E-7', '0.30000000000000004'])(
  'parseBody › keeps a number that a double represents exactly: %s',
  (number) => {
    expect(parse(number)).toBe(Number(number));
  },
);

test.each([
  '9007199254740993',
  '0.1234567890123456789',
  '1e400',
  '-1e400',
  '1e-400',
  '12345678901234567890',
  '0.30000000000000004001',
])('parseBody › marks a number that a double cannot represent exactly: %s', (number) => {
  expect(parse(`{"a":[${number}]}`)).toEqual({ a: [expect.any(Unstorable)] });
  expect(findUnstorable(parse(`{"a":[{"b/c":${number}}]}`))).toMatchObject({ pointer: '/a/0/b~1c' });
});

test('parseBody › does not treat digits in a text as a number', () => {
  expect(parse('{"a":"12345678901234567890","1e400":1}')).toEqual({ a: '12345678901234567890', '1e400': 1 });
});

test('parseBody › reads every double that JavaScript writes as the same value', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      expect(parse(JSON.stringify(number))).toBe(number === 0 ? 0 : number);
    }),
  );
});

test('parseBody › detects a property named __proto__, which changes no prototype', () => {
  for (const name of ['__proto__', '\\u005f_proto__']) {
    const parsed = parse(`{"a":{"${name}":{"admin":true}}}`) as { a: object };
    expect(Object.getPrototypeOf(parsed.a)).toBe(Object.prototype);
    expect('admin' in parsed.a).toBe(false);
    expect(findUnstorable(parsed)).toEqual({
      pointer: '/a/__proto__',
      detail: 'A property cannot be called __proto__.',
    });
    expect(() => JSON.stringify(parsed)).toThrow('was not rejected');
  }
});

function problemOf(text: string) {
  try {
    parse(text);
  } catch (error) {
    return error;
  }
  return undefined;
}

const rejected = (code: string, pointer: string) => ({
  code: 'MALFORMED_REQUEST',
  errors: [expect.objectContaining({ in: 'body', pointer, code })],
});

test('parseBody › reads JSON within the limits as JSON.parse does', () => {
  const anyJson = fc
    .jsonValue({ stringUnit: 'binary', maxDepth: 5 })
    // Properties of this name are read as values that cannot be stored.
    .filter((value) => !JSON.stringify(value).includes('"__proto__":'));
  fc.assert(
    fc.property(anyJson, fc.constantFrom(0, 1, '\t'), (value, space) => {
      const json = JSON.stringify(value, undefined, space).normalize('NFC');
      const problem = problemOf(json);
      if (problem !== undefined) {
        // Text that cannot be stored, and names that are equal when they are normalized.
        expect(problem).toMatchObject({ errors: [{ code: expect.stringMatching(/^(CHARACTER|DUPLICATE_KEY)$/) }] });
        return;
      }
      expect(JSON.stringify(parse(json))).toBe(JSON.stringify(value).normalize('NFC'));
    }),
    { numRuns: isNightly ? 100 : 12 },
  );
});

test.each([
  ['{"a":1,"a":2}', '/a'],
  ['{"a":1,"\\u0061":2}', '/a'],
  ['{"b":[0,{"c/d":{}, "x":"}{,:", "c/d":[]}]}', '/b/1/c~1d'],
  ['{"é":1,"e\u0301":2}', '/é'],
  ['{"a":{"\\u00e9":1,"e\\u0301":2}}', '/a/é'],
  ['{"__proto__":1,"__proto__":2}', '/__proto__'],
  ['{"__proto__":{"a":1,"a":2}}', '/__proto__/a'],
  ['{"1":0,"1":0}', '/1'],
  ['{"n":1e400,"n":2}', '/n'],
])('parseBody › rejects an object with a property twice: %s', (json, pointer) => {
  expect(problemOf(json)).toMatchObject(rejected('DUPLICATE_KEY', pointer));
});

test('parseBody › points at the value beyond a limit, whatever comes before it', () => {
  const before = '{"a":1,"a":["}",{"b\\"/":[],"é":[0,{';
  expect(problemOf(`${before}"x\\u0041~":1${'0'.repeat(100)}}]}]}`)).toMatchObject(rejected('DIGITS', '/a/1/é/1/xA~0'));
});

test.each(['\u0001', ' \u001f\n', '\uffff'])('parseBody › rejects a text of control characters alone: %j', (text) => {
  expect(problemOf(JSON.stringify({ a: text }))).toMatchObject(rejected('CHARACTER', '/a'));
  expect(parse(JSON.stringify({ a: `${text}a`, b: ' \n\t' }))).toEqual({ a: `${text}a`, b: ' \n\t' });
});

test('findDuplicate › finds the duplicate in any JSON, and none if there is none', () => {
  interface Tree {
    readonly json: string;
    readonly hasDuplicate: boolean;
  }
  const some = (trees: readonly Tree[]) => trees.some(({ hasDuplicate }) => hasDuplicate);
  const name = fc.constantFrom('a', 'b', '"', '\\', '{', 'é', 'e\u0301', '~/');
  const { tree } = fc.letrec<Record<'tree' | 'list' | 'object', Tree>>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('1', '"x:,"', 'null', '[]', '{}').map((json) => ({ json, hasDuplicate: false })),
      tie('list'),
      tie('object'),
    ),
    list: fc
      .array(tie('tree'), { maxLength: 4 })
      .map((items) => ({ json: `[${items.map(({ json }) => json).join(' , ')}]`, hasDuplicate: some(items) })),
    object: fc.array(fc.tuple(name, tie('tree')), { maxLength: 4 }).map((entries) => ({
      json: `{${entries.map(([key, { json }]) => `${JSON.stringify(key)} : ${json}`).join(',')}}`,
      hasDuplicate:
        new Set(entries.map(([key]) => key.normalize('NFC'))).size < entries.length ||
        some(entries.map(([, value]) => value)),
    })),
  }));
  fc.assert(
    fc.property(tree, ({ json, hasDuplicate }) => {
      expect(problemOf(json) !== undefined).toBe(hasDuplicate);
    }),
  );
});

test('parseBody › reads a name with an escape as itself, whatever was read before', () => {
  for (const body of ['{"h":0,"\\\\":0}', '{"a":0,"\\\\u0062":0}']) parse(body);
  expect(parse('{"h":0,"\\"":[{"a":0,"\\u0062":"\\u0062:"}]}')).toEqual({ h: 0, '"': [{ a: 0, b: 'b:' }] });
  expect(problemOf('{"h":0,"\\"":0,"\\"":0}')).toMatchObject(rejected('DUPLICATE_KEY', '/"'));
});

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const marks = (length: number) => '\u0301'.repeat(length);
test.each([
  ['DEPTH', nested(100), `{"a":${nested(100)}}`, `/a${'/0'.repeat(99)}`],
  ['TOO_MANY_VALUES', `[${'1,'.repeat(99_998)}1]`, `[${'1,'.repeat(99_999)}1]`, '/99999'],
  ['DIGITS', `["${'9'.repeat(101)}",1${'0'.repeat(99)}]`, `[0,1${'0'.repeat(100)}]`, '/1'],
  ['NAME_LENGTH', `{"${'n'.repeat(255)}":1}`, `{"a":{"${'n'.repeat(256)}":1}}`, `/a/${'n'.repeat(256)}`],
  ['COMBINING_MARKS', `["x${marks(30)}y${marks(30)}"]`, `{"a":["x${marks(31)}"]}`, '/a/0'],
])('parseBody › limits what takes time to read: %s', (code, within, beyond, pointer) => {
  expect(problemOf(within)).toBeUndefined();
  expect(problemOf(beyond)).toMatchObject(rejected(code, pointer));
  // What is cut off is not valid JSON, but is not worked on either.
  expect(problemOf(beyond.slice(0, -1))).toBeInstanceOf(Error);
});

test('FormFields › looks through its fields once, however many are read', () => {
  const fields = new FormFields('a=1&b=2&a=3');
  const read = vi.spyOn(fields, Symbol.iterator);
  expect([fields.get('a'), fields.getAll('a'), fields.get('c')]).toEqual(['1', ['1', '3'], null]);
  expect([fields.has('b'), fields.has('c')]).toEqual([true, false]);
  expect(read).toHaveBeenCalledTimes(1);
});
