/// <reference path="./webassembly.d.ts" />
import { Duplex } from 'node:stream';
import type { Worker } from 'node:worker_threads';
import { DatabaseUnavailable, reasonOf, unavailableBecause } from './errors.ts';

/** What `pglite-worker.ts` is started with. */
export interface WorkerInput {
  /** The data directory of PostgreSQL; it is created where it does not exist. */
  readonly directory: string;
  /** PGlite, compiled: compiling takes longer than opening a database. */
  readonly wasm: WebAssembly.Module;
}

/** Messages of the PostgreSQL protocol, or the word that ends the thread in order. */
export type Request = Uint8Array | 'close';

/** Messages of the protocol in return, or what became of the database. */
export type Report = Uint8Array | { readonly kind: 'opened' } | Failure;

export interface Failure {
  readonly kind: 'failed';
  readonly reason: string;
  readonly sqlState: string | undefined;
}

type Callback = (error?: Error | null) => void;

/** The first byte of the message with which `pg` ends a connection. */
const terminate = 'X'.charCodeAt(0);

/**
 * A connection of `pg` to PGlite, which runs in a thread of its own. To `pg` it is a socket: ending it closes the database,
 * and destroying it ends the thread in the middle of whatever it does, which PostgreSQL survives as it survives `kill -9`.
 */
export class PgliteSocket extends Duplex {
  /** The database is open; after a crash that includes its recovery. Rejects with the reason where it does not open. */
  readonly opened: Promise<void>;
  /** The thread has ended, so another one may open the same directory. */
  readonly ended: Promise<void>;
  #worker: Worker | undefined;
  #failure: Error | undefined;

  /** @param start the thread, once no other one has the directory open */
  constructor(start: Promise<Worker>) {
    super();
    this.opened = new Promise((resolve, reject) => {
      start.then(
        (worker) => this.#listen(worker, resolve),
        (error) => this.destroy(error),
      );
      this.once('error', reject);
    });
    // Whoever cares listens; a socket that fails later has long been opened.
    this.opened.catch(() => undefined);
    this.ended = new Promise((resolve) => {
      start.then(
        (worker) => worker.once('exit', () => resolve()),
        () => resolve(),
      );
    });
  }

  #listen(worker: Worker, opened: () => void): void {
    this.#worker = worker;
    worker.on('message', (report: Report) => {
      if (report instanceof Uint8Array) this.push(report);
      else if (report.kind === 'opened') opened();
      else this.#failure = unavailableBecause(report.sqlState, `PGlite stopped: ${report.reason}`);
    });
    worker.on('error', (error) =>
      this.destroy(this.#failure ?? new DatabaseUnavailable(`PGlite stopped: ${reasonOf(error)}.`)),
    );
    worker.on('exit', () => {
      if (!this.writableEnded) this.destroy(this.#failure ?? new DatabaseUnavailable('PGlite ended unexpectedly.'));
    });
    if (this.destroyed) void worker.terminate();
  }

  /** Emits `connect` when the database is open, as a socket does when the server has accepted it. */
  connect(): this {
    this.opened.then(
      () => this.emit('connect'),
      () => undefined,
    );
    return this;
  }

  // What `pg` asks of a socket, and has no meaning here.
  setNoDelay(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  override _read(): void {}

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: Callback): void {
    if (chunk[0] !== terminate) this.#send(new Uint8Array(chunk));
    done();
  }

  /** The messages of one statement come together: the thread is called once for all of them. */
  override _writev(chunks: { chunk: Uint8Array; encoding: BufferEncoding }[], done: Callback): void {
    const request = new Uint8Array(chunks.reduce((length, { chunk }) => length + chunk.length, 0));
    let offset = 0;
    for (const { chunk } of chunks) {
      request.set(chunk, offset);
      offset += chunk.length;
    }
    this.#send(request);
    done();
  }

  #send(request: Uint8Array<ArrayBuffer>): void {
    this.#worker?.postMessage(request satisfies Request, [request.buffer]);
  }

  override _final(done: Callback): void {
    this.#worker?.postMessage('close' satisfies Request);
    void this.ended.then(() => {
      this.push(null);
      done();
    });
  }

  override _destroy(error: Error | null, done: Callback): void {
    void Promise.resolve(this.#worker?.terminate()).then(() => done(error));
  }
}
