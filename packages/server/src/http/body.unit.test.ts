import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findUnstorable, parseBody, Unstorable } from './body.ts';

const parse = (text: string) => parseBody(new TextEncoder().encode(text));

test.each(['0', '-1', '0.1', '1e3', '1.50', '100000000000000000000', '0e99', '1E-7', '0.30000000000000004'])(
  'keeps a number that a double represents exactly: %s',
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
])('marks a number that a double cannot represent exactly: %s', (number) => {
  expect(parse(`{"a":[${number}]}`)).toEqual({ a: [expect.any(Unstorable)] });
  expect(findUnstorable(parse(`{"a":[{"b/c":${number}}]}`))).toMatchObject({ pointer: '/a/0/b~1c' });
});

test('does not treat digits in a text as a number', () => {
  expect(parse('{"a":"12345678901234567890","1e400":1}')).toEqual({ a: '12345678901234567890', '1e400': 1 });
});

test('reads every double that JavaScript writes as the same value', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      expect(parse(JSON.stringify(number))).toBe(number === 0 ? 0 : number);
    }),
  );
});

test('a property named __proto__ changes no prototype, and is detected', () => {
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
