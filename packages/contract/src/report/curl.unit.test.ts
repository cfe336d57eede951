import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { curlOf } from './curl.ts';
import { exchangeOf } from './test-report.ts';

/** A curl that writes each argument with a NUL after it, and what it reads. */
const folder = mkdtempSync(join(tmpdir(), 'contract-check-curl-'));
writeFileSync(
  join(folder, 'curl'),
  `#!/bin/sh
input=no
for argument in "$@"; do printf '%s\\0' "$argument"; [ "$argument" = @- ] && input=yes; done
if [ $input = yes ]; then printf 'INPUT\\0'; cat; fi
exit 0
`,
);
chmodSync(join(folder, 'curl'), 0o755);
afterAll(() => rmSync(folder, { recursive: true }));

function run(line: string, environment: Record<string, string> = {}, shell = 'sh') {
  const output = execFileSync(shell, { input: line, env: { PATH: `${folder}:${process.env.PATH}`, ...environment } });
  const [words = '', ...rest] = splitOnce(output, Buffer.from('INPUT\0'));
  return { words: String(words).split('\0').slice(0, -1), bytes: rest[0], raw: output };
}

function splitOnce(bytes: Buffer, separator: Buffer): Buffer[] {
  const at = bytes.indexOf(separator);
  return at < 0 ? [bytes] : [bytes.subarray(0, at), bytes.subarray(at + separator.length)];
}

function sentBody(line: string, environment?: Record<string, string>, shell?: string): Buffer {
  const { words, bytes } = run(line, environment, shell);
  if (bytes !== undefined) return bytes;
  const at = words.findIndex((word) => word.startsWith('--data-'));
  return Buffer.from(words[at + 1] ?? '');
}

test('a simple call is a short line', () => {
  expect(curlOf(exchangeOf({ url: 'http://localhost:3000/clients?limit=2' }))).toBe(
    "curl -i 'http://localhost:3000/clients?limit=2'",
  );
});

test('any body arrives at curl byte by byte, in each shell', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({
      unit: fc.constantFrom("'", '"', '\\', '$', '`', '\n', '\0', '%', '!', '@', '-', 'é', '\u001b', '\r', 'a'),
    }),
  );
  fc.assert(
    fc.property(texts, fc.constantFrom('sh', 'bash'), (body, shell) => {
      const line = curlOf(exchangeOf({ method: 'POST', headers: { 'content-type': 'text/plain' }, body }));
      expect(sentBody(line, {}, shell).equals(Buffer.from(body))).toBe(true);
    }),
    {
      numRuns: 150,
      examples: [
        ['@/etc/hosts', 'sh'],
        ['-n', 'sh'],
        ['\0-n\n\n', 'sh'],
        ["it’s\n'$(id)'\n", 'bash'],
      ],
    },
  );
});

test('any body with a secret arrives as it was sent when the variable is set', () => {
  const texts = fc.string({ unit: fc.constantFrom("'", '"', '\\', '$', '`', '\n', '%', '!', '_', '1', 'é', '\u001b') });
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const body = `${before}s3cr3t-value${after}`;
      const secrets = [{ value: 's3cr3t-value', variable: 'TOKEN' }];
      const line = curlOf(exchangeOf({ method: 'POST', headers: { 'content-type': 'text/plain' }, body }), secrets);
      expect(line).not.toContain('s3cr3t-value');
      expect(String(sentBody(line, { TOKEN: 's3cr3t-value' }))).toBe(body);
    }),
    { numRuns: 80 },
  );
});

test('a body too long for an argument is piped', () => {
  const body = JSON.stringify({ text: 'x'.repeat(200_000) });
  const line = curlOf(exchangeOf({ method: 'POST', headers: { 'content-type': 'application/json' }, body }));
  expect(String(sentBody(line))).toBe(body);
});

test('any URL and header arrive as they were sent', () => {
  const values = fc.string({ unit: fc.constantFrom(...' \t!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~aZ09') });
  fc.assert(
    fc.property(values, values, (value, query) => {
      const url = `http://localhost/a/../b?q=${encodeURIComponent(query)}&[x]=${query}`;
      const { words } = run(curlOf(exchangeOf({ method: 'PUT', url, headers: { 'x-note': value } })));
      expect(words).toEqual([
        ...['-i', '-X', 'PUT', '-g', '--path-as-is', url, '-H'],
        value === '' ? 'x-note;' : `x-note: ${value}`,
      ]);
    }),
    { numRuns: 80 },
  );
});

test('a header is written in Latin-1, as it was sent', () => {
  const { raw } = run(curlOf(exchangeOf({ headers: { 'x-note': 'café' } })));
  expect(raw.includes(Buffer.from('x-note: café', 'latin1'))).toBe(true);
});

test('a credential is a variable that the line reads', () => {
  const line = curlOf(exchangeOf({ headers: { authorization: 'Bearer abc.def' } }));
  expect(line).toBe('curl -i http://localhost:3000/clients -H "authorization: Bearer $TOKEN"');
  expect(run(line, { TOKEN: 'abc.def' }).words.at(-1)).toBe('authorization: Bearer abc.def');
});

test('what curl would do by itself is kept from it', () => {
  expect(curlOf(exchangeOf({ method: 'HEAD' }))).toBe('curl -I http://localhost:3000/clients');
  expect(curlOf(exchangeOf({ method: 'POST', body: '' }))).toContain("-H Content-Type: --data-binary ''");
  expect(curlOf(exchangeOf({ headers: { host: 'localhost:3000', 'content-length': '2' } }))).not.toContain('-H');
  expect(curlOf(exchangeOf({ headers: { host: 'elsewhere' } }))).toContain("-H 'host: elsewhere'");
});
