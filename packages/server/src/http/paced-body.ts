import type { IncomingMessage, RequestListener } from 'node:http';

/** Number of bodies that are read in one turn of the event loop; each read is a chunk of at most 64 KiB. */
const readsPerTurn = 8;

const paced = new WeakSet<IncomingMessage>();
const waiting = new Set<IncomingMessage>();
let isScheduled = false;

/**
 * Reads a body chunk by chunk, in turns with all other bodies. Node would read up to 2 MB of each connection before it
 * serves anything else; 200 concurrent large bodies would block all requests for 100 ms and more.
 *
 * Consumers of the body add their own listener. Without one, the body is discarded.
 */
export function paceBody(request: IncomingMessage): void {
  if (paced.has(request)) return void request.resume();
  paced.add(request);
  request.on('data', () => {
    // The rest has already arrived.
    if (request.complete) return;
    request.pause();
    waiting.add(request);
    schedule();
  });
  request.once('close', () => waiting.delete(request));
}

/** Discards unread bodies at the same pace. Node would read them at once after the response. */
export function withPacedBodies(listener: RequestListener): RequestListener {
  return (request, response) => {
    response.prependOnceListener('finish', () => {
      if (!request.complete) paceBody(request);
    });
    listener(request, response);
  };
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(resumeNext);
}

function resumeNext(): void {
  isScheduled = false;
  let resumed = 0;
  for (const request of waiting) {
    if (resumed === readsPerTurn) break;
    waiting.delete(request);
    request.resume();
    resumed += 1;
  }
  if (waiting.size > 0) schedule();
}
