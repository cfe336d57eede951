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

/** The thread that runs PGlite. It opens its database whether or not a connection still waits for it. */
export class PgliteThread {
  /** Resolves when the database is open, including recovery after a crash. Rejects with the reason if it does not open. */
  readonly opened: Promise<void>;
  /** The thread has ended, so another one may open the same directory. */
  readonly ended: Promise<void>;
  /** A connection uses it, or it has ended: no other connection can have it. */
  isSpent = false;
  #worker: Worker | undefined;
  #socket: PgliteSocket | undefined;
  #failure: Error | undefined;
  #isClosing = false;

  /** @param start creates the thread, once no other one has the directory open */
  constructor(start: Promise<Worker>) {
    const open = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const fail = (error: Error) => {
      this.isSpent = true;
      open.reject(error);
      this.#socket?.destroy(error);
    };
    start.then(
      (worker) => this.#listen(worker, open.resolve, fail, end.resolve),
      (error) => {
        fail(error);
        end.resolve();
      },
    );
    this.opened = open.promise;
    this.ended = end.promise;
    // The connection that waits for it reports the failure; this prevents an unhandled rejection where none does.
    this.opened.catch(() => undefined);
  }

  #listen(worker: Worker, opened: () => void, fail: (error: Error) => void, ended: () => void): void {
    this.#worker = worker;
    worker.on('message', (report: WorkerReport) => {
      if (report instanceof Uint8Array) this.#socket?.push(report);
      else if (report.kind === 'opened') opened();
      else this.#failure = unavailableBecause(report.sqlState, `PGlite stopped: ${report.reason}`);
    });
    worker.on('error', (error) =>
      fail(this.#failure ?? new DatabaseUnavailable(`PGlite stopped: ${reasonOf(error)}.`)),
    );
    worker.on('exit', () => {
      if (!this.#isClosing) fail(this.#failure ?? new DatabaseUnavailable('PGlite ended unexpectedly.'));
      ended();
    });
    if (this.#isClosing) this.close();
  }

  /** Gives the connection what the thread sends from now on. */
  attach(socket: PgliteSocket): void {
    this.#socket = socket;
    this.isSpent = true;
  }

  send(request: Request, transferred: ArrayBuffer[] = []): void {
    this.#worker?.postMessage(request, transferred);
  }

  /** Closes the database. */
  close(): void {
    this.#isClosing = true;
    this.send('close');
  }

  async terminate(): Promise<void> {
    await this.#worker?.terminate();
  }
}

/**
 * A connection of `pg` to PGlite. For `pg` it is a socket: ending it closes the database, and destroying it terminates the thread,
 * which PostgreSQL survives like `kill -9`. A thread that still opens its database is left to the next connection: if opening takes
 * longer than a connection waits, the database would never open otherwise.
 */
export class PgliteSocket extends Duplex {
  readonly #thread: PgliteThread;
  #isAttached = false;

  constructor(thread: PgliteThread) {
    super();
    this.#thread = thread;
  }

  /** Emits `connect` when the database is open, like a socket when the server has accepted it. */
  connect(): this {
    this.#thread.opened.then(
      () => {
        if (this.destroyed) return;
        this.#isAttached = true;
        this.#thread.attach(this);
        this.emit('connect');
      },
      (error) => this.destroy(error),
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
    this.#thread.send(request, [request.buffer]);
  }

  override _final(done: Callback): void {
    this.#thread.close();
    void this.#thread.ended.then(() => {
      this.push(null);
      done();
    });
  }

  override _destroy(error: Error | null, done: Callback): void {
    if (this.#isAttached) void this.#thread.terminate().then(() => done(error));
    else done(error);
  }
}
