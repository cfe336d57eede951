/**
 * Runs an example against a running server: `pnpm example crm-sync`. `API_URL` and `API_TENANT` name the server and the tenant, by default
 * those of `pnpm start`. Without `API_KEY`, the operator's command creates a key that is valid for a day.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import './client-source.ts';

const cli = fileURLToPath(new URL('../server/dist/cli.js', import.meta.url));
const names = readdirSync(new URL('src', import.meta.url)).map((file) => file.replace(/\.ts$/, ''));
const [name = ''] = process.argv.slice(2);
try {
  if (!names.includes(name)) throw new Error(`Name an example:\n  ${names.join('\n  ')}`);
  process.env.API_URL ??= 'http://127.0.0.1:3000';
  process.env.API_TENANT ??= 'hartwell';
  await checkServer(process.env.API_URL);
  process.env.API_KEY ||= createKey(process.env.API_TENANT);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
await import(`./src/${name}.ts`);

async function checkServer(address: string): Promise<void> {
  const isUp = await fetch(`${address}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
  if (!isUp) throw new Error(`No server responds at ${address}. Run "npx --yes pnpm@12 start" in another terminal.`);
}

/** With the embedded database, the operator's command connects to the server that runs with the same `DATA_DIR`. */
function createKey(tenant: string): string {
  const words = [cli, 'api-key', 'create', tenant, 'examples', '--roles', 'API_ADMIN,PYMT_EVNT_ALL', '--days', '1'];
  const [key] = /ey[\w-]+\.[\w-]+\.[\w-]+/.exec(execFileSync(process.execPath, words, { encoding: 'utf8' })) ?? [];
  if (key === undefined) throw new Error('The operator created no API key. Set API_KEY.');
  return key;
}
