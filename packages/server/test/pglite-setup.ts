import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ensureBundle } from '../scripts/bundle.ts';
import { openPglite } from '../src/store/pglite.ts';
import { openStore } from '../src/store/store.ts';
import { patientLimits } from './patient-limits.ts';
import './provided.ts';

/** Creates one empty and one migrated data directory; creating them is slow, copying is not. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await ensureBundle();
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-pglite-'));
  const tearDown = () => rm(folder, { recursive: true, force: true });
  const empty = join(folder, 'empty');
  const migrated = join(folder, 'migrated');
  try {
    const engine = await openPglite(empty, patientLimits, { info() {}, warn() {} });
    await engine.close();
    await cp(empty, migrated, { recursive: true });
    const store = await openStore({ dataDir: migrated, limits: patientLimits });
    await store.close();
  } catch (error) {
    await tearDown();
    throw error;
  }
  project.provide('databases', { engine: 'pglite', empty, migrated });
  return tearDown;
}
