import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';

/** What the quiet tenant observed. */
export class Seen {
  /** Of each read, in milliseconds from when it was due. */
  readonly times: number[] = [];
  /** Of each request for readiness, likewise. */
  readonly readyTimes: number[] = [];
  /** Statuses of the reads without 200; 0 without a response. */
  readonly errors: number[] = [];
  /** Requests for readiness without 200. */
  notReady = 0;
}

/** Below the rate limit of one API user, as of a tenant that keeps to its limits. */
const readsPerSecond = 18;

/**
 * Reads by id at a fixed rate, whatever the service does: a read that has to wait for the one before counts from when it was
 * due, as it would for a caller of its own.
 */
export class Probe {
  readonly #agent = new Agent({ connections: 64, keepAliveTimeout: 2_000 });
  readonly #quiet: { readonly address: string; readonly tenant: string; readonly path: string };

  constructor(quiet: { readonly address: string; readonly tenant: string; readonly path: string }) {
    this.#quiet = quiet;
  }

  async watch(seconds: number, token: string, seen: Seen): Promise<void> {
    const headers = { authorization: `Bearer ${token}`, tenant: this.#quiet.tenant };
    const started = performance.now();
    const atRate = (perSecond: number, work: (due: number) => Promise<void>) =>
      Array.from({ length: seconds * perSecond }, async (_, index) => {
        const due = started + (index * 1_000) / perSecond;
        await pause(Math.max(0, due - performance.now()));
        await work(due);
      });
    const reads = atRate(readsPerSecond, async (due) => {
      const status = await this.#status(this.#quiet.path, headers);
      seen.times.push(performance.now() - due);
      if (status !== 200) seen.errors.push(status);
    });
    const readiness = atRate(2, async (due) => {
      if ((await this.#status('/readyz')) !== 200) seen.notReady += 1;
      seen.readyTimes.push(performance.now() - due);
    });
    await Promise.all([...reads, ...readiness]);
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  async #status(path: string, headers: Record<string, string> = {}): Promise<number> {
    try {
      const response = await this.#agent.request({ origin: this.#quiet.address, path, method: 'GET', headers });
      await response.body.dump();
      return response.statusCode;
    } catch {
      return 0;
    }
  }
}
