/** What measurements start beside the service: a PostgreSQL, nginx, certificates. */
export { ensureBundle } from '../../scripts/bundle.ts';
export { selfSigned } from '../certificate.ts';
export { startNginx } from '../nginx.ts';
export { databaseUrl, dropDatabase, runOn } from '../postgres-server.ts';
export { findServer } from '../postgres-setup.ts';
export { serveFlags } from '../serve-flags.ts';
