import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { readConfig, readServerConfig } from './read-config.ts';

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

test.each([
  ['127.0.0.1', 'http://127.0.0.1:3600'],
  ['0.0.0.0', 'http://127.0.0.1:3600'],
  ['::', 'http://[::1]:3600'],
  ['::1', 'http://[::1]:3600'],
])('without PUBLIC_URL, a server on %s is reached at %s', (HOST, url) => {
  expect(readConfig({ ...good, HOST, PORT: '3600' }).publicUrl).toBe(url);
});

test('MASTER_KEY is one key or several, each of 32 bytes', () => {
  const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)].map((key) => key.toString('base64'));
  const keysOf = (text: string) => readConfig({ ...good, MASTER_KEY: text }).masterKeys;
  expect(keysOf(`${one}`)).toEqual([Buffer.alloc(32, 1)]);
  expect(keysOf(`${one}, ${other}`)).toEqual([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]);
  for (const wrong of ['c2hvcnQ=', `${one},`, `${one},c2hvcnQ=`, `,${one}`])
    expect(() => keysOf(wrong), wrong).toThrow(/^The master key must be 32 bytes in base64, or several of them/);
});

test('COMPRESS_RESPONSES is off by default', () => {
  expect(readConfig(good).compressResponses).toBe(false);
  expect(readConfig({ ...good, COMPRESS_RESPONSES: 'on' }).compressResponses).toBe(true);
  expect(() => readConfig({ ...good, COMPRESS_RESPONSES: 'yes' })).toThrow(/COMPRESS_RESPONSES/);
});

test('CORS_ORIGINS accepts origins, and localhost for all its ports', () => {
  const CORS_ORIGINS = 'https://app.example.com, http://10.0.0.1:5173,localhost';
  const expected = ['https://app.example.com', 'http://10.0.0.1:5173', 'localhost'];
  expect(readConfig({ ...good, CORS_ORIGINS }).corsOrigins).toEqual(expected);
  expect(readConfig(good).corsOrigins).toEqual([]);
});

test.each([
  '*',
  'null',
  'app.example.com',
  'https://app.example.com/',
  'https://app.example.com/path',
  'ftp://a.example',
  ',',
])('CORS_ORIGINS rejects %s', (text) => {
  expect(() => readConfig({ ...good, CORS_ORIGINS: text })).toThrow(/CORS_ORIGINS: .*origins, such as/s);
});

test('READ_DATABASE_URL is a list of addresses of a server', () => {
  const [first, second] = ['postgres://reader:secret@one/db', 'postgresql://reader:secret@two:6432/db'];
  expect(readConfig({ ...good, READ_DATABASE_URL: `${first}, ${second}` }).standbyUrls).toEqual([first, second]);
  expect(readConfig(good).standbyUrls).toEqual([]);
  for (const wrong of [`${first},`, 'http://reader:secret@one/db'])
    expect(() => readConfig({ ...good, READ_DATABASE_URL: wrong })).toThrow(/^(?!.*secret).*READ_DATABASE_URL/s);
  expect(() => readConfig({ READ_DATABASE_URL: first })).toThrow(/standbys of DATABASE_URL, which is not set/);
});

test('no error message contains the password of the database', () => {
  expect(() => readConfig({ ...good, DATABASE_URL: 'http://owner:secret@localhost/db' })).toThrow(
    /^(?!.*secret).*DATABASE_URL/s,
  );
});

describe('the processor of payment links', () => {
  test.each([{ HOST: '127.0.0.1' }, { HOST: 'localhost' }, { PAYMENT_PROCESSOR: '' }])(
    'has no default, whatever the address: %o',
    (settings) => {
      expect(() => readServerConfig({ ...good, ...settings })).toThrow(
        /^Set PUBLIC_URL to the URL .+, or PAYMENT_PROCESSOR to stripe, sandbox .+ or none\.$/,
      );
      // Commands of the operator take no payments.
      expect(readConfig({ ...good, ...settings }).payments).toBeUndefined();
    },
  );

  test.each(['http://localhost:3000', 'http://127.0.0.1:3000', 'https://pay.example.com'])(
    'is none if only PUBLIC_URL is set: %s',
    (PUBLIC_URL) => {
      expect(readServerConfig({ ...good, PUBLIC_URL }).payments).toBeUndefined();
    },
  );

  test('is the sandbox only by its name', () => {
    expect(readServerConfig({ ...good, PAYMENT_PROCESSOR: 'sandbox' }).payments).toEqual({ processor: 'sandbox' });
    expect(readServerConfig({ ...good, PAYMENT_PROCESSOR: 'none' }).payments).toBeUndefined();
  });
});

test('settings.md lists every setting, and no other', async () => {
  const [source, page] = await Promise.all(
    ['read-config.ts', '../../docs/settings.md'].map((path) => readFile(new URL(path, import.meta.url), 'utf8')),
  );
  const namesIn = (text: string | undefined, pattern: RegExp) =>
    [...(text ?? '').matchAll(pattern)].map(([, name]) => name).sort();
  const rows = (page ?? '').split('\n').filter((line) => line.startsWith('| `'));
  const listed = rows.flatMap((row) => namesIn(row.split(' | ')[0], /`([A-Z][A-Z0-9_]+)`/g)).sort();
  expect(listed).toEqual(namesIn(source, /^ {6}([A-Z][A-Z0-9_]+): /gm));
});
