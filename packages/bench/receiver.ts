/** A process that receives events over HTTPS, and reports to its parent when they arrived. */
import { createServer } from 'node:https';
import { portOf } from '@financial-automation/server/test/free-port';

/** A number: sends the arrivals as soon as there are as many. */
export type ReceiverCommand = number | 'count' | 'reset';

/** What arrived since the last reset. */
export interface Arrivals {
  readonly count: number;
  /** When, in milliseconds since 1970, by event and path. Empty in the response to `count`. */
  readonly arrivals: readonly (readonly [id: string, path: string, at: number])[];
  /** Maximum number of connections that were open at the same time. */
  readonly connections: number;
}

/** How long a slow receiver takes, in milliseconds. */
const slowResponse = 50;

const [key = '', cert = ''] = process.argv.slice(2);
let arrivals: [string, string, number][] = [];
let connections = 0;
let open = 0;
let expected: number | undefined;
const server = createServer({ key, cert }, (request, response) => {
  const id = String(request.headers['webhook-id']);
  const path = request.url ?? '';
  // A receiver that accepts requests and never responds.
  if (path === '/dead') return;
  request.resume();
  request.once('end', () => {
    arrivals.push([id, path, performance.timeOrigin + performance.now()]);
    if (path === '/slow') setTimeout(() => response.end('ok'), slowResponse);
    else response.end('ok');
    reportWanted();
  });
});
server.on('secureConnection', (socket) => {
  open += 1;
  connections = Math.max(connections, open);
  socket.once('close', () => {
    open -= 1;
  });
});
process.on('message', (command: ReceiverCommand) => {
  if (command === 'reset') {
    arrivals = [];
    connections = open;
  }
  if (typeof command === 'number') {
    expected = command;
    reportWanted();
  } else report([]);
});
function reportWanted(): void {
  if (expected === undefined || arrivals.length < expected) return;
  expected = undefined;
  report(arrivals);
}
function report(reported: Arrivals['arrivals']): void {
  process.send?.({ arrivals: reported, count: arrivals.length, connections } satisfies Arrivals);
}
server.listen(0, '127.0.0.1', () => process.send?.(portOf(server)));
