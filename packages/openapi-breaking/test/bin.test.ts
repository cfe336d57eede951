import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const bin = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
const document = (paths: object) => JSON.stringify({ openapi: '3.1.0', info: { title: 'Pets', version: '1' }, paths });
const get = { get: { responses: { 200: { description: 'It.' } } } };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openapi-breaking-'));
  await writeFile(join(folder, 'before.yaml'), document({ '/pets': get, '/cats': get }));
  await writeFile(join(folder, 'after.yaml'), document({ '/pets': get }));
});
afterAll(() => rm(folder, { recursive: true }));

function run(...words: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...words], { cwd: folder, encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('openapi-breaking › exits with 0 if nothing breaks', () => {
  expect(run('before.yaml', 'before.yaml')).toEqual({ status: 0, stdout: 'Nothing breaks.\n', stderr: '' });
});

test('openapi-breaking › exits with 1 if something breaks, unless the baseline accepts it', async () => {
  const { status, stdout } = run('before.yaml', 'after.yaml');
  expect([status, stdout]).toEqual([1, expect.stringMatching(/\/cats[\s\S]*1 change breaks callers\.\n$/)]);
  const { stdout: breaks } = run('before.yaml', 'after.yaml', '--format', 'json');
  await writeFile(join(folder, 'accepted.json'), breaks);
  expect(run('before.yaml', 'after.yaml', '--baseline', 'accepted.json')).toEqual({
    status: 0,
    stdout: 'Nothing breaks. 1 is accepted.\n',
    stderr: '',
  });
});

test.each([
  ['a file that does not exist', ['before.yaml', 'none.yaml'], /none\.yaml cannot be read/],
  ['a missing argument', ['before.yaml'], /missing required argument 'after'/],
  ['a baseline that is none', ['before.yaml', 'after.yaml', '--baseline', 'before.yaml'], /is not a list of breaks/],
])('openapi-breaking › exits with 2 for %s', (_what, words, sentence) => {
  const { status, stderr } = run(...words);
  expect([status, stderr]).toEqual([2, expect.stringMatching(sentence)]);
});
