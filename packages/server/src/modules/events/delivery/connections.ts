import { type buildConnector, Client, type Dispatcher } from 'undici';

type Request = Omit<Dispatcher.DispatchOptions, 'origin'>;

/**
 * Connections to receivers. There are as many as requests at the same time, and undici closes one that is not used for
 * a few seconds. Its pools would use one again only in the next turn of the event loop.
 */
export class Connections {
  readonly #connect: buildConnector.connector;
  /** By origin, the one that was used last at the end. */
  readonly #free = new Map<string, Connection[]>();
  readonly #all = new Set<Connection>();

  constructor(connect: buildConnector.connector) {
    this.#connect = connect;
  }

  /** A connection for one request. */
  take(origin: string): Connection {
    const connection = this.#free.get(origin)?.pop();
    if (connection === undefined) return this.open(origin);
    connection.isFree = false;
    return connection;
  }

  /** A new connection for one request. */
  open(origin: string): Connection {
    const connection = new Connection(origin, this.#connect, () => this.#drop(connection));
    this.#all.add(connection);
    return connection;
  }

  /**
   * To be called when the request has ended.
   *
   * @param isComplete whether all of the response was received.
   */
  release(connection: Connection, isComplete: boolean): void {
    if (!isComplete || !connection.isOpen) {
      this.#drop(connection);
      return;
    }
    connection.isFree = true;
    const free = this.#free.get(connection.origin);
    if (free === undefined) this.#free.set(connection.origin, [connection]);
    else free.push(connection);
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#all].map((connection) => connection.destroy()));
  }

  #drop(connection: Connection): void {
    this.#all.delete(connection);
    const left = this.#free.get(connection.origin)?.filter((one) => one !== connection) ?? [];
    if (left.length === 0) this.#free.delete(connection.origin);
    else this.#free.set(connection.origin, left);
    connection.destroy().catch(() => undefined);
  }
}

/** A connection to a receiver, which has one request at a time. */
export class Connection {
  readonly origin: string;
  isFree = false;
  isOpen = false;
  readonly #client: Client;

  /** @param onUnused is called when it was closed while it was free. */
  constructor(origin: string, connect: buildConnector.connector, onUnused: () => void) {
    this.origin = origin;
    // With 1, a client would wait for the next turn of the event loop after each response. A second request is never
    // sent beside the first. The sender limits the time of requests itself.
    this.#client = new Client(origin, { connect, pipelining: 2, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
    this.#client.on('connect', () => {
      this.isOpen = true;
    });
    this.#client.on('disconnect', () => {
      this.isOpen = false;
      if (this.isFree) onUnused();
    });
  }

  dispatch(request: Request, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(request, handler);
  }

  async destroy(): Promise<void> {
    await this.#client.destroy();
  }
}
