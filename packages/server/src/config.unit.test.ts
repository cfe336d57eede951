import { expect, test } from 'vitest';
import { readConfig } from './config.ts';

const good = { DATABASE_URL: 'postgres://owner:secret@localhost/db', MASTER_KEY: Buffer.alloc(32).toString('base64') };

test.each([
  ['0', 0],
  ['2', 2],
  ['10.0.0.0/8', ['10.0.0.0/8']],
  ['loopback, 192.168.1.7', ['loopback', '192.168.1.7']],
])('TRUST_PROXY accepts a number of proxies or their networks: %s', (text, expected) => {
  expect(readConfig({ ...good, TRUST_PROXY: text }).trustProxy).toEqual(expected);
});

test.each(['true', 'false', 'yes', '-1', '99', '10.0.0.0/40', '*'])('TRUST_PROXY rejects %s', (text) => {
  expect(() => readConfig({ ...good, TRUST_PROXY: text })).toThrow(/TRUST_PROXY: .*the number of proxies/s);
});

test('no error message contains the password of the database', () => {
  expect(() => readConfig({ ...good, DATABASE_URL: 'http://owner:secret@localhost/db' })).toThrow(
    /^(?!.*secret).*DATABASE_URL/s,
  );
});
