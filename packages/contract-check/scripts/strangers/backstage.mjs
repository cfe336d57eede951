/**
 * The catalog of Backstage, with a PostgreSQL server and a file of entities. The packages are those of the folder in
 * which it runs.
 */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { freePort, load, startPostgres } from './postgres.mjs';

const apiVersion = 'backstage.io/v1alpha1';
const tagged = (name, ...tags) => ({ name, description: `The ${name}.`, tags });
const spec = (type, lifecycle) => ({ type, lifecycle, owner: 'crew' });
const entities = [
  { apiVersion, kind: 'Group', metadata: { name: 'crew' }, spec: { type: 'team', children: [] } },
  { apiVersion, kind: 'Component', metadata: tagged('crane', 'go', 'java'), spec: spec('service', 'production') },
  { apiVersion, kind: 'Component', metadata: tagged('pilot', 'java'), spec: spec('website', 'experimental') },
  { apiVersion, kind: 'Component', metadata: tagged('buoy'), spec: spec('library', 'production') },
];
const filePort = await freePort();
const files = `127.0.0.1:${filePort}`;
createServer((_request, response) => {
  response.end(entities.map((one) => JSON.stringify(one)).join('\n---\n'));
}).listen(filePort, '127.0.0.1');

const port = Number(process.argv[2]);
const baseUrl = `http://127.0.0.1:${port}`;
const config = {
  app: { baseUrl },
  backend: {
    baseUrl,
    listen: { host: '127.0.0.1', port },
    auth: { dangerouslyDisableDefaultAuthPolicy: true },
    database: { client: 'pg', connection: await startPostgres('backstage') },
    reading: { allow: [{ host: files }] },
  },
  catalog: {
    processingInterval: { seconds: 5 },
    locations: [{ type: 'url', target: `http://${files}/catalog-info.yaml` }],
    rules: [{ allow: ['Component', 'Group', 'Location'] }],
  },
};
const file = join(process.cwd(), 'backstage.json');
await writeFile(file, JSON.stringify(config));
process.argv.push('--config', file);

const { createBackend } = await load('@backstage/backend-defaults');
const backend = createBackend();
backend.add(load('@backstage/plugin-catalog-backend'));
backend.start();
