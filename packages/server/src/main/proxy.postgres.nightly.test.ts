/** The configuration of nginx, with the real program: what the service leaves to it, and restarts that nobody notices. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { freePort } from '../../test/free-port.ts';
import { isNginxInstalled, startNginx } from '../../test/nginx.ts';
import { processEnvironment, runCli, startServer, type TestProcess } from '../../test/process.ts';
import { wire } from '../../test/wire.ts';

if (!isNginxInstalled) console.warn('NOT TESTED: the proxy, because nginx is not installed.');

const restarts = Number(process.env.RESTARTS ?? 20);
const environment = { ...(await processEnvironment()), TRUST_PROXY: '1', BACKGROUND: 'off' };
const ports = [await freePort(), await freePort()];
const processes: TestProcess[] = [];
const start = (index: number) => startServer({ ...environment, PORT: String(ports[index]) });
let proxy: Awaited<ReturnType<typeof startNginx>>;
let headers: Record<string, string>;

if (isNginxInstalled) {
  await runCli(environment, 'tenant', 'create', 'hartwell');
  const { out } = await runCli(environment, 'api-key', 'create', 'hartwell', 'crm', '--roles', 'CLNT_R,CLNT_C');
  processes.push(...(await Promise.all([start(0), start(1)])));
  proxy = await startNginx(ports);
  const json = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ apiKey: out.trim() });
  const { access_token: token } = Object(
    (await wire(proxy.address, { method: 'POST', path: '/v1/auth/token', headers: json, body })).json,
  );
  headers = { ...json, Authorization: `Bearer ${token}`, Tenant: 'hartwell' };
}
afterAll(async () => {
  for (const one of processes) one.kill('SIGKILL');
  await proxy?.stop();
});

test.skipIf(!isNginxInstalled)('restarts under load lose no request, and none takes over a second', async () => {
  let isOver = false;
  let number = 0;
  const statuses = new Map<string, number>();
  const slow: number[] = [];
  const caller = async (index: number) => {
    while (!isOver) {
      number += 1;
      const write = { path: '/api/v1/clients/v1/onboard', body: { name: `Client ${number}`, address: {} } };
      const { path, body } = index % 2 === 0 ? write : { path: '/gql/v1/clients', body: {} };
      const sentAt = performance.now();
      const response = await fetch(proxy.address + path, { method: 'POST', headers, body: JSON.stringify(body) }).catch(
        (error: Error) => error,
      );
      const text = response instanceof Response ? await response.text() : '';
      const took = performance.now() - sentAt;
      // Only the service sends its ID.
      const outcome =
        response instanceof Response && response.headers.has('x-request-id')
          ? String(response.status)
          : `not ours: ${text} ${response}`;
      statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1);
      if (took > 1_000) slow.push(Math.round(took));
      await pause(20);
    }
  };
  const callers = [0, 1, 2, 3].map(caller);
  for (let round = 0; round < restarts; round++) {
    const index = round % 2;
    const stopping = processes[index];
    stopping?.kill('SIGTERM');
    expect(await stopping?.finished).toMatchObject({ code: 0 });
    processes[index] = await start(index);
  }
  isOver = true;
  await Promise.all(callers);
  console.info('restarts', restarts, Object.fromEntries(statuses), slow);
  expect([...statuses.keys()].toSorted()).toEqual(['200', '201']);
  expect(slow).toEqual([]);
});

test.skipIf(!isNginxInstalled)('slow and half-open requests never reach a process, and others are served', async () => {
  const { hostname, port } = new URL(proxy.address);
  const start = [
    'GET /healthz HTTP/1.1\r\nHost:',
    'POST /gql/v1/clients HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{',
  ];
  const sockets = Array.from({ length: 300 }, (_, index) => {
    const localAddress = `127.0.0.${10 + (index % 25)}`;
    const socket = connect({ port: Number(port), host: hostname, localAddress });
    atEnd(() => socket.destroy());
    socket.on('error', () => socket.destroy()).resume();
    socket.write(start[index % start.length] ?? '');
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await pause(500);
  expect(await wire(proxy.address, { method: 'POST', path: '/gql/v1/clients', headers, body: '{}' })).toMatchObject({
    status: 200,
  });
  for (const { address } of processes) {
    const { text } = await wire(address, { path: '/metrics' });
    expect(Number(/^connections_open\{state="busy"\} (\d+)$/m.exec(text)?.[1])).toBe(1);
  }
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve))));
});

test.skipIf(!isNginxInstalled)('an address with too many connections gets a problem, and others do not', async () => {
  const { hostname, port } = new URL(proxy.address);
  const body = 'POST /gql/v1/clients HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{';
  const sockets = Array.from({ length: 110 }, () => {
    const socket = connect({ port: Number(port), host: hostname, localAddress: '127.0.0.9' });
    atEnd(() => socket.destroy());
    socket.write(body);
    return socket;
  });
  const [rejected] = await Promise.race(sockets.map((socket) => once(socket, 'data')));
  expect(String(rejected)).toMatch(/^HTTP\/1.1 429 [\s\S]*\r\nRetry-After: 1\r\n[\s\S]*"code":"CONCURRENCY_LIMITED"/);
  expect(await wire(proxy.address, { path: '/healthz' })).toMatchObject({ status: 200 });
  for (const socket of sockets) socket.destroy();
  const spooled = { method: 'POST', path: '/gql/v1/clients', headers, body: '{}'.padEnd(60_000) };
  expect(await wire(proxy.address, spooled)).toMatchObject({ status: 200 });
  const large = { method: 'POST', path: '/gql/v1/clients', headers, body: 'x'.repeat(3_000_000) };
  expect(await wire(proxy.address, large)).toMatchObject({ status: 413, json: { code: 'PAYLOAD_TOO_LARGE' } });
});
