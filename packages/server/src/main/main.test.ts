import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { engineName } from '../../test/database.ts';
import { freePort } from '../../test/free-port.ts';
import { nightlyTest } from '../../test/nightly-test.ts';
import { commandLine } from '../../test/operate.ts';
import { processEnvironment, runCli, startServer, type TestProcess } from '../../test/process.ts';
import { wire } from '../../test/wire.ts';

const environment = await processEnvironment();
const json = { 'Content-Type': 'application/json' };

async function tokenFor(address: string, apiKey: string): Promise<string> {
  const exchanged = await wire(address, {
    method: 'POST',
    path: '/v1/auth/token',
    headers: json,
    body: JSON.stringify({ apiKey }),
  });
  expect(exchanged.status).toBe(200);
  return (exchanged.json as { access_token: string }).access_token;
}

test('operator commands work without a running server', async () => {
  expect(await runCli(environment, 'tenant', 'create', 'hartwell')).toMatchObject({ code: 0, error: '' });
  await expect(commandLine(environment, 'tenant', 'create', 'hartwell')).rejects.toThrow(
    /^The tenant hartwell already exists\.$/,
  );
});

const metricsPort = String(await freePort());
const probes = `http://127.0.0.1:${metricsPort}`;
/** One for all tests, because starting a server is slow. */
let running: TestProcess | undefined;

function server(): TestProcess {
  if (running === undefined) throw new Error('The test of its start starts it.');
  return running;
}

test('a server that starts accepts no connection that it then resets', async () => {
  let isStarting = true;
  const results = new Set<string>();
  const callers = Array.from({ length: 4 }, async () => {
    while (isStarting)
      results.add(
        await wire(`http://127.0.0.1:${environment.PORT}`, { path: '/healthz' }).then(
          ({ status }) => String(status),
          (error: Error) => ('code' in error ? String(error.code) : error.message),
        ),
      );
  });
  running = await startServer({ ...environment, MAX_CONNECTIONS: '20', METRICS_PORT: metricsPort });
  isStarting = false;
  await Promise.all(callers);
  expect([...results].filter((result) => result !== '200')).toEqual(['ECONNREFUSED']);
});

test('operator commands work with a running server, which notices their changes', async () => {
  const { address } = server();
  const created = await runCli(environment, 'api-key', 'create', 'hartwell', 'crm', '--roles', 'REF_R, CLNT_R');
  expect(created).toMatchObject({ code: 0, error: expect.stringContaining('valid until') });
  const token = await tokenFor(address, created.out.trim());
  const headers = { ...json, Authorization: `Bearer ${token}`, Tenant: 'hartwell' };
  expect(await wire(address, { method: 'POST', path: '/gql/v1/orgs', headers, body: '{}' })).toMatchObject({
    status: 200,
    json: { data: [{ name: 'hartwell' }] },
  });

  const run = (...args: string[]) => commandLine(environment, ...args);
  expect(await run('signing-key', 'rotate')).toContain('signed with');
  await expect(run('api-key', 'create', 'hartwell', 'crm', '--roles', 'ROOT')).rejects.toThrow(/^Unknown role: ROOT\./);
  await expect(run('tenant', 'create', 'nameless', '--display-name', ' ')).rejects.toThrow(/^The name of a firm has/);
  // The output is the token alone, for a script.
  expect(await run('request', 'debug-token')).toMatch(/^\S+\n$/);
  const listed = await run('api-key', 'list', 'hartwell');
  expect(listed).toContain('crm');
  expect(listed).not.toContain('eyJ');
  expect(await run('tenant', 'set', 'hartwell', 'deliveryPorts', '8443,9443')).toBe(
    'deliveryPorts of hartwell is 8443,9443.\n',
  );
  expect(await run('job', 'list')).toContain('There are no dead jobs.');
  expect(JSON.parse(await run('tenant', 'list', '--json'))).toMatchObject([
    { name: 'hartwell', currency: 'USD', active: true },
  ]);
  const shown = await run('tenant', 'show', 'hartwell');
  expect(shown).toMatch(/^currency: USD\n {4}an ISO 4217 code/);
  expect(shown).toMatch(/\ntimeApproval: on\n {4}whether .+\n[\s\S]*\ndeliveryPorts: 8443,9443\n/);
  const id = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(listed)?.[0] ?? '';
  expect(await run('api-key', 'revoke', 'hartwell', id)).toContain('is revoked');
});

test('a server that cannot start prints the reason in one sentence', async () => {
  const wrong = runCli({ ...environment, PORT: 'x', VALIDATE_RESPONSES: '2', READ_BUDGET_MS: '0' }, 'serve');
  if (engineName === 'pglite') {
    const { code, error } = await runCli({ ...environment, PORT: String(await freePort()) }, 'serve');
    expect({ code, lines: error.trim().split('\n').length }).toEqual({ code: 1, lines: 1 });
    expect(error).toMatch(/in use/i);
  } else {
    expect(await runCli(environment, 'serve')).toMatchObject({
      code: 1,
      error: `Port ${environment.PORT} is in use. Stop the program that uses it, or set PORT to another port.\n`,
    });
  }
  expect(await wrong).toMatchObject({
    code: 1,
    error: expect.stringMatching(
      /^The environment is invalid\.\n {2}PORT: .+\n {2}READ_BUDGET_MS: .+\n {2}VALIDATE_RESPONSES: .+\n$/,
    ),
  });
  expect(await wire(server().address, { path: '/readyz' })).toMatchObject({ status: 200 });
});

test('a server with many idle connections serves new ones', async () => {
  const { hostname, port } = new URL(server().address);
  const sockets: Socket[] = [];
  for (let count = 0; count < 100; count++) {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    atEnd(() => socket.destroy());
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1.1 200 /);
    socket.on('error', () => socket.destroy());
  }
  expect(await wire(server().address, { path: '/readyz' })).toMatchObject({ status: 200 });
  const lag = expect.stringContaining('\nnodejs_eventloop_lag_p99_seconds ');
  expect(await wire(probes, { path: '/metrics' })).toMatchObject({ status: 200, text: lag });
  expect(await wire(server().address, { method: 'POST', path: '/gql/v1/orgs' })).toMatchObject({ status: 401 });
  await expect.poll(() => sockets.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(25);
});

/** Sends a part of a request. @returns what sends the rest, and returns the response */
async function requestInProgress({ address }: TestProcess) {
  const { hostname, port } = new URL(address);
  const body = '{"apiKey":"x"}';
  const outgoing = request({
    hostname,
    port,
    method: 'POST',
    path: '/v1/auth/token',
    headers: { ...json, 'Content-Length': body.length },
  });
  const responded = once(outgoing, 'response');
  outgoing.write(body.slice(0, 5));
  // Once another request has a response, the server has received the first one too.
  expect(await wire(address, { path: '/healthz' })).toMatchObject({ status: 200 });
  return async () => {
    outgoing.end(body.slice(5));
    const [incoming] = await responded;
    return { status: incoming.statusCode, json: JSON.parse(await text(incoming)) };
  };
}
const rejectedKey = { status: 401, json: expect.objectContaining({ code: 'UNAUTHENTICATED' }) };

test('a server that receives SIGTERM serves what callers send before they learn that it stops, finishes requests in progress and exits with code 0', async () => {
  const { address, kill, finished } = server();
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  const received = text(socket);
  const send = () => socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  send();
  for (const one of [address, probes]) expect(await wire(one, { path: '/readyz' })).toMatchObject({ status: 200 });
  const finish = await requestInProgress(server());
  kill('SIGTERM');
  await expect.poll(() => wire(address, { path: '/readyz' })).toMatchObject({ status: 503 });
  expect(await wire(probes, { path: '/readyz' })).toMatchObject({ status: 503 });
  send();
  // Then no new connections are accepted, and those that are open end with their next response.
  const isRefused = () =>
    wire(address, { path: '/readyz' }).then(
      () => false,
      () => true,
    );
  await expect.poll(isRefused).toBe(true);
  send();
  const [first, second, third] = (await received).split(/(?=HTTP\/1.1)/);
  for (const kept of [first, second]) expect(kept).toMatch(/^HTTP\/1.1 200 [\s\S]*\r\nConnection: keep-alive\r\n/);
  expect(third).toMatch(/^HTTP\/1.1 200 [\s\S]*\r\nConnection: close\r\n/);
  expect(await finish()).toEqual(rejectedKey);
  const { code, out, error } = await finished;
  expect({ code, error }).toEqual({ code: 0, error: '' });
  expect(out.trim().split('\n').at(-1)).toContain('"Stopped."');
});

// It stops as with SIGTERM, but at once: a person waits.
nightlyTest?.('a server that receives SIGINT finishes requests in progress, and accepts no new ones', async () => {
  const interrupted = await startServer(environment);
  const finish = await requestInProgress(interrupted);
  interrupted.kill('SIGINT');
  // The kernel may have accepted one more connection, which is then reset; later ones are rejected.
  const rejected = () =>
    wire(interrupted.address, { path: '/healthz' }).then(
      () => false,
      (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED',
    );
  while (!(await rejected()));
  expect(await finish()).toEqual(rejectedKey);
  expect(await interrupted.finished).toMatchObject({ code: 0, error: '' });
});
