import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { components } from '@financial-automation/spec';
import { expect, test } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { firmOf } from '../../test/modules/staff.ts';
import { commandLine, createTenantWithKeys } from '../../test/operate.ts';
import { processEnvironment, runCli } from '../../test/process.ts';
import { testService } from '../../test/service.ts';
import { importFiles } from './import-files.ts';
import { importFolder } from './import-folder.ts';

type File = components['schemas']['FileMetadata'];

const service = await testService();
const { client } = firmOf(service);
const pdf = '%PDF-1.7\n%%EOF';

async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'financial-automation-import-'));
  atEnd(() => rm(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return root;
}

async function importAll(folder: string, clientRef?: string) {
  const shown: string[] = [];
  const options = {
    tenant: 'firm',
    source: 'REFERENCE_FILE',
    ...(clientRef === undefined ? {} : { client: clientRef }),
  };
  const summary = await importFolder(
    folder,
    options,
    (input) => importFiles(service, input),
    (text) => shown.push(text),
  );
  return { summary, shown: shown.join('') };
}

const filesOf = async (clientId: string) =>
  (await service.call<{ data: File[] }>('GET', `/api/v1/files?clientId=${clientId}&pageSize=100`)).body.data;

test('a folder is imported with its subfolders, and a second run skips imported files', async () => {
  const clientId = await client({ clientRef: 'C-77001' });
  const folder = await folderOf({ 'a.pdf': pdf, '2025/Übersicht.csv': 'a,b', '2025/q1/b.pdf': pdf, '.hidden': 'x' });
  const secret = await folderOf({ 'secret.txt': 'secret' });
  await symlink(join(secret, 'secret.txt'), join(folder, 'link.txt'));
  await symlink(secret, join(folder, 'linked'));
  expect(await importAll(folder, 'C-77001')).toEqual({ summary: '3 files imported.', shown: '\r3 of 3 files\n' });
  const files = await filesOf(clientId);
  expect(files.map(({ fileName, folderPath, mimeType }) => [folderPath, fileName, mimeType])).toEqual([
    ['/2025/q1', 'b.pdf', 'application/pdf'],
    ['/2025', 'Übersicht.csv', 'text/csv'],
    [null, 'a.pdf', 'application/pdf'],
  ]);
  for (const file of files) expect(file).toMatchObject({ status: 'AVAILABLE', source: 'REFERENCE_FILE', active: true });
  await writeFile(join(folder, 'a.pdf'), `${pdf} changed`);
  expect((await importAll(folder, 'C-77001')).summary).toBe('1 file imported, 2 already imported.');
  expect(await filesOf(clientId)).toHaveLength(4);
});

test('programs, and content that does not match the file name, are rejected and not stored', async () => {
  const clientId = await client({ clientRef: 'C-77002' });
  const folder = await folderOf({
    'run.exe': 'MZ',
    'tool.txt': '\u007fELF\u0002\u0001\u0001',
    'letter.pdf': 'no',
    'ok.txt': 'x',
  });
  const { summary } = await importAll(folder, 'C-77002');
  expect(summary.split('\n')).toEqual([
    '1 file imported, 3 rejected.',
    '  letter.pdf: The content is not application/pdf, as the file name suggests.',
    '  run.exe: Programs are not accepted.',
    '  tool.txt: Programs are not accepted.',
  ]);
  const files = await filesOf(clientId);
  expect(files.filter(({ status }) => status === 'REJECTED').map(({ sha256 }) => sha256)).toEqual([null, null, null]);
  await importAll(folder, 'C-77002');
  expect(await filesOf(clientId)).toHaveLength(4);
});

test('a path outside of the folder is not read', async () => {
  const folder = await folderOf({ 'inside/a.txt': 'x', 'outside.txt': 'secret' });
  const root = join(folder, 'inside');
  await symlink(join(folder, 'outside.txt'), join(root, 'link.txt'));
  const input = { tenant: 'firm', client: null, source: 'REFERENCE_FILE', root };
  for (const path of ['../outside.txt', 'link.txt', '.']) {
    await expect(importFiles(service, { ...input, paths: [path] })).rejects.toThrow(/is not a file of the folder/);
  }
});

test('errors are reported in one sentence', async () => {
  const folder = await folderOf({ 'a.txt': 'x' });
  await expect(importAll(join(folder, 'nothing'))).rejects.toThrow(/nothing cannot be read: ENOENT\.$/);
  await expect(importAll(join(folder, 'a.txt'))).rejects.toThrow(/is a file\. Specify its folder/);
  await expect(importAll(folder, 'C-00000')).rejects.toThrow('No active client has the clientRef C-00000.');
  expect(await importAll(await folderOf({}))).toMatchObject({
    summary: expect.stringMatching(/^No files found in /),
  });
  // Root can read files that others cannot.
  if (process.geteuid?.() === 0) return;
  await chmod(join(folder, 'a.txt'), 0);
  await expect(importAll(folder)).rejects.toThrow(/a\.txt cannot be imported: EACCES\.$/);
});

test('files import › the command', async () => {
  const environment = await processEnvironment();
  await createTenantWithKeys(environment, 'hartwell');
  const folder = await folderOf(Object.fromEntries(Array.from({ length: 30 }, (_, number) => [`${number}.txt`, 'x'])));
  const done = await runCli(environment, 'files', 'import', folder, '--tenant', 'hartwell');
  expect(done).toEqual({ code: 0, out: '30 files imported.\n', error: '\r25 of 30 files\r30 of 30 files\n' });
  await expect(commandLine(environment, 'files', 'import', folder, '--tenant', 'other')).rejects.toThrow(
    /^The tenant other does not exist. To create it, run: .*npx --yes pnpm@12 operator tenant create other$/,
  );
});
