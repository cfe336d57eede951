import { createServer, type Server } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { selfSigned } from '../../../../test/certificate.ts';
import { portOf } from '../../../../test/free-port.ts';
import { DeliveryAddresses } from '../../../platform/addresses.ts';
import { Sender, SenderClosed, type SenderOptions } from './sender.ts';

const { key, cert } = await selfSigned('hooks.example.com');
const body = Buffer.from('{"hello":"world"}');
const headers = ['content-type', 'application/json'];

/** A server that takes connections, counts them, and sends bytes when something came. */
async function tcp(response: string | Buffer, options: { readonly end?: boolean } = {}) {
  const state = { connections: 0, received: '' };
  const server: Server = createServer((socket) => {
    state.connections += 1;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      state.received += chunk;
      if (response.length > 0) socket.write(response);
      if (options.end === true) socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = portOf(server);
  afterAll(() => void server.close());
  return Object.assign(state, { port, url: `http://localhost:${port}/` });
}

function sender(
  options: Partial<SenderOptions> & { readonly resolve?: (name: string) => Promise<string[]>; loopback?: boolean } = {},
) {
  const { resolve = async () => [], loopback = true, ...rest } = options;
  const addresses = new DeliveryAddresses({ allowLoopback: loopback, resolve });
  const made = new Sender({ addresses, ...rest });
  afterAll(() => made.close());
  return (url: string, ports: readonly number[] = []) => made.send({ url, ports }, headers, body);
}

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

describe('Sender', () => {
  test('posts the body as it is', async () => {
    const server = await tcp(ok);
    expect(await sender()(server.url)).toMatchObject({
      outcome: 'SUCCESS',
      httpStatusCode: 200,
      responseSnippet: 'ok',
    });
    expect(server.received).toMatch(/^POST \/ HTTP\/1.1\r\n/);
    expect(server.received).toContain('content-type: application/json');
    expect(server.received.endsWith('{"hello":"world"}')).toBe(true);
  });

  test.each([
    ['302 Found', 'FAILED'],
    ['404 Not Found', 'FAILED'],
    ['500 Oops', 'FAILED'],
    ['201 Created', 'SUCCESS'],
    ['299 Odd', 'SUCCESS'],
  ])('takes %s for %s', async (status, outcome) => {
    const server = await tcp(`HTTP/1.1 ${status}\r\nLocation: http://localhost:1/\r\nContent-Length: 0\r\n\r\n`);
    expect(await sender()(server.url)).toMatchObject({ outcome, responseSnippet: null });
  });

  test('reads a kilobyte of a response that never ends, and leaves out what cannot be stored', async () => {
    const head = 'HTTP/1.1 500 Oops\r\nContent-Length: 99999999\r\n\r\n';
    const server = await tcp(Buffer.from(`${head}\0${'é'.repeat(5_000)}`));
    const { responseSnippet } = await sender()(server.url);
    expect(responseSnippet).toBe('é'.repeat(511));
    const slow = await tcp(`${head}slow`);
    expect(await sender()(slow.url)).toMatchObject({ httpStatusCode: 500, responseSnippet: 'slow' });
  });

  test('gives up a receiver that says nothing', async () => {
    const server = await tcp('');
    expect(await sender({ timeout: 200 })(server.url)).toMatchObject({
      outcome: 'TIMEOUT',
      httpStatusCode: null,
      errorMessage: 'There was no response within 0.2 seconds.',
    });
  });

  test.each(['HTTP/1.1 999 Huh\r\nContent-Length: 0\r\n\r\n', 'SSH-2.0-OpenSSH\r\n', 'HTTP/1.1 101 Switching\r\n\r\n'])(
    'takes %j for a failure without a status',
    async (response) => {
      const server = await tcp(response);
      expect(await sender({ timeout: 500 })(server.url)).toMatchObject({
        httpStatusCode: null,
        errorMessage: expect.any(String),
      });
    },
  );

  test('survives headers without an end', async () => {
    const server = await tcp(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}`);
    expect(await sender({ timeout: 500 })(server.url)).toMatchObject({ outcome: 'FAILED', httpStatusCode: null });
  });

  test('sends again at once where a kept connection was closed meanwhile', async () => {
    const server = await tcp(ok, { end: true });
    const send = sender();
    for (let round = 1; round <= 5; round++) expect(await send(server.url)).toMatchObject({ outcome: 'SUCCESS' });
  });

  test('uses its connections again', async () => {
    const server = await tcp(ok);
    const send = sender();
    const sendInTurn = async () => {
      for (let attempt = 1; attempt <= 20; attempt++)
        expect(await send(server.url)).toMatchObject({ outcome: 'SUCCESS' });
    };
    await Promise.all([sendInTurn(), sendInTurn(), sendInTurn()]);
    // One that has just ended its response is not free yet when the next attempt begins.
    expect(server.connections).toBeLessThanOrEqual(2 * 3);
  });

  test('uses no connection again on which an attempt timed out', async () => {
    const server = await tcp('');
    const send = sender({ timeout: 100 });
    expect(await send(server.url)).toMatchObject({ outcome: 'TIMEOUT' });
    expect(await send(server.url)).toMatchObject({ outcome: 'TIMEOUT' });
    expect(server.connections).toBe(2);
  });

  test('says so where it was closed before there was a response', async () => {
    const server = await tcp('');
    const addresses = new DeliveryAddresses({ allowLoopback: true, resolve: async () => [] });
    const closing = new Sender({ addresses });
    const sending = closing.send({ url: server.url, ports: [] }, headers, body);
    await expect.poll(() => server.connections).toBe(1);
    await Promise.all([closing.close(), expect(sending).rejects.toThrow(SenderClosed)]);
  });
});

describe('TLS', () => {
  const receiver = async (name = 'hooks.example.com') => {
    const { createServer: createTls } = await import('node:https');
    const state = { requests: 0 };
    const server = createTls({ key, cert }, (_, response) => {
      state.requests += 1;
      response.end('ok');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterAll(() => void server.close().closeAllConnections());
    return Object.assign(state, { port: portOf(server), url: `https://${name}:${portOf(server)}/` });
  };
  const here = async () => ['127.0.0.1'];

  test('is verified: the authority, and the name', async () => {
    const server = await receiver();
    const trusting = sender({ ca: cert, resolve: here });
    expect(await trusting(server.url, [server.port])).toMatchObject({ outcome: 'SUCCESS' });
    const unknown = await sender({ resolve: here })(server.url, [server.port]);
    expect(unknown).toMatchObject({
      outcome: 'FAILED',
      errorMessage: expect.stringMatching(/SELF_SIGNED|UNABLE_TO_VERIFY/),
    });
    const other = await trusting(`https://other.example.com:${server.port}/`, [server.port]);
    expect(other).toMatchObject({ outcome: 'FAILED', errorMessage: expect.stringContaining('ALTNAME') });
    expect(server.requests).toBe(1);
  });
});

describe('addresses that are not public', () => {
  test('are never connected to, whatever the name says when it is resolved', async () => {
    const server = await tcp(ok);
    // Every name leads to the server, which counts connections.
    const blocked = { outcome: 'BLOCKED', httpStatusCode: null };
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '0.0.0.0', '::', '169.254.169.254', '10.0.0.1']) {
      const send = sender({ loopback: false, resolve: async () => [address] });
      expect(await send(`https://innocent.example.com:${server.port}/`, [server.port])).toMatchObject(blocked);
    }
    const mixed = sender({ loopback: false, resolve: async () => ['93.184.215.14', '127.0.0.1'] });
    expect(await mixed(`https://innocent.example.com:${server.port}/`, [server.port])).toMatchObject(blocked);
    const send = sender({ loopback: false, resolve: async () => ['127.0.0.1'] });
    for (const host of [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f.1',
      '017700000001',
      '[::1]',
      '[::ffff:7f00:1]',
      'localhost',
      'localhost.',
      '0',
      '127。0。0。1',
    ]) {
      expect(await send(`https://${host}:${server.port}/`, [server.port])).toMatchObject(blocked);
      expect(await send(`http://${host}:${server.port}/`, [server.port])).toMatchObject(blocked);
    }
    expect(server.connections).toBe(0);
  });

  test('are found where the name changes between two deliveries', async () => {
    const server = await tcp(ok);
    let resolved = 0;
    // The address that is checked is the one that is connected to: the name is resolved once for each connection.
    const send = sender({
      loopback: false,
      resolve: async () => {
        resolved += 1;
        return resolved === 1 ? ['192.0.2.1'] : ['127.0.0.1'];
      },
    });
    expect(await send(`https://rebinding.example.com:${server.port}/`, [server.port])).toMatchObject({
      outcome: 'BLOCKED',
    });
    expect(resolved).toBe(1);
    expect(server.connections).toBe(0);
  });

  test('are reached in development only on this machine', async () => {
    const server = await tcp(ok);
    expect(await sender()(server.url)).toMatchObject({ outcome: 'SUCCESS' });
    const send = sender({ resolve: async () => ['10.0.0.1'] });
    expect(await send('https://inside.example.com/')).toMatchObject({ outcome: 'BLOCKED' });
  });

  test('a port is allowed where the operator allows it', async () => {
    const send = sender({ loopback: false, resolve: async () => ['127.0.0.1'] });
    expect(await send('https://hooks.example.com:8443/')).toMatchObject({
      outcome: 'BLOCKED',
      errorMessage: expect.stringContaining('Port 8443'),
    });
  });

  test('a name that does not resolve is a failure', async () => {
    expect(await sender()('https://unknown.example.com/')).toMatchObject({
      outcome: 'FAILED',
      errorMessage: 'The name unknown.example.com does not resolve.',
    });
  });
});
