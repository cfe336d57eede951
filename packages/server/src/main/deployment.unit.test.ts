/** What the files of `docker/` say fits together, and their programs accept it. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { ignored, image, imageCommand, proxy, readComposition, unit, unitValues } from '../../test/deployment.ts';
import { freePort } from '../../test/free-port.ts';
import { isNginxInstalled, startNginx } from '../../test/nginx.ts';
import { wire } from '../../test/wire.ts';
import { allOperations, isRead } from '../contract/contract.ts';
import { maxUploadBytes } from '../modules/files/index.ts';
import { listen } from './listen.ts';

const analyze = '/usr/bin/systemd-analyze';
const isSystemdInstalled = existsSync(analyze);
if (!isSystemdInstalled) console.warn('NOT TESTED: the syntax of the unit, because systemd is not installed.');
const variables = { MASTER_KEY: 'key', DATABASE_PASSWORD: 'secret' };

test('the unit of systemd starts Node itself, as the image does', () => {
  const [command = ''] = unitValues('ExecStart');
  expect(command.split(' ')).toEqual(['/usr/bin/node', ...imageCommand('ENTRYPOINT').slice(1), ...imageCommand('CMD')]);
  // A process says for 2 seconds that it stops, keeps idle connections for 2, and finishes requests for 10.
  expect(Number(unitValues('TimeoutStopSec')[0])).toBeGreaterThan(14);
});

test.skipIf(!isSystemdInstalled)(
  'systemd-analyze verify accepts the unit, and finds a key that does not exist',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'financial-automation-unit-'));
    const verify = async (text: string) => {
      const file = join(folder, 'financial-automation@3000.service');
      // It looks for the program.
      await writeFile(file, text.replace('/usr/bin/node', process.execPath));
      const { stderr } = await promisify(execFile)(analyze, ['verify', '--man=no', file]).catch((error) => error);
      return stderr;
    };
    try {
      expect(await verify(unit)).toBe('');
      expect(await verify(unit.replace('TimeoutStopSec', 'TimeoutStopSeconds'))).toContain('Unknown key');
      expect(await verify(unit.replace('ExecStart=', 'ExecStart=relative'))).toContain(
        'Neither a valid executable name nor an absolute path',
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);

test('the composition names what it defines, and nginx the addresses and the port of its processes', () => {
  const { services, volumes } = readComposition(variables);
  const names = Object.keys(services);
  for (const [
    name,
    { depends_on: before = [], volumes: mounted = [], stop_grace_period: grace, build },
  ] of Object.entries(services)) {
    for (const one of Array.isArray(before) ? before : Object.keys(before)) expect(names, name).toContain(one);
    for (const one of mounted)
      if (!one.startsWith('.')) expect(Object.keys(volumes), name).toContain(one.split(':')[0]);
    if (build === undefined) continue;
    expect(existsSync(new URL(`../../docker/${build.context}/${build.dockerfile}`, import.meta.url)), name).toBe(true);
    if (grace !== undefined) expect(Number.parseInt(grace, 10), name).toBeGreaterThan(14);
  }
  const port = /^EXPOSE (\d+)$/m.exec(image)?.[1];
  const processes = Object.values(services).flatMap(({ networks }) => networks?.default.ipv4_address ?? []);
  expect([...proxy.matchAll(/^ +server ([\d.]+:\d+)/gm)].map(([, server]) => server)).toEqual(
    processes.map((one) => `${one}:${port}`),
  );
  expect(services.proxy?.ports?.[0]?.split(':').at(-1)).toBe(/listen (\d+);/.exec(proxy)?.[1]);
});

test('the composition passes all settings on, and waits for the database that requests reach', () => {
  const { services } = readComposition(variables);
  for (const name of ['api-1', 'api-2']) expect(services[name]?.env_file).toEqual([{ path: '.env', required: false }]);
  expect(ignored.split('\n')).toContain('**/.env');
  expect(services.database?.healthcheck?.test).toContain('--host=127.0.0.1');
});

test('nginx passes on what the service accepts: bodies of operations, and the content of files', () => {
  const sizes = [...proxy.matchAll(/client_max_body_size (\d+)m;/g)].map(([, size]) => Number(size) * 2 ** 20);
  const [bodies = 0, contents] = sizes;
  expect(bodies).toBeGreaterThan(Math.max(...allOperations.map(({ bodyLimit }) => bodyLimit ?? 0)));
  expect(contents).toBeGreaterThan(maxUploadBytes);
  const [, path = ''] = /location ~ (\S+) \{\s*client_max_body_size 101m;/.exec(proxy) ?? [];
  for (const one of ['/upload/0199', '/console/data/File/new']) expect(one).toMatch(new RegExp(path));
  expect('/console/data/Client/new').not.toMatch(new RegExp(path));
});

test('the composition says which variables it needs', () => {
  for (const name of Object.keys(variables))
    expect(() => readComposition({ ...variables, [name]: '' })).toThrow(new RegExp(`^Set ${name} to `));
});

if (!isNginxInstalled) console.warn('NOT TESTED: what nginx sends again, because it is not installed.');
test.skipIf(!isNginxInstalled)(
  'nginx sends what a process did not respond to again if it is a read or has a key',
  async () => {
    const serve = async (listener: RequestListener) => {
      const [server, port] = [createServer(listener), await freePort()];
      await listen(server, '127.0.0.1', port, 'PORT');
      atEnd(() => server.close().closeAllConnections());
      return port;
    };
    const dying = await serve((incoming) => incoming.resume().once('end', () => incoming.socket.destroy()));
    const { address, stop } = await startNginx([
      await serve((incoming, response) => incoming.pipe(response.writeHead(200))),
      dying,
    ]);
    atEnd(stop);
    const body = 'x'.repeat(50_000);
    const statuses = async (path: string, headers = {}) => {
      const all = new Set<number>();
      for (let count = 0; count < 6; count++) {
        const { status, text } = await wire(address, { method: 'POST', path, headers, body });
        all.add(status);
        if (status === 200) expect(text).toBe(body);
        else expect(JSON.parse(text)).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
      }
      return [...all].toSorted();
    };
    expect(await statuses('/gql/v1/clients/search')).toEqual([200]);
    expect(await statuses('/api/v1/records', { 'Idempotency-Key': 'a' })).toEqual([200]);
    expect(await statuses('/api/v1/records')).toEqual([200, 503]);
    expect(await statuses('/api/v1/two%20words')).toEqual([200, 503]);
    expect(allOperations.filter(({ path }) => path.startsWith('/gql/')).filter((one) => !isRead(one))).toEqual([]);
  },
);
