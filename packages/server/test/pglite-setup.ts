import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { ensureBundle } from '../scripts/bundle.ts';
import { hashFiles } from '../scripts/hash-files.ts';
import { openPglite } from '../src/platform/store/pglite.ts';
import { openStore } from '../src/platform/store/store.ts';
import { patientLimits } from './patient-limits.ts';
import './provided.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/pglite');

/**
 * Provides one empty and one migrated data directory to copy. Creating them is slow, so they are kept until the sources that
 * create them change.
 */
export default async function setUp(project: TestProject): Promise<void> {
  await ensureBundle();
  const folder = join(cache, await markOfSources());
  const databases = { engine: 'pglite', empty: join(folder, 'empty'), migrated: join(folder, 'migrated') } as const;
  if ((await readFile(join(folder, 'complete'), 'utf8').catch(() => '')) === '') await create(folder);
  project.provide('databases', databases);
}

async function create(folder: string): Promise<void> {
  // Another run may create the same: each writes its own, and the first that is complete remains.
  const unfinished = `${folder}.${process.pid}`;
  const [empty, migrated] = [join(unfinished, 'empty'), join(unfinished, 'migrated')];
  await mkdir(empty, { recursive: true });
  const engine = await openPglite(empty, patientLimits, { info() {}, warn() {} });
  await engine.close();
  await cp(empty, migrated, { recursive: true });
  const store = await openStore({ dataDir: migrated, limits: patientLimits });
  await store.close();
  await writeFile(join(unfinished, 'complete'), 'yes');
  for (const other of await readdir(cache))
    if (!other.includes('.')) await rm(join(cache, other), { recursive: true, force: true });
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true, force: true }));
}

async function markOfSources(): Promise<string> {
  const sources = [
    'packages/server/src/platform/store/**/*.{ts,sql}',
    'packages/server/test/pglite-setup.ts',
    'pnpm-lock.yaml',
  ];
  const hash = await hashFiles(root, sources, (file) => !file.endsWith('.test.ts'));
  return hash.slice(0, 16);
}
