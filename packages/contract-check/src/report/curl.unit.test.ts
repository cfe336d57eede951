import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { exchangeOf } from '../../test/doubles/report.ts';
import { isEveryDriftTested } from '../../test/sample.ts';
import { Mask } from '../http/mask.ts';
import { curlOf } from './curl.ts';

/** A fake curl that writes its arguments, separated by NUL, and its standard input. */
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

function run(line: string, environment: Record<string, string> = {}) {
  const output = execFileSync('sh', { input: line, env: { PATH: `${folder}:${process.env.PATH}`, ...environment } });
  const [words = '', ...rest] = splitOnce(output, Buffer.from('INPUT\0'));
  return { words: String(words).split('\0').slice(0, -1), bytes: rest[0], raw: output };
}

function splitOnce(bytes: Buffer, separator: Buffer): Buffer[] {
  const at = bytes.indexOf(separator);
  return at < 0 ? [bytes] : [bytes.subarray(0, at), bytes.subarray(at + separator.length)];
}

function sentBody(line: string): Buffer {
  const { words, bytes } = run(line);
  if (bytes !== undefined) return bytes;
  const at = words.findIndex((word) => word.startsWith('--data-'));
  return Buffer.from(words[at + 1] ?? '');
}

/** The bodies that many commands send, from one shell. A shell for each command would take a minute. */
function sentBodies(lines: readonly string[], shell: string, environment: Record<string, string> = {}): Buffer[] {
  const curl = `curl() {
    option=
    for argument in "$@"; do
      case $option in --data-*) printf %s "$argument" >"$call" ;; esac
      if [ "$option $argument" = '--data-binary @-' ]; then cat >"$call"; fi
      option=$argument
    done
  }`;
  const script = lines.map((line, index) => `call=${join(folder, `body-${index}`)}\n${line}`);
  execFileSync(shell, { input: [curl, ...script, ''].join('\n'), env: { PATH: process.env.PATH, ...environment } });
  return lines.map((_, index) => readFileSync(join(folder, `body-${index}`)));
}

const inAnyShell = fc.constantFrom('sh', 'bash');

test('a simple call is a short command', () => {
  expect(curlOf(exchangeOf({ url: 'http://localhost:3000/clients?limit=2' }))).toBe(
    "curl -i 'http://localhost:3000/clients?limit=2'",
  );
});

test('curl sends any body unchanged, in each shell', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({
      unit: fc.constantFrom("'", '"', '\\', '$', '`', '\n', '\0', '%', '!', '@', '-', 'é', '\u001b', '\r', 'a'),
    }),
  );
  const odd = ['@/etc/hosts', '@-', '-n', '\0-n\n\n', "it’s\n'$(id)'\n"];
  fc.assert(
    fc.property(fc.array(texts, { minLength: 30, maxLength: 60 }), inAnyShell, (some, shell) => {
      const bodies = [...odd, ...some];
      const headers = { 'content-type': 'text/plain' };
      const lines = bodies.map((body) => curlOf(exchangeOf({ method: 'POST', headers, body })));
      expect(sentBodies(lines, shell).map(String)).toEqual(bodies.map((body) => body.toWellFormed()));
    }),
    { numRuns: 3, endOnFailure: true },
  );
});

test('curl sends any body with a secret unchanged if the variable is set', () => {
  const texts = fc.string({ unit: fc.constantFrom("'", '"', '\\', '$', '`', '\n', '%', '!', '_', '1', 'é', '\u001b') });
  const secret = 's3cr3t-value';
  const bodies = fc.array(
    fc.tuple(texts, texts).map((around) => around.join(secret)),
    { minLength: 30, maxLength: 60 },
  );
  fc.assert(
    fc.property(bodies, inAnyShell, (some, shell) => {
      const headers = { 'content-type': 'text/plain' };
      const lines = some.map((body) =>
        curlOf(exchangeOf({ method: 'POST', headers, body }), new Mask([{ value: secret, variable: 'TOKEN' }])),
      );
      expect(lines.join('\n')).not.toContain(secret);
      expect(sentBodies(lines, shell, { TOKEN: secret }).map(String)).toEqual(some);
    }),
    { numRuns: 3, endOnFailure: true },
  );
});

test('a body too long for an argument is piped', () => {
  const body = JSON.stringify({ text: 'x'.repeat(200_000) });
  const line = curlOf(exchangeOf({ method: 'POST', headers: { 'content-type': 'application/json' }, body }));
  expect(String(sentBody(line))).toBe(body);
});

test('curl sends any URL and header unchanged', () => {
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
    { numRuns: isEveryDriftTested ? 100 : 5 },
  );
});

test('a header is encoded in Latin-1, as in the request', () => {
  const { raw } = run(curlOf(exchangeOf({ headers: { 'x-note': 'café' } })));
  expect(raw.includes(Buffer.from('x-note: café', 'latin1'))).toBe(true);
});

test('a credential is replaced with a variable', () => {
  const line = curlOf(exchangeOf({ headers: { authorization: 'Bearer abc.def' } }));
  expect(line).toBe('curl -i http://localhost:3000/clients -H "authorization: Bearer $TOKEN"');
  expect(run(line, { TOKEN: 'abc.def' }).words.at(-1)).toBe('authorization: Bearer abc.def');
});

test('default headers and URL globbing of curl are disabled', () => {
  expect(curlOf(exchangeOf({ method: 'HEAD' }))).toBe('curl -I http://localhost:3000/clients');
  expect(curlOf(exchangeOf({ method: 'POST', body: '' }))).toContain("-H Content-Type: --data-binary ''");
  expect(curlOf(exchangeOf({ headers: { host: 'localhost:3000', 'content-length': '2' } }))).not.toContain('-H');
  expect(curlOf(exchangeOf({ headers: { host: 'elsewhere' } }))).toContain("-H 'host: elsewhere'");
});
