import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { HttpClient, noResponse } from './client.ts';

const wire = { method: 'POST', target: '/things', headers: { 'content-type': 'text/plain' }, body: 'one' };

let server: Server;
let client: HttpClient;

async function serve(respond: (turn: number, outgoing: ServerResponse) => void): Promise<void> {
  let turn = 0;
  server = createServer((request, outgoing) => {
    turn += 1;
    const mine = turn;
    request.resume().once('end', () => respond(mine, outgoing));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new HttpClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 1, 2000, {
    check: () => undefined,
  });
}

afterEach(async () => {
  vi.restoreAllMocks();
  await client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('a connection that is closed before a response', () => {
  it('is ignored if a retry succeeds', async () => {
    await serve((turn, outgoing) => (turn === 1 ? outgoing.destroy() : outgoing.end('two')));
    expect((await client.send(undefined, wire)).response).toMatchObject({ status: 200, text: 'two' });
  });

  it('is reported as no response if the retry fails, too', async () => {
    let requestCount = 0;
    await serve((turn, outgoing) => {
      requestCount = turn;
      outgoing.destroy();
    });
    expect((await client.send(undefined, wire)).response.status).toBe(noResponse);
    expect(requestCount).toBe(2);
  });

  it('counts as lost, unless this process has just stood still, so that a server could think that the connection was idle', async () => {
    await serve((turn, outgoing) => (turn % 2 === 1 ? outgoing.destroy() : outgoing.end('two')));
    expect((await client.send(undefined, wire)).response.lost).toBeDefined();
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 5000);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect((await client.send(undefined, wire)).response).not.toHaveProperty('lost');
  });
});

it('a connection that is closed after a failure of the server loses no response', async () => {
  await serve((turn, outgoing) => {
    if (turn === 2) return outgoing.destroy();
    outgoing.statusCode = turn === 1 ? 500 : 200;
    return outgoing.end();
  });
  expect((await client.send(undefined, wire)).response.status).toBe(500);
  expect((await client.send(undefined, wire)).response).not.toHaveProperty('lost');
});

describe('a request without a response', () => {
  it('is not repeated', async () => {
    let requestCount = 0;
    await serve((turn) => {
      requestCount = turn;
    });
    const { response } = await client.send(undefined, wire);
    expect(response.status).toBe(noResponse);
    expect(requestCount).toBe(1);
  });
});
