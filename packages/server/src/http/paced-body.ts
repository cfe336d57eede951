import type { IncomingMessage, RequestListener } from 'node:http';

/** How many bodies are read in one turn of the event loop; each brings a chunk of 64 KiB at most. */
const readsPerTurn = 8;

const paced = new WeakSet<IncomingMessage>();
const waiting = new Set<IncomingMessage>();
let isScheduled = false;

/**
 * Reads a body chunk by chunk, in turns with all other bodies. Node reads as much as has arrived, up to 2 MB of each connection
 * before anything else is served; with 200 large bodies at the same time, that is a pause of 100 ms and more for everybody.
 *
 * Whoever is interested in the body adds their own listener. Without one, the body is discarded.
 */
export function paceBody(request: IncomingMessage): void {
  if (paced.has(request)) return void request.resume();
  paced.add(request);
  request.on('data', () => {
    // The rest has arrived, too: there is nothing to wait for.
    if (request.complete) return;
    request.pause();
    waiting.add(request);
    schedule();
  });
  request.once('close', () => waiting.delete(request));
}

/** Discards bodies that nobody has read at the same pace. Node reads them at once when the response has been sent. */
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
