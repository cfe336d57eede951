/** A process that receives events over HTTPS, and reports to its parent when they arrived. */
import { createServer } from 'node:https';
import { portOf } from '@financial-automation/server/tools';

/** What has arrived when as much has arrived as the parent waits for. */
export interface Arrivals {
  /** When, in milliseconds since 1970. */
  readonly times: readonly number[];
  /** Maximum number of connections that were open at the same time. */
  readonly connections: number;
}

const [key = '', cert = ''] = process.argv.slice(2);
let times: number[] = [];
let [open, connections, expected] = [0, 0, Number.POSITIVE_INFINITY];
const server = createServer({ key, cert }, (request, response) => {
  request.resume();
  request.once('end', () => {
    if (request.url !== '/bare') times.push(performance.timeOrigin + performance.now());
    response.end('ok');
    report();
  });
});
server.on('secureConnection', (socket) => {
  open += 1;
  connections = Math.max(connections, open);
  socket.once('close', () => {
    open -= 1;
  });
});
process.on('message', (count: number) => {
  expected = count;
  report();
});

function report(): void {
  if (times.length < expected) return;
  process.send?.({ times, connections } satisfies Arrivals);
  [times, connections, expected] = [[], open, Number.POSITIVE_INFINITY];
}
server.listen(0, '127.0.0.1', () => process.send?.(portOf(server)));
