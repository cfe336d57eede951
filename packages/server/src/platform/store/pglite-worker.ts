import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { btree_gin } from '@electric-sql/pglite/contrib/btree_gin';
import { btree_gist } from '@electric-sql/pglite/contrib/btree_gist';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import type { Failure, Request, WorkerInput, WorkerReport } from './pglite-socket.ts';

/**
 * The thread that runs PGlite. It passes protocol messages on unchanged: `pg` in the main thread writes and reads them.
 * Statements cannot be cancelled here, because PostgreSQL's timers do not exist in WebAssembly; the main thread
 * terminates the thread instead.
 */
const { directory, wasm }: WorkerInput = workerData;
const port = parentPort;
if (port === null) throw new Error('pglite-worker.ts runs as a worker thread only.');

const settings = {
  // One connection requires neither 128 MB of buffers nor compiled expressions; together this halves the memory.
  shared_buffers: '16MB',
  jit: 'off',
  // Without autovacuum, the list of pending entries of the trigram indexes must remain short.
  gin_pending_list_limit: '256kB',
  // The log includes the SQLSTATE of errors.
  log_error_verbosity: 'verbose',
};

/** The last message of the server's log with the reason of a stop. */
let fatal: Failure | undefined;

const database = await open();
report({ kind: 'opened' });

port.on('message', (request: Request) => {
  if (request === 'close') void close();
  else respond(request);
});

async function open(): Promise<PGlite> {
  try {
    return await PGlite.create(directory, {
      pgliteWasmModule: wasm,
      extensions: { btree_gin, btree_gist, pg_trgm, abort_handler: { name: 'abort_handler', setup: handleAbort } },
      startParams: [
        ...PGlite.defaultStartParams,
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      // The same for the short run of initdb, and small log segments, which makes the first start faster.
      initDbStartParams: ['-c', 'shared_buffers=16MB', '--wal-segsize=1'],
      onStderr(line) {
        const [, sqlState, reason] = /\b(?:FATAL|PANIC): +([0-9A-Z]{5}): (.+)/.exec(line) ?? [];
        if (reason !== undefined) fatal = { kind: 'failed', reason, sqlState };
        return false;
      },
    });
  } catch (error) {
    end(error instanceof Error ? error.message : String(error));
    throw error;
  }
}

/** PGlite catches the exception of an abort and continues in an undefined state. */
async function handleAbort(_database: unknown, emscriptenOpts: object): Promise<{ emscriptenOpts: object }> {
  return { emscriptenOpts: { ...emscriptenOpts, onAbort: () => end('PGlite aborted') } };
}

function respond(request: Uint8Array): void {
  const parts: Uint8Array[] = [];
  // The parts are views of memory that the next one overwrites. The call is synchronous; its promise concerns file
  // systems that must be synchronized, unlike this one.
  void database.execProtocolRawStream(request, { syncToFs: false, onRawData: (part) => parts.push(part.slice()) });
  // A large result has many parts, of 8 kB each, and passing each on alone would cost more than reading it.
  const response = new Uint8Array(Buffer.concat(parts));
  report(response, [response.buffer]);
}

async function close(): Promise<void> {
  await database.close();
  process.exit();
}

/** Terminates the thread, with the message of the server's log if there is one. */
function end(reason: string): void {
  report(fatal ?? { kind: 'failed', reason, sqlState: undefined });
  process.exit(1);
}

function report(message: WorkerReport, transferred: ArrayBuffer[] = []): void {
  port?.postMessage(message, transferred);
}
