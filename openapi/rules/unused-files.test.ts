import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConfig, lint } from '@redocly/openapi-core';
import { afterEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { unusedFiles } from './unused-files.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

async function sentences(files: Record<string, unknown>): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'contract-'));
  folders.push(folder);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), stringify(content));
  }
  const config = await createConfig(
    { rules: { 'contract/unused-files': 'error' } },
    { plugins: [{ id: 'contract', rules: { oas3: { 'contract/unused-files': unusedFiles } } }] },
  );
  return (await lint({ ref: join(folder, 'openapi.yaml'), config })).map(({ message }) => message);
}

const root = {
  openapi: '3.1.0',
  info: { title: 'x', version: '1.0.0' },
  paths: { '/boats': { $ref: 'paths/boats.yaml' } },
};
const path = { get: { responses: { '200': { $ref: '../responses/Boats.yaml' } } } };

test('a file that nothing refers to is found', async () => {
  const files = { 'openapi.yaml': root, 'paths/boats.yaml': path, 'responses/Boats.yaml': { description: 'x' } };
  expect(await sentences(files)).toEqual([]);
  expect(await sentences({ ...files, 'schemas/boats/Old.yaml': {} })).toEqual([
    expect.stringMatching(/schemas\/boats\/Old\.yaml, or delete/),
  ]);
});
