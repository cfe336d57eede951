import { expect, test } from 'vitest';
import { readTraceparent } from './trace-context.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';

test.each([
  [`00-${trace}-${parent}-01`, `00-${trace}-${parent}-01`],
  [`00-${trace}-${parent}-00`, `00-${trace}-${parent}-00`],
  // Later versions: the fields of version 00, with its only flag.
  [`01-${trace}-${parent}-03`, `00-${trace}-${parent}-01`],
  [`cc-${trace}-${parent}-fe-what-comes-then`, `00-${trace}-${parent}-00`],
])('the traceparent %s is read', (header, expected) => {
  expect(readTraceparent(header)).toBe(expected);
});

test.each([
  undefined,
  '',
  'zzz',
  `ff-${trace}-${parent}-01`,
  `00-${'0'.repeat(32)}-${parent}-01`,
  `00-${trace}-${'0'.repeat(16)}-01`,
  `00-${trace}-${parent}-01-more`,
  `01-${trace}-${parent}-01.more`,
  `00-${trace.toUpperCase()}-${parent}-01`,
  `00-${trace}-${parent}`,
  `00-${trace}-${parent}-01, 00-${trace}-${parent}-01`,
])('the traceparent %s is ignored', (header) => {
  expect(readTraceparent(header)).toBeUndefined();
});
