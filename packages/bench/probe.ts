import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';

/** What the quiet tenant observed in one or several windows. */
export interface Seen {
  /** Of each read, in milliseconds from when it was due. */
  readonly times: readonly number[];
  /** Of each request for readiness, likewise. */
  readonly readyTimes: readonly number[];
  /** Statuses of the reads without 200; 0 without a response. */
  readonly errors: readonly number[];
  /** Requests for readiness without 200. */
  readonly notReady: number;
}

export function together(windows: readonly Seen[]): Seen {
  return {
    times: windows.flatMap(({ times }) => times),
    readyTimes: windows.flatMap(({ readyTimes }) => readyTimes),
    errors: windows.flatMap(({ errors }) => errors),
    notReady: windows.reduce((sum, { notReady }) => sum + notReady, 0),
  };
}

/** Below the rate limit of one API user, as of a tenant that keeps to its limits. */
const readsPerSecond = 18;

/**
 * Reads by id at a fixed rate, whatever the service does: a read that has to wait for the one before counts from when it was
 * due, as it would for a caller of its own.
 */
export class Probe {
  readonly #address: string;
  readonly #tenant: string;
  readonly #path: string;
  readonly #agent = new Agent({ connections: 64, keepAliveTimeout: 2_000 });

  constructor(address: string, tenant: string, path: string) {
    this.#address = address;
    this.#tenant = tenant;
    this.#path = path;
  }

  async watch(seconds: number, token: string): Promise<Seen> {
    const times: number[] = [];
    const readyTimes: number[] = [];
    const errors: number[] = [];
    let notReady = 0;
    const started = performance.now();
    const headers = { authorization: `Bearer ${token}`, tenant: this.#tenant };
    const at = async (milliseconds: number, work: (due: number) => Promise<void>) => {
      await pause(Math.max(0, milliseconds - (performance.now() - started)));
      await work(started + milliseconds);
    };
    const reads = Array.from({ length: seconds * readsPerSecond }, (_, index) =>
      at((index * 1_000) / readsPerSecond, async (due) => {
        const status = await this.#status(this.#path, headers);
        times.push(performance.now() - due);
        if (status !== 200) errors.push(status);
      }),
    );
    const readiness = Array.from({ length: seconds * 2 }, (_, index) =>
      at(index * 500, async (due) => {
        if ((await this.#status('/readyz')) !== 200) notReady += 1;
        readyTimes.push(performance.now() - due);
      }),
    );
    await Promise.all([...reads, ...readiness]);
    return { times, readyTimes, errors, notReady };
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  async #status(path: string, headers: Record<string, string> = {}): Promise<number> {
    try {
      const response = await this.#agent.request({ origin: this.#address, path, method: 'GET', headers });
      await response.body.dump();
      return response.statusCode;
    } catch {
      return 0;
    }
  }
}
