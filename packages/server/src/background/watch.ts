import type { Logger } from 'pino';
import type { JobTable } from './job-table.ts';
import type { Worker } from './worker.ts';

/**
 * Maximum pause between two checks, in milliseconds. A job whose notification was missed starts late by up to this much.
 */
const maxPauseMs = 5_000;
const minPauseMs = 100;
/** Interval at which old jobs are deleted, in milliseconds. */
const upkeepEvery = 3_600_000;

/**
 * Wakes workers when their jobs are due. The transaction that adds a job sends a notification; for jobs with a later
 * start, and for missed notifications, the database is checked every few seconds, with one statement.
 */
export class Watch {
  readonly #table: JobTable;
  readonly #log: Logger;
  readonly #workers: ReadonlyMap<string, Worker>;
  readonly #everyMinute: ((minute: number) => void) | undefined;
  #minute: number | undefined;
  #upkeepAt = performance.now() + 60_000;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  /** Whether another check was requested during the current one. */
  #hurried = false;
  #listener: { close(): Promise<void> } | undefined;
  #stopped = false;

  /** @param everyMinute called at the start of a minute on the clock of the database, which all processes share. */
  constructor(
    table: JobTable,
    log: Logger,
    workers: readonly Worker[],
    everyMinute: ((minute: number) => void) | undefined,
  ) {
    this.#table = table;
    this.#log = log;
    this.#workers = new Map(workers.map((worker) => [worker.job.name, worker]));
    this.#everyMinute = everyMinute;
  }

  async start(): Promise<void> {
    this.#listener = await this.#table.listen((name) => {
      if (name === '') this.lookSoon();
      else this.#workers.get(name)?.wake();
    });
    this.#lookIn(0);
  }

  /** Call this when a job may be due before the next check. */
  lookSoon(): void {
    this.#lookIn(minPauseMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#listener?.close();
    await this.#looking;
  }

  #lookIn(milliseconds: number): void {
    this.#hurried ||= this.#looking !== undefined;
    if (this.#stopped || this.#looking !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().then((pause) => {
        this.#looking = undefined;
        this.#lookIn(this.#hurried ? minPauseMs : pause);
      });
    }, milliseconds);
  }

  /** @returns the pause until the next check. */
  async #look(): Promise<number> {
    this.#hurried = false;
    try {
      return await this.#act(await this.#table.due([...this.#workers.keys()]));
    } catch (error) {
      this.#log.warn({ err: error }, 'Job queue unavailable; retrying in seconds.');
      return maxPauseMs;
    }
  }

  async #act({ jobs, now }: Awaited<ReturnType<JobTable['due']>>): Promise<number> {
    const minute = Math.floor(now / 60_000);
    if (minute !== this.#minute) this.#everyMinute?.(minute);
    this.#minute = minute;
    for (const { name, dueIn, lapsed } of jobs) {
      const worker = this.#workers.get(name);
      if (worker !== undefined && lapsed) {
        this.#log.warn({ job: name }, 'Restarting jobs of a process that died or stalled.');
        await this.#table.failLapsed(worker.job);
      }
      if (lapsed || (dueIn !== null && dueIn <= 0)) worker?.wake();
    }
    if (performance.now() >= this.#upkeepAt) {
      await this.#table.removeOld();
      this.#upkeepAt = performance.now() + upkeepEvery;
    }
    const dueIn = jobs.flatMap((job) => (job.dueIn !== null && job.dueIn > 0 ? [job.dueIn] : []));
    const untilMinute = this.#everyMinute === undefined ? maxPauseMs : (minute + 1) * 60_000 - now;
    return Math.max(minPauseMs, Math.min(maxPauseMs, untilMinute, ...dueIn));
  }
}
