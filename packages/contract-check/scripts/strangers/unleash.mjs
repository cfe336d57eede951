/** Unleash, with a PostgreSQL server of its own. The packages are those of the folder in which it runs. */
import { load, startPostgres } from './postgres.mjs';

const unleash = await load('unleash-server');
const postgres = await startPostgres('unleash');

const { start } = unleash.default?.start === undefined ? unleash : unleash.default;
await start({
  db: { ...postgres, database: 'unleash', ssl: false },
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
