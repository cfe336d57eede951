import { expect, test } from 'vitest';
import { mayBeLarge } from './raw-body.ts';

const limit = 1024 * 1024;

test.each([
  ['without a body', {}, limit, false],
  ['a small body', { 'content-length': '1000' }, limit, false],
  ['a large body', { 'content-length': '100000' }, limit, true],
  ['a body beyond the limit, which is not read', { 'content-length': '2000000' }, limit, false],
  ['a body of unknown length', { 'transfer-encoding': 'chunked' }, limit, true],
  ['a body of unknown length with a low limit', { 'transfer-encoding': 'chunked' }, 16_384, false],
  ['a compressed body', { 'content-length': '70', 'content-encoding': 'GZIP' }, 16_384, true],
  ['an uncompressed body that says so', { 'content-length': '70', 'content-encoding': 'identity' }, limit, false],
  ['an encoding without a body', { 'content-length': '0', 'content-encoding': 'gzip' }, limit, false],
])('mayBeLarge: %s', (_what, headers, most, expected) => {
  expect(mayBeLarge({ headers }, most)).toBe(expected);
});
