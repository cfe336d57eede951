import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { seedDemoData } from '@financial-automation/demo-data';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { atEnd } from '../../../test/at-end.ts';
import { engineName } from '../../../test/database.ts';
import { freePort } from '../../../test/free-port.ts';
import { type Environment, processEnvironment, runCli, startServer } from '../../../test/process.ts';
import { readConfig } from '../../app/read-config.ts';
import { createService } from '../../entity/service.ts';
import { onDatabase } from '../run-commands.ts';
import { createTenant } from '../tenants.ts';
import { exportTenant } from './export-tenant.ts';

// It has both engines.
test.skipIf(engineName === 'pglite')('a tenant goes from PostgreSQL to a server on PGlite and back', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fa-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  const postgres = await processEnvironment();
  const { DATABASE_URL: _url, ...common } = postgres;
  // Without work in the background, which changes rows.
  const pglite: Environment = {
    ...common,
    BACKGROUND: 'off',
    DATA_DIR: join(folder, 'pglite'),
    PORT: String(await freePort()),
  };
  const original = join(folder, 'original.ndjson.gz');
  const config = readConfig(postgres);
  await onDatabase(config, async (operator) => {
    const place = { currency: 'USD', timeZone: 'America/Los_Angeles', country: 'US' };
    await createTenant(operator, { name: 'hartwell', displayName: 'Hartwell & Oakes LLP', ...place });
    const service = await createService(config, operator.service.store, pino({ level: 'silent' }));
    await seedDemoData({ service }, 'hartwell');
    await exportTenant(operator, { tenant: 'hartwell', to: original, transferKey: null });
  });

  const server = await startServer(pglite);
  expect(await runCli(pglite, 'tenant', 'import', original)).toMatchObject({ code: 0, error: '' });
  const there = join(folder, 'there.ndjson.gz');
  expect(await runCli(pglite, 'tenant', 'export', 'hartwell', '--to', there)).toMatchObject({ code: 0 });
  expect(await runCli(pglite, 'tenant', 'export', 'hartwell', '--to', '-')).toMatchObject({
    code: 1,
    error: expect.stringContaining('The server has the embedded database open, and writes the file itself.'),
  });
  server.kill('SIGTERM');
  await server.finished;
  expect(await digestOf(there)).toEqual(await digestOf(original));

  expect(await runCli(postgres, 'tenant', 'import', there, '--name', 'back')).toMatchObject({ code: 0 });
  const back = join(folder, 'back.ndjson.gz');
  expect(await runCli(postgres, 'tenant', 'export', 'back', '--to', back)).toMatchObject({ code: 0 });
  expect(await digestOf(back)).toEqual(await digestOf(original));
});

/** Number and hash of the lines with rows and content, without those about the export. */
async function digestOf(path: string): Promise<{ readonly lines: number; readonly sha256: string }> {
  const lines = gunzipSync(await readFile(path))
    .toString()
    .trimEnd()
    .split('\n')
    .slice(1, -1);
  return { lines: lines.length, sha256: createHash('sha256').update(lines.join('\n')).digest('hex') };
}
