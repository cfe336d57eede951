import type { IncomingMessage, ServerResponse } from 'node:http';

/** Reads of discarded bodies in a turn, each of at most 64 KiB, and the time between two turns, in milliseconds: 5 MB/s at most. */
const readsPerTurn = 8;
const turnEveryMs = 100;
/** Connections whose body is discarded at the same time. Each holds up to 128 KiB that arrived and was not read yet. */
const maxDiscarded = 64;

/** Requests whose body is discarded, and those of them that wait for their turn, in the order in which they began to. */
const discarded = new Set<IncomingMessage>();
const waiting = new Set<IncomingMessage>();
let isScheduled = false;

/** Whether the body of a request has not arrived in whole. */
export function isArriving({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
}

/**
 * Has the connection of a response, which is sent before the body has arrived, close as RFC 9112, section 9.6, describes: only this side
 * ends, and the rest of the body is discarded, in turns. Node would close the connection with bytes unread, so that the caller could
 * lose the response. If there are too many, the oldest connection is closed: its caller already has the response.
 */
export function lingerAfter(response: ServerResponse): void {
  const { req: request } = response;
  const { socket } = request;
  response.prependOnceListener('finish', () => {
    // Node takes the socket from a request that is destroyed.
    if (socket === null || !isArriving(request)) return;
    // What Node calls after a response that closes its connection.
    socket.destroySoon = () => void socket.end();
    discarded.add(request);
    // Node does this only for requests that have no response yet.
    socket.once('close', () => request.destroy());
    request.once('close', () => {
      discarded.delete(request);
      waiting.delete(request);
      socket.destroy();
    });
    request.on('data', () => {
      // The rest has arrived, too: there is nothing to wait for.
      if (!request.complete) waitForTurn(request.pause());
    });
    const [oldest] = discarded;
    if (discarded.size > maxDiscarded) oldest?.destroy();
  });
}

function waitForTurn(request: IncomingMessage): void {
  waiting.add(request);
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(() => {
    isScheduled = false;
    for (const next of [...waiting].slice(0, readsPerTurn)) {
      waiting.delete(next);
      next.resume();
    }
    const [left] = waiting;
    if (left !== undefined) waitForTurn(left);
  }, turnEveryMs);
}
