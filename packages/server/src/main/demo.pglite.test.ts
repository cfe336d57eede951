import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isNightly } from '../../test/nightly.ts';
import { nightlyTest } from '../../test/nightly-test.ts';
import { commandLine } from '../../test/operate.ts';
import { processEnvironment, runCli, runScript, runShell, startDemo } from '../../test/process.ts';
import { wire } from '../../test/wire.ts';
import { callServer } from '../operator/socket.ts';

const environment = await processEnvironment();
const start = fileURLToPath(new URL('../../../../scripts/start.ts', import.meta.url));
// `start` generates the pages before it serves them; the demo alone does not.
await runScript(environment, fileURLToPath(new URL('../../../../scripts/reference.ts', import.meta.url)), '--if-stale');

/** The settings and the arguments of a printed operator command. */
function printedCommand(out: string, words: string) {
  const line = out.split('\n').find((one) => one.includes(words)) ?? '';
  const [settings = '', command = ''] = line.trim().split('npx --yes pnpm@12 operator ');
  const values = [...settings.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value] as const);
  return { settings: Object.fromEntries(values), words: command.split(' ') };
}

function printedKey(out: string): string | undefined {
  return /API_KEY='([^']+)'/.exec(out)?.[1];
}

test('start › rejects a port that is in use before it creates anything', async () => {
  const listening = createServer().listen(Number(environment.PORT), '127.0.0.1');
  await once(listening, 'listening');
  const otherData = `${environment.DATA_DIR}-other`;
  const { code, out, error } = await runScript({ ...environment, DATA_DIR: otherData }, start);
  listening.close();
  expect({ code, out, error }).toEqual({
    code: 1,
    out: '',
    error: `Port ${environment.PORT} is in use. Stop the program that uses it, or set PORT to another port.\n`,
  });
  expect(existsSync(otherData)).toBe(false);
});

test('start › prints commands for this server, whatever its port and data directory, which work in any shell', async () => {
  const server = await startDemo(environment);
  const printed = printedCommand(server.written(), 'webhook trigger');
  expect(printed.settings).toEqual({ DATA_DIR: environment.DATA_DIR, PORT: environment.PORT });
  const triggered = await runCli(printed.settings, ...printed.words);
  expect(triggered).toMatchObject({ code: 0, out: expect.stringContaining('Client.CREATE was emitted') });

  // The shell is another one than that of the developer. By day it does not load the contract check.
  const [block = ''] = /^ {2}export API_URL=[\s\S]*?(?=\nTo see events)/m.exec(server.written()) ?? [];
  const check = 'npx --yes pnpm@12 contract-check';
  expect(block).toContain(check);
  const shortCheck = 'node packages/contract-check/src/bin.ts --only listTaskTypes --probes 1';
  const pasted = block.replaceAll(/^[A-Z].*:$/gm, '').replace(check, isNightly ? shortCheck : 'echo');
  const shell = await runShell(pasted, fileURLToPath(new URL('../../../../', import.meta.url)));
  expect(shell.out).toContain('"Harbor & Pine LLC"');
  expect(shell.out).toContain(isNightly ? 'No findings in 1 of 1 operations' : `--url ${server.address} --auth`);
  expect(shell.code).toBe(0);

  // The README has them for fish.
  const readme = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');
  const [, lines = ''] = /```fish\n([\s\S]*?)```/.exec(readme) ?? [];
  const filled = lines
    .replace('http://127.0.0.1:3000', server.address)
    .replace('…', printedKey(server.written()) ?? '');
  const read = 'curl -s "$API_URL/api/v1/me" -H "Authorization: Bearer $TOKEN" -H "Tenant: hartwell"';
  const fish = spawnSync('fish', ['-c', `${filled}${read}`], { encoding: 'utf8' });
  if (fish.error !== undefined) console.warn('NOT TESTED: the lines for fish, which is not installed.');
  else expect(JSON.parse(fish.stdout)).toMatchObject({ tenant: { name: 'hartwell' } });

  // The samples of the reference are for this server.
  const sample = await wire(server.address, { path: '/reference/operations/getClient.md' });
  expect(sample.text).toContain(`curl "${server.address}/gql/v1/client/`);

  // `/` leads to the reference.
  expect(await wire(server.address, { path: '/' })).toMatchObject({ status: 302, headers: { location: '/reference' } });
  // A page that somebody develops on this machine can call it.
  const origin = 'http://localhost:5173';
  const asked = { Origin: origin, 'Access-Control-Request-Method': 'POST' };
  expect(await wire(server.address, { method: 'OPTIONS', path: '/v1/auth/token', headers: asked })).toMatchObject({
    status: 204,
    headers: { 'access-control-allow-origin': origin },
  });
  const settings = await callServer(environment.DATA_DIR ?? '', 'tenant show', { tenant: 'hartwell' });
  expect(settings).toMatchObject({ selfApproval: true });
  server.kill('SIGTERM');
  await server.finished;
});

/** Three more starts, of what `demo-data` does with its key. */
nightlyTest?.(
  'start › keeps the key unless it was revoked, and says that it adds three years only when it does',
  async () => {
    const server = await startDemo(environment);
    expect(server.written()).toContain('Three years of a small firm are added');
    await server.wrote('now also has three years');
    server.kill('SIGTERM');
    await server.finished;
    // What was saved or written into a script works after the next start.
    const again = await startDemo(environment);
    expect(again.written()).not.toContain('Three years');
    expect(printedKey(again.written())).toBe(printedKey(server.written()));
    const all: { id: string; user: string }[] = JSON.parse(
      (await runCli(environment, 'api-key', 'list', 'hartwell', '--json')).out,
    );
    const keys = all.filter(({ user }) => user === 'demo');
    expect(keys).toMatchObject([{ user: 'demo', revokedAt: null }]);
    // Unless it was revoked.
    await runCli(environment, 'api-key', 'revoke', 'hartwell', keys[0]?.id ?? '');
    again.kill('SIGTERM');
    await again.finished;
    const last = await startDemo(environment);
    expect(printedKey(last.written())).not.toBe(printedKey(server.written()));
    const apiKey = printedKey(last.written());
    const body = JSON.stringify({ apiKey });
    const token = { method: 'POST', path: '/v1/auth/token', headers: { 'Content-Type': 'application/json' }, body };
    expect(await wire(last.address, token)).toMatchObject({ status: 200 });
    last.kill('SIGTERM');
    await last.finished;
  },
);

test('operator › rejects a data directory without a database, and creates nothing there', async () => {
  const wrong = { ...environment, DATA_DIR: `${environment.DATA_DIR}-wrong` };
  await expect(commandLine(wrong, 'webhook', 'listen', 'hartwell')).rejects.toThrow(
    `There is no database in ${wrong.DATA_DIR}. Set DATA_DIR to the directory of the server`,
  );
  expect(existsSync(wrong.DATA_DIR)).toBe(false);
});
