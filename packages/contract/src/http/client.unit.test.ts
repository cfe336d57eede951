import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { HttpClient, noAnswer } from './client.ts';

const wire = { method: 'POST', target: '/things', headers: { 'content-type': 'text/plain' }, body: 'one' };

let server: Server;
let client: HttpClient;

async function serve(answer: (turn: number, response: ServerResponse) => void): Promise<void> {
  let turn = 0;
  server = createServer((request, response) => {
    turn += 1;
    const mine = turn;
    request.resume().once('end', () => answer(mine, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new HttpClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 1, 2);
}

afterEach(async () => {
  await client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('a connection that breaks before an answer', () => {
  it('is no matter of the server where asking again is answered', async () => {
    await serve((turn, response) => (turn === 1 ? response.destroy() : response.end('two')));
    expect((await client.send(undefined, wire)).answer).toMatchObject({ status: 200, text: 'two' });
  });

  it('is no answer where it breaks again', async () => {
    let asked = 0;
    await serve((turn, response) => {
      asked = turn;
      response.destroy();
    });
    expect((await client.send(undefined, wire)).answer.status).toBe(noAnswer);
    expect(asked).toBe(2);
  });
});

describe('an answer that does not come', () => {
  it('is not asked for again', async () => {
    let asked = 0;
    await serve((turn) => {
      asked = turn;
    });
    const { answer } = await client.send(undefined, wire);
    expect(answer.status).toBe(noAnswer);
    expect(asked).toBe(1);
  });
});
