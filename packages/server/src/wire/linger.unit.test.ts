import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { expect, test, vi } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { portOf } from '../../test/free-port.ts';
import { nightlyTest } from '../../test/nightly-test.ts';
import { messages } from './messages.ts';

const connections = 30;
const bodyBytes = 2_000_000;
/** More than one turn reads of paced bodies, and less than Node reads of a single body without pacing. */
const manyBytes = 1_500_000;
/** Connections that are accepted in the same turn each deliver the first chunk of their body. */
const turnsToAccept = 2;

/** Senders in a separate thread. They report the start of each response. */
const senders = `
  const { connect } = require('node:net');
  const { parentPort, workerData: { port, connections, bodyBytes } } = require('node:worker_threads');
  for (let index = 0; index < connections; index++) {
    const socket = connect(port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: ' + bodyBytes + '\\r\\n\\r\\n' + 'x'.repeat(bodyBytes));
    socket.once('data', (data) => parentPort.postMessage(String(data)));
    socket.once('error', (error) => parentPort.postMessage(error.message));
  }`;

/** Sends all bodies at once. @returns the turns of the event loop that read many bytes, and the responses. */
async function sendMany(listener: RequestListener) {
  const sockets: Socket[] = [];
  const server = createServer(messages, listener).listen(0, '127.0.0.1');
  server.on('connection', (socket) => sockets.push(socket));
  await once(server, 'listening');
  const worker = new Worker(senders, { eval: true, workerData: { port: portOf(server), connections, bodyBytes } });
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
    await worker.terminate();
  });
  const responses: string[] = [];
  worker.on('message', (response: string) => responses.push(response));
  let [longTurns, before] = [0, 0];
  await new Promise<void>((resolve) => {
    const countTurn = () => {
      const read = sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
      if (read - before > manyBytes) longTurns += 1;
      before = read;
      if (read > connections * bodyBytes && responses.length === connections) resolve();
      else setImmediate(countTurn);
    };
    countTurn();
  });
  return { longTurns, responses };
}

const later: RequestListener = (_, response) => void response.writeHead(429).end('Later.');

// It takes 15 seconds: the bodies are large, and read slowly.
nightlyTest?.('large bodies of rejected requests are discarded in turns', async () => {
  const { longTurns, responses } = await sendMany(later);
  expect(longTurns).toBeLessThanOrEqual(turnsToAccept);
  for (const response of responses) expect(response).toMatch(/^HTTP\/1.1 429/);
});

/** Serves until the end of the test. */
async function serve(listener: RequestListener) {
  const sockets = new Set<Socket>();
  const server = createServer(messages, listener);
  server
    .listen(0, '127.0.0.1')
    .on('connection', (socket) => sockets.add(socket.once('close', () => sockets.delete(socket))));
  await once(server, 'listening');
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { sockets, port: portOf(server) };
}

test('when many bodies are discarded, the oldest connections are closed after their response', async () => {
  const { sockets, port } = await serve(later);
  // Bodies that never end.
  const received = Array.from({ length: 100 }, async () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    atEnd(() => socket.destroy());
    socket.on('error', () => {});
    socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nx');
    const [data] = await once(socket, 'data');
    return String(data);
  });
  for (const response of await Promise.all(received)) expect(response).toMatch(/^HTTP\/1.1 429/);
  await vi.waitFor(() => expect(sockets.size).toBe(64));
});

test.each([
  ['has not arrived', 'Content-Length: 5\r\n\r\nhel', 'close'],
  ['has not arrived, of unknown length', 'Transfer-Encoding: chunked\r\n\r\n', 'close'],
  ['has arrived', 'Content-Length: 5\r\n\r\nhello', 'keep-alive'],
  ['is empty', 'Content-Length: 0\r\n\r\n', 'keep-alive'],
  ['does not exist', '\r\n', 'keep-alive'],
])('a response to a request whose body %s says whether the connection closes', async (_, rest, connection) => {
  const { port } = await serve((request, response) => void setImmediate(later, request, response));
  const socket = connect(port, '127.0.0.1');
  atEnd(() => socket.destroy());
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${rest}`);
  const [data] = await once(socket, 'data');
  expect(String(data)).toContain(`\r\nConnection: ${connection}\r\n`);
  if (connection === 'close') await once(socket, 'end');
  else {
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1.1 429/);
  }
});

test('a caller who still sends its body receives a response that is sent early, and the connection ends after it', async () => {
  const { port, sockets } = await serve(later);
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const piece = Buffer.alloc(20_000);
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${20 * piece.length}\r\n\r\n`);
  // Simple clients read when they have sent everything.
  for (let sent = 0; sent < 20; sent++) {
    await promisify((done: (error?: Error | null) => void) => socket.write(piece, done))();
    await setTimeout(10);
  }
  expect(await text(socket)).toMatch(/^HTTP\/1.1 429[\s\S]*Later\./);
  await expect.poll(() => sockets.size).toBe(0);
});

test("Node's fetch gets a response to each of 500 requests that are rejected early", async () => {
  const { port } = await serve(later);
  const body = Buffer.alloc(130_000);
  const statuses: number[] = [];
  for (let round = 0; round < 25; round++) {
    const sent = Array.from({ length: 20 }, async () => {
      const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body });
      await response.text();
      return response.status;
    });
    statuses.push(...(await Promise.all(sent)));
  }
  expect(statuses).toEqual(Array.from({ length: 500 }, () => 429));
});
