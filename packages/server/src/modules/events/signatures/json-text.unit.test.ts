import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compactMember } from './json-text.ts';

test.each([
  ['{"payload":{"b":1,"2":[1.0, 1e400 ,-0]},"x":1}', '{"b":1,"2":[1.0,1e400,-0]}'],
  ['{ "x" : {"payload":0} , "payload" :\n [ ] }', '[]'],
  ['{"payload":1,"payload": 2}', '2'],
  ['{"pay\\u006coad":"a \\" , b } é \\u00e9"}', '"a \\" , b } é \\u00e9"'],
  ['{"secret":",\\"payload\\":1","payload":null}', 'null'],
  ['{"payload":""}', '""'],
])('the payload of %s is %s', (json, payload) => {
  expect(compactMember(json, 'payload')).toBe(payload);
});

test('what JSON.stringify writes is found as it is, whatever the white space', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (payload, other, space) => {
      const json = JSON.stringify({ before: other, payload, after: other }, null, space);
      expect(compactMember(json, 'payload')).toBe(JSON.stringify(payload));
    }),
    { numRuns: 500 },
  );
});
