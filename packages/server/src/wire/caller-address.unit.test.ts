import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { callerAddress } from './caller-address.ts';

const addressOf = (trusted: Parameters<typeof callerAddress>[0], forwarded: string) =>
  callerAddress(trusted)({
    headers: { 'x-forwarded-for': forwarded },
    socket: { remoteAddress: '10.0.0.1' },
  } as unknown as IncomingMessage);

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['198.51.100.9, 203.0.113.7', '203.0.113.7'],
  ['2001:db8::7', '2001:db8::7'],
  // As some proxies write it; each connection of a caller has another port.
  ['203.0.113.7:50123', '203.0.113.7'],
  ['[2001:db8::7]:50123', '2001:db8::7'],
  ['[2001:db8::7]', '2001:db8::7'],
  ['unknown', '10.0.0.1'],
  ['<script>', '10.0.0.1'],
  ['9'.repeat(8_000), '10.0.0.1'],
])('a trusted proxy that names %j names %s', (forwarded, address) => {
  expect(addressOf(1, forwarded)).toBe(address);
  expect(addressOf(['10.0.0.0/8'], forwarded)).toBe(address);
});

test('nobody else names an address', () => {
  expect(addressOf(0, '203.0.113.7')).toBe('10.0.0.1');
  expect(addressOf(['10.9.0.0/16'], '203.0.113.7')).toBe('10.0.0.1');
});
