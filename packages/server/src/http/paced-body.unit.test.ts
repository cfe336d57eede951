import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, test, vi } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { portOf } from '../../test/free-port.ts';
import { paceBody, withPacedBodies } from './paced-body.ts';

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
  const server = createServer(listener).listen(0, '127.0.0.1');
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

test('large bodies that arrive concurrently are read in turns', async () => {
  const read: RequestListener = (request, response) => {
    let length = 0;
    paceBody(request);
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    request.on('end', () => response.end(`${length} bytes`));
  };
  const { longTurns, responses } = await sendMany(withPacedBodies(read));
  expect(longTurns).toBeLessThanOrEqual(turnsToAccept);
  for (const response of responses) expect(response).toContain(`${bodyBytes} bytes`);
});

test('large bodies of rejected requests are discarded in turns', async () => {
  const { longTurns, responses } = await sendMany(
    withPacedBodies((_, response) => void response.writeHead(429).end('Later.')),
  );
  expect(longTurns).toBeLessThanOrEqual(turnsToAccept);
  for (const response of responses) expect(response).toMatch(/^HTTP\/1.1 429/);
});

test('when many bodies are discarded, the oldest connections are closed after their response', async () => {
  const sockets = new Set<Socket>();
  const server = createServer(withPacedBodies((_, response) => void response.writeHead(429).end('Later.')));
  server
    .listen(0, '127.0.0.1')
    .on('connection', (socket) => sockets.add(socket.once('close', () => sockets.delete(socket))));
  await once(server, 'listening');
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  // Bodies that never end.
  const received = Array.from({ length: 100 }, async () => {
    const socket = connect(portOf(server), '127.0.0.1');
    atEnd(() => socket.destroy());
    socket.on('error', () => {});
    socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nx');
    const [data] = await once(socket, 'data');
    return String(data);
  });
  for (const response of await Promise.all(received)) expect(response).toMatch(/^HTTP\/1.1 429/);
  await vi.waitFor(() => expect(sockets.size).toBe(64));
});
