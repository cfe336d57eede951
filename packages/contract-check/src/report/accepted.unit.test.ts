import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { findingOf, reportWith } from '../../test/doubles/report.ts';
import type { Finding } from '../finding/finding.ts';
import { run } from '../main.ts';
import type { CheckOptions } from '../run/options.ts';
import type { Report } from '../run/report.ts';

const long = findingOf({ title: 'The name is too long.', cause: 'response-body listClients name' });
const missing = findingOf({ title: 'The total is missing.', cause: 'response-body listClients total' });

async function folder() {
  const directory = await mkdtemp(join(tmpdir(), 'contract-check-baseline-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'baseline.json');
  return {
    read: async () => JSON.parse(await readFile(file, 'utf8')) as Record<string, string>[],
    write: (entries: unknown) => writeFile(file, JSON.stringify(entries)),
    async command(findings: readonly Finding[], args: readonly string[] = [], changes: Partial<Report> = {}) {
      let runs = 0;
      const [stdout, stderr] = [new PassThrough(), new PassThrough()];
      const outputs = [text(stdout), text(stderr)] as const;
      const work = {
        check: async ({ onSecret }: CheckOptions) => {
          runs += 1;
          onSecret?.({ value: 'hunter2hunter2', variable: 'API_KEY' });
          return reportWith({ findings, ...changes });
        },
        planOf: () => Promise.reject(new Error('Unexpected call.')),
      };
      const words = ['--spec', 'openapi.yaml', '--baseline', 'baseline.json', ...args];
      const code = await run(words, work, { stdout, stderr, directory });
      stdout.end();
      stderr.end();
      const [out, error] = await Promise.all(outputs);
      return { code, out, error, runs };
    },
  };
}

const accepted = (finding: Finding, reason = 'Clients of version 1 depend on it.') => ({
  operation: finding.operation,
  title: finding.title,
  cause: finding.cause,
  reason,
});

test('findings that were written to the baseline and have a reason do not count', async () => {
  const { read, write, command } = await folder();
  const updated = await command([long, missing], ['--update-baseline']);
  expect(updated).toMatchObject({ code: 0, out: expect.stringContaining('2 entries of it must still say why') });
  const entries = await read();
  expect(entries).toEqual([accepted(long, ''), accepted(missing, '')]);
  await write(entries.map((entry) => ({ ...entry, reason: 'Clients of version 1 depend on it.' })));
  const { code, out } = await command([long, missing]);
  expect(code).toBe(0);
  expect(out).toMatch(/^No findings/);
  expect(out).toContain('The name is too long: Clients of version 1 depend on it.');
});

test('an entry without a reason is an error before the run', async () => {
  const { write, command } = await folder();
  await write([accepted(long), accepted(missing, ' ')]);
  expect(await command([long, missing])).toMatchObject({
    runs: 0,
    code: 2,
    error: expect.stringMatching(/Entry 2 of .+baseline\.json has no reason: The total is missing\. Write why/),
  });
});

test('a finding that is not in the baseline is reported, alone', async () => {
  const { write, command } = await folder();
  await write([accepted(long)]);
  const { code, out } = await command([long, missing]);
  expect(code).toBe(1);
  expect(out).toMatch(/^1 finding /);
  expect(out).toContain('✗ 1  The total is missing.');
  expect(out).not.toContain('✗ 2');
});

test('a finding that occurs at a further place is reported', async () => {
  const { write, command } = await folder();
  await write([accepted(long)]);
  const places = [long, { ...long, operation: 'getClient', cause: 'response-body getClient name' }];
  expect(await command([{ ...long, places }])).toMatchObject({ code: 1 });
});

test('an update keeps reasons and removes what no longer occurs, which a run only mentions', async () => {
  const { read, write, command } = await folder();
  await write([accepted(long), accepted(missing)]);
  const { code, out } = await command([missing]);
  expect(code).toBe(0);
  expect(out).toContain('1 of 2 accepted differences');
  expect(await command([missing], ['--update-baseline'])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/baseline\.json accepts 1 finding\.\n$/),
  });
  expect(await read()).toEqual([accepted(missing)]);
});

test('a run that is incomplete does not change the baseline', async () => {
  const { read, write, command } = await folder();
  await write([accepted(long)]);
  const shortfall = { kind: 'operations', covered: 10, minimum: 50 } as const;
  expect(await command([], ['--update-baseline'], { shortfall })).toMatchObject({ code: 2 });
  expect(await read()).toEqual([accepted(long)]);
});

test('secrets are not written, and what has one is accepted all the same', async () => {
  const { read, write, command } = await folder();
  const secret = findingOf({ title: 'The key hunter2hunter2 is returned.', cause: 'secret hunter2hunter2' });
  await command([secret], ['--update-baseline']);
  const entries = await read();
  expect(JSON.stringify(entries)).not.toContain('hunter2');
  await write(entries.map((entry) => ({ ...entry, reason: 'It is public.' })));
  expect(await command([secret])).toMatchObject({ code: 0 });
  await command([secret], ['--update-baseline']);
  expect(await read()).toEqual([expect.objectContaining({ reason: 'It is public.' })]);
});

test.each([
  ['does not exist', undefined, /cannot be read\. Create it with --update-baseline\./],
  ['is no list of findings', { cause: 'x' }, /is invalid: it must be a JSON array/],
  ['has a title that is no text', [{ cause: 'x', reason: '', title: 1 }], /is invalid: it must be a JSON array/],
])('a baseline that %s is an error in one sentence', async (_what, content, sentence) => {
  const { write, command } = await folder();
  if (content !== undefined) await write(content);
  const { code, error } = await command([long]);
  expect(code).toBe(2);
  expect(error).toMatch(sentence);
});

test('--update-baseline without a file is an error', async () => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const error = text(stderr);
  const unexpected = () => Promise.reject(new Error('Unexpected call.'));
  const words = ['--spec', 'openapi.yaml', '--update-baseline'];
  expect(await run(words, { check: unexpected, planOf: unexpected }, { stdout, stderr, directory: '.' })).toBe(2);
  stderr.end();
  expect(await error).toMatch(/requires the file to write: --baseline FILE/);
});
