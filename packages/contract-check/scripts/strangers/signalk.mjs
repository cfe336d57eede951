/** Signal K with its provider of resources, which keeps them in files. The package is that of the folder in which it runs. */
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from './postgres.mjs';

const folder = await mkdtemp(join(tmpdir(), 'signalk-'));
const configuration = { standard: { routes: true, waypoints: true, notes: true, regions: true }, custom: [] };
await mkdir(join(folder, 'plugin-config-data'));
// Where it looks for plugins.
await symlink(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
await writeFile(
  join(folder, 'plugin-config-data/resources-provider.json'),
  JSON.stringify({ enabled: true, configuration }),
);
await writeFile(join(folder, 'settings.json'), JSON.stringify({ interfaces: {}, mdns: false, pipedProviders: [] }));
process.env.SIGNALK_NODE_CONFIG_DIR = folder;
process.env.PORT = process.argv[2];

// As its own command does: a plugin fails on a region without properties.
process.on('uncaughtException', (error) => console.error(error));

const { default: Server } = await load('signalk-server');
await new Server({ config: { configPath: folder } }).start();
