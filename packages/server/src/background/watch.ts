import type { PgBoss } from 'pg-boss';
import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';
import type { Worker } from './worker.ts';

/** The channel that `enqueue_job` notifies. */
const channel = 'background_job';
/**
 * Maximum pause between two checks, in milliseconds. A job whose notification was missed starts late by up to this much.
 */
const longestPause = 5_000;
const shortestPause = 100;
/** Pause before checking for due jobs of dead processes, in milliseconds. */
const untilRetry = 1_000;
/** Interval at which old finished jobs are deleted, in milliseconds. */
const upkeepEvery = 3_600_000;

interface State {
  readonly name: string;
  /** Milliseconds until the next job is due; negative if one is waiting, null if there is none. */
  readonly dueIn: number | null;
  /** Whether the lease or the timeout of a run has expired. */
  readonly lapsed: boolean;
  readonly now: number;
}

/** Uses an index for each queue, so that its cost does not depend on the number of jobs. */
const look = `
  select q.name, lapsed.found as lapsed, date_part('epoch', now()) * 1000 as now,
    date_part('epoch', least(created.start_after, retry.start_after) - now()) * 1000 as "dueIn"
  from pgboss.queue q
  left join lateral (select start_after from pgboss.job_common where name = q.name and state = 'created' and not blocked
    order by start_after limit 1) created on true
  left join lateral (select start_after from pgboss.job_common where name = q.name and state = 'retry' and not blocked
    order by start_after limit 1) retry on true
  cross join lateral (select exists (select from pgboss.job_common where name = q.name and state = 'active'
    and (heartbeat_on + heartbeat_seconds * interval '1 second' < now()
      or started_on + expire_seconds * interval '1 second' < now())) as found) lapsed
  where q.name = any ($1::text[])`;

/**
 * Wakes workers when their jobs are due. The transaction that adds a job sends a notification; for jobs with a later
 * start, and for missed notifications, the database is checked every few seconds.
 */
export class Watch {
  readonly #store: Store;
  readonly #boss: PgBoss;
  readonly #log: Logger;
  readonly #workers: ReadonlyMap<string, Worker>;
  readonly #everyMinute: (() => Promise<void>) | undefined;
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
    store: Store,
    boss: PgBoss,
    log: Logger,
    workers: readonly Worker[],
    everyMinute: (() => Promise<void>) | undefined,
  ) {
    this.#store = store;
    this.#boss = boss;
    this.#log = log;
    this.#workers = new Map(workers.map((worker) => [worker.queue.name, worker]));
    this.#everyMinute = everyMinute;
  }

  async start(): Promise<void> {
    this.#listener = await this.#store.listen(channel, (name) => {
      if (name === '') this.lookSoon();
      else this.#workers.get(name)?.wake();
    });
    this.#lookIn(0);
  }

  /** Call this when a job may be due before the next check. */
  lookSoon(): void {
    this.#lookIn(shortestPause);
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
        this.#lookIn(this.#hurried ? shortestPause : pause);
      });
    }, milliseconds);
  }

  /** @returns the pause until the next check. */
  async #look(): Promise<number> {
    this.#hurried = false;
    try {
      const { rows } = await this.#store.ownerStatements(look, [[...this.#workers.keys()]]);
      return await this.#act(rows.map(toState));
    } catch (error) {
      this.#log.warn({ err: error }, 'The job queue is unavailable. It is read again in seconds.');
      return longestPause;
    }
  }

  async #act(states: readonly State[]): Promise<number> {
    for (const { name, dueIn } of states) {
      if (dueIn !== null && dueIn <= 0) this.#workers.get(name)?.wake();
    }
    const now = states[0]?.now ?? Date.now();
    const minute = Math.floor(now / 60_000);
    if (minute !== this.#minute) {
      await this.#everyMinute?.();
      this.#minute = minute;
    }
    if (states.some(({ lapsed }) => lapsed)) {
      this.#log.warn('Jobs of a process that died, or jobs that take too long, run again.');
      await this.#boss.supervise();
      return untilRetry;
    }
    if (performance.now() >= this.#upkeepAt) {
      await this.#boss.supervise();
      this.#upkeepAt = performance.now() + upkeepEvery;
    }
    const dueIn = states.flatMap((state) => (state.dueIn !== null && state.dueIn > 0 ? [state.dueIn] : []));
    const untilMinute = this.#everyMinute === undefined ? longestPause : (minute + 1) * 60_000 - now;
    return Math.max(shortestPause, Math.min(longestPause, untilMinute, ...dueIn));
  }
}

function toState({ name, dueIn, lapsed, now }: Record<string, unknown>): State {
  return {
    name: String(name),
    dueIn: dueIn === null ? null : Number(dueIn),
    lapsed: lapsed === true,
    now: Number(now),
  };
}
