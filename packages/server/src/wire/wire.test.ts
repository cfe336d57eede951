import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type IncomingMessage, request } from 'node:http';
import { finished, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { zstdCompressSync } from 'node:zlib';
import { pino } from 'pino';
import { afterAll, describe, expect, test } from 'vitest';
import { hiddenIn } from '../../test/console/visitor.ts';
import { portOf } from '../../test/free-port.ts';
import { recordsOf } from '../../test/modules/records.ts';
import { testService } from '../../test/service.ts';
import { type WireResponse, wire } from '../../test/wire.ts';
import { createApp, createProbes } from '../app/app.ts';
import { createApiKey, revokeApiKey } from '../operator/api-keys.ts';

const lines: string[] = [];
const log = pino(
  {
    level: 'info',
  },
  new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  }),
);
const main = await testService({ log });
const { call, service, address, token, tenant } = main;
/** The service with other settings, at an address of its own. */
const served = async (
  config: Partial<typeof service.config>,
  app: (other: typeof service) => Parameters<typeof createServer>[1],
) => {
  const server = createServer(app({ ...service, config: { ...service.config, ...config } }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(server);
  return `http://127.0.0.1:${portOf(server)}`;
};
const open: ReturnType<typeof createServer>[] = [];
afterAll(() => open.forEach((server) => void server.close().closeAllConnections()));

const listOrgs = (headers: Record<string, string> = {}) => call('POST', '/gql/v1/orgs', {}, headers);

test.each(['Host', 'Authorization', 'Content-Type'])('a request with two headers %s is rejected', async (name) => {
  const once = {
    Host: 'alpha',
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    Tenant: tenant.name,
  };
  const send = (...more: string[]) =>
    wire(address, {
      method: 'POST',
      path: '/gql/v1/orgs',
      body: '{}',
      headers: [...Object.entries(once).flat(), ...more],
    });
  expect((await send()).status).toBe(200);
  expect(await send(name.toLowerCase(), 'other')).toMatchObject({
    status: 400,
    json: { code: 'MALFORMED_REQUEST', detail: `The header ${name.toLowerCase()} was sent twice. Send it once.` },
  });
});

describe('responses', () => {
  test('with data are not cached, and browsers must not guess their type', async () => {
    for (const response of [
      await listOrgs(),
      await listOrgs({ Authorization: 'Bearer x' }),
      await call('GET', '/nowhere'),
    ]) {
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  test.each([
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/openapi.yaml',
    '/reference',
    '/.well-known/jwks.json',
  ])('of %s cannot run scripts or be framed', async (path) => {
    const { headers } = await wire(address, { path });
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
    expect(headers['content-security-policy']).not.toMatch(/script-src[^;]*unsafe/);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    });
  });
});

test('a service that is reached over HTTPS has browsers stay with it, and names cookies so that they come from there', async () => {
  const secure = await served({ publicUrl: 'https://api.example.com' }, createApp);
  for (const path of ['/healthz', '/reference', '/console', '/gql/v1/orgs', '/nowhere', '/pay/unknown'])
    expect([path, (await wire(secure, { path })).headers['strict-transport-security']]).toEqual([
      path,
      'max-age=31536000',
    ]);
  expect((await wire(address, { path: '/healthz' })).headers['strict-transport-security']).toBeUndefined();

  const cookieOf = ({ headers }: WireResponse) => headers['set-cookie']?.[0] ?? '';
  const form = await wire(secure, { path: '/console' });
  expect(cookieOf(form)).toMatch(/^__Secure-console_form=.*; Path=\/console;.*; Secure$/);
  const { key: apiKey } = await createApiKey(
    { service },
    { tenant: tenant.name, user: 'ops', roles: ['API_ADMIN'], days: 1, description: undefined },
  );
  const session = await wire(secure, {
    method: 'POST',
    path: '/console/sign-in',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Cookie: cookieOf(form) },
    body: new URLSearchParams({ apiKey, formKey: hiddenIn(form.text, 'formKey') }).toString(),
  });
  expect(cookieOf(session)).toMatch(/^__Secure-console_session=.*; Path=\/console;.*; Secure$/);
  const page = (Cookie: string) => wire(secure, { path: '/console', headers: { Cookie } });
  expect(await page(cookieOf(session))).toMatchObject({ status: 200 });
  // Another host of the domain, or somebody on the way, can set a cookie without the prefix.
  expect(await page(cookieOf(session).replace('__Secure-', ''))).toMatchObject({ status: 401 });

  const { attributes } = await recordsOf(main).make('Client', { name: 'Payer' });
  const { body } = await call<{ url: string }>('POST', '/api/v1/clients/v1/link/payment', {
    clientRef: attributes?.clientRef,
    note: 'Any',
  });
  const link = await wire(secure, { path: new URL(body.url).pathname });
  expect(cookieOf(link)).toMatch(/^__Host-payment_session=[\w-]{32}; Path=\/;.*; Secure$/);
});

test('the access log names the API user of each sign-in, also with a key that was revoked', async () => {
  const signInOf = async (user: string, isRevoked: boolean) => {
    const created = await createApiKey(
      { service },
      { tenant: tenant.name, user, roles: ['CLNT_R'], days: 1, description: undefined },
    );
    if (isRevoked) await revokeApiKey({ service }, tenant.name, created.id);
    const { headers, status } = await call('POST', '/v1/auth/token', { apiKey: created.key }, { Authorization: null });
    const line = lines.map((one) => JSON.parse(one)).find(({ requestId }) => requestId === headers.get('x-request-id'));
    return [status, line];
  };
  const named = (user: string) =>
    expect.objectContaining({ operation: 'createToken', tenant: tenant.name, user, address: '127.0.0.1' });
  expect(await signInOf('night sync', false)).toEqual([200, named('night sync')]);
  expect(await signInOf('leaver', true)).toEqual([401, named('leaver')]);
});

test('a body in zstd is rejected with 415, like every encoding that the contract does not declare', async () => {
  const headers = { Authorization: `Bearer ${token}`, Tenant: tenant.name, 'Content-Type': 'application/json' };
  const body = zstdCompressSync('{}');
  for (const encoding of ['zstd', 'ZSTD', 'compress', 'gzip, gzip']) {
    const sent = { method: 'POST', path: '/gql/v1/orgs', headers: { ...headers, 'Content-Encoding': encoding }, body };
    expect(await wire(address, sent)).toMatchObject({ status: 415, json: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
  }
});

test('a request is not kept after its end, whenever its caller gives up', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const served: WeakRef<IncomingMessage>[] = [];
  const begins = (message: unknown) => {
    served.push(new WeakRef((message as { request: IncomingMessage }).request));
  };
  const headers = { Authorization: `Bearer ${token}`, Tenant: tenant.name, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ clients: [{ name: 'Oakes', systemRef: 'oakes' }] });
  const paths = [
    '/gql/v1/orgs',
    '/gql/v1/clients/search',
    '/api/v1/clients',
    '/gql/v1/ledger_entries/aggregate',
    '/pay/x',
  ];
  const giveUp = async (path: string, length: number, after: number) => {
    const outgoing = request(`${address}${path}`, { method: 'POST', headers, agent: false });
    outgoing.on('error', () => undefined).setHeader('Content-Length', length);
    outgoing.write(body);
    await pause(after);
    await new Promise((resolve) => finished(outgoing.destroy(), resolve));
  };
  // What the first request loads stays.
  for (const path of paths) await giveUp(path, body.length, 1);
  subscribe('http.server.request.start', begins);
  for (const path of paths)
    for (let after = 0; after < 16; after += 2) {
      await giveUp(path, body.length, after);
      await giveUp(path, body.length + 1, after);
    }
  unsubscribe('http.server.request.start', begins);
  expect(served.length).toBeGreaterThan(paths.length * 8);
  const kept = () => {
    collect();
    return served.filter((one) => one.deref() !== undefined).length;
  };
  await expect.poll(kept, { timeout: 10_000 }).toBe(0);
});

test('an invalid traceparent never fails a request, and a valid one is logged', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7';
  lines.length = 0;
  for (const traceparent of [
    'zzz',
    '',
    `ff-${trace}-01`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    'x'.repeat(2_000),
  ]) {
    expect(await listOrgs({ traceparent })).toMatchObject({ status: 200 });
  }
  expect(lines.join('')).not.toContain('traceparent');
  expect(await listOrgs({ traceparent: `cc-${trace}-03-more` })).toMatchObject({ status: 200 });
  expect(lines.at(-1)).toContain(`"traceparent":"00-${trace}-01"`);
});

describe('If-Match', () => {
  const records = recordsOf(main);
  const change = (tag: string) => records.change('Tagged', { description: tag }, { 'If-Match': tag });

  test.each(['"abc"', 'W/"1"', '"0123456789abcdef"', '""', '"2", "xyz"', '"!#~"\t,\t"x"'])(
    'with a tag that does not match the row returns 412: %s',
    async (tag) => {
      await records.define('Tagged', [{ name: 'a', type: 'STRING' }]);
      expect(await change(tag)).toMatchObject({ status: 412, body: { code: 'PRECONDITION_FAILED' } });
    },
  );

  test.each(['1', 'abc', '"a" "b"', '"a",', '"a\u00a0"', '"1"\u000b,"2"'])(
    'that is not a list of tags returns 400: %j',
    async (tag) => {
      const sent = {
        method: 'PUT',
        path: '/api/v1/records/custom/Tagged',
        headers: {
          Authorization: `Bearer ${token}`,
          Tenant: tenant.name,
          'Content-Type': 'application/json',
          'If-Match': tag,
        },
        body: '{"description":"x"}',
      };
      const { status } = await wire(address, sent).catch((error: unknown) => {
        // Node does not send headers that HTTP itself forbids.
        expect(error).toMatchObject({ code: 'ERR_INVALID_CHAR' });
        return { status: 400 };
      });
      expect(status).toBe(400);
    },
  );
});

describe('/metrics', () => {
  test('requires its token if one is configured', async () => {
    const secured = await served({ metricsToken: 'secret' }, createApp);
    for (const authorization of [undefined, 'Bearer wrong', 'Bearer secret2', 'Basic secret']) {
      const headers = authorization === undefined ? {} : { authorization };
      const { status, json, headers: sent } = await wire(secured, { path: '/metrics', headers });
      expect({ status, json }).toMatchObject({ status: 401, json: { code: 'UNAUTHENTICATED' } });
      expect(sent['www-authenticate']).toBe('Bearer realm="metrics"');
    }
    const { status, text } = await wire(secured, { path: '/metrics', headers: { authorization: 'Bearer secret' } });
    expect(status).toBe(200);
    expect(text).toContain('http_server_request_duration_seconds');
  });

  test('without a token is not served to whoever comes through a trusted proxy, but on a port of its own', async () => {
    const through = { path: '/metrics', headers: { 'X-Forwarded-For': '203.0.113.7' } };
    const behind = await served({ trustProxy: 1 }, createApp);
    expect(await wire(behind, through)).toMatchObject({ status: 401, json: { code: 'UNAUTHENTICATED' } });
    expect(await wire(behind, { path: '/metrics' })).toMatchObject({ status: 200 });
    const own = await served({ trustProxy: 1, metricsPort: 9_464 }, createProbes);
    expect(await wire(own, through)).toMatchObject({ status: 200 });
  });

  test('is served only on its own port if one is configured, and that port serves nothing but probes', async () => {
    const config = { metricsPort: 9_464 };
    const [shared, own] = [await served(config, createApp), await served(config, createProbes)];
    expect(await wire(shared, { path: '/metrics' })).toMatchObject({ status: 404 });
    for (const path of ['/metrics', '/healthz', '/readyz'])
      expect(await wire(own, { path })).toMatchObject({ status: 200 });
    for (const path of ['/', '/gql/v1/orgs', '/openapi.json']) {
      expect(await wire(own, { path })).toMatchObject({ status: 404, json: { code: 'NOT_FOUND' } });
    }
  });
});
