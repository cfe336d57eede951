import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../test/free-port.ts';
import { runCli, startServer } from '../../test/process.ts';

const dataDir = await mkdtemp(join(tmpdir(), 'financial-automation-private-'));
afterAll(() => rm(dataDir, { recursive: true, force: true }));

test('only the owner can read or write the files that the first start creates in an existing directory', async () => {
  await chmod(dataDir, 0o755);
  const environment = { DATA_DIR: dataDir, PORT: String(await freePort()), PAYMENT_PROCESSOR: 'none' };
  const server = await startServer(environment);
  expect(await runCli(environment, 'tenant', 'create', 'hartwell')).toMatchObject({ code: 0 });
  const names = await readdir(dataDir, { recursive: true });
  const open: string[] = [];
  for (const name of names) {
    const { mode } = await stat(join(dataDir, name));
    // PostgreSQL caches parts of its catalogue in readable files, in a folder that only the owner can enter.
    const forbidden = name.startsWith('database/') ? 0o022 : 0o077;
    if (mode & forbidden) open.push(`${name} ${(mode & 0o777).toString(8)}`);
  }
  server.kill('SIGTERM');
  expect(await server.finished).toMatchObject({ code: 0 });
  expect(names).toEqual(expect.arrayContaining(['master.key', 'operator.sock', 'database/database/PG_VERSION']));
  expect(open).toEqual([]);
});
