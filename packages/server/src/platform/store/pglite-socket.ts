/// <reference path="./webassembly.d.ts" />
import { Duplex } from 'node:stream';
import type { Worker } from 'node:worker_threads';
import { DatabaseUnavailable, reasonOf, unavailableBecause } from './errors.ts';

/** The parameters of `pglite-worker.ts`. */
export interface WorkerInput {
  /** The data directory of PostgreSQL; created if it does not exist. */
  readonly directory: string;
  /** PGlite, compiled: compiling takes longer than opening a database. */
  readonly wasm: WebAssembly.Module;
}

/** Messages of the PostgreSQL protocol, or the command to close the database. */
export type Request = Uint8Array | 'close';

/** Messages of the protocol, or the state of the database. */
export type WorkerReport = Uint8Array | { readonly kind: 'opened' } | Failure;

export interface Failure {
  readonly kind: 'failed';
  readonly reason: string;
  readonly sqlState: string | undefined;
}

type Callback = (error?: Error | null) => void;

/** The type of the message with which `pg` ends a connection. */
const terminate = 'X'.charCodeAt(0);

/**
 * A connection of `pg` to PGlite, which runs in its own thread. For `pg` it is a socket: ending it closes the database,
 * and destroying it terminates the thread, which PostgreSQL survives like `kill -9`.
 */
export class PgliteSocket extends Duplex {
  /**
   * Resolves when the database is open, including recovery after a crash. Rejects with the reason if it does not open.
   */
  readonly opened: Promise<void>;
  /** The thread has ended, so another one may open the same directory. */
  readonly ended: Promise<void>;
  #worker: Worker | undefined;
  #failure: Error | undefined;

  /** @param start creates the thread, once no other one has the directory open */
  constructor(start: Promise<Worker>) {
    super();
    this.opened = new Promise((resolve, reject) => {
      start.then(
        (worker) => this.#listen(worker, resolve),
        (error) => this.destroy(error),
      );
      this.once('error', reject);
    });
    // Failures of the socket are reported by its events; this prevents an unhandled rejection.
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
    worker.on('message', (report: WorkerReport) => {
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

  /** Emits `connect` when the database is open, like a socket when the server has accepted it. */
  connect(): this {
    this.opened.then(
      () => this.emit('connect'),
      () => undefined,
    );
    return this;
  }

  // Methods of a socket that `pg` calls, without effect here.
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

  /** The messages of one statement arrive together, and are passed to the thread in one call. */
  override _writev(chunks: { chunk: Uint8Array; encoding: BufferEncoding }[], done: Callback): void {
    this.#send(new Uint8Array(Buffer.concat(chunks.map(({ chunk }) => chunk))));
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
