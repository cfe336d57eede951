import { setTimeout as pause } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import type { Tenant } from '../platform/auth/caller.ts';
import type { Session, Transaction } from '../platform/store/store.ts';
import { type ClockLease, keepLease } from './clock-lease.ts';
import type { BackgroundService } from './job.ts';
import { clockOf } from './tenant-clock.ts';
import { writeAsSystem } from './write-as-system.ts';

/**
 * Work that becomes due for a tenant with time, such as expiring links. A task finds all due work, so the next run makes
 * up for a failed or missed one.
 */
export interface ClockTask {
  readonly name: string;
  /** `day`: as soon as the day starts in the tenant's time zone, then each minute until it succeeds. */
  readonly every: 'minute' | 'day';
  run(tick: Tick): Promise<void>;
  /** SQL of the first instant after another at which a task of every minute has something to do, if it depends on more than the day. */
  nextDue?(tenantId: number, after: string): RawBuilder<{ at: string | null }>;
}

/** One run of a task for one tenant. It can only access data of that tenant. */
export interface Tick {
  readonly tenant: Tenant;
  readonly now: Temporal.Instant;
  /** The day of `now` in the tenant's time zone. */
  readonly today: Temporal.PlainDate;
  /** The last day on which a daily task succeeded; undefined if it never has. */
  readonly lastDay?: Temporal.PlainDate | undefined;
  /** Where the run of a daily task continues if an earlier one of the same day was interrupted. */
  readonly place?: object | undefined;
  /** Stores such a place, in the transaction of what was done before it. Only for daily tasks that have succeeded before. */
  keepPlace(transaction: Transaction, place: object): Promise<unknown>;
  /** Aborted when the run must end, before the next minute. The next run continues the work. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly service: BackgroundService;
  read<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Runs one transaction, audited as the system. It rolls back if another process has taken over. @throws JobLost */
  write<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T>;
}

/** Declares a task. It runs if it is listed in `app/jobs.ts`. */
export function defineClockTask(task: ClockTask): ClockTask {
  return task;
}

/** How many runs of tasks start at the same time. */
const concurrency = 4;
/** After this time, in milliseconds, a run no longer keeps others from starting. */
const slowAfter = 5_000;
/** After this time, in milliseconds, the tick ends, and runs that have not ended are aborted. */
const tickEndsAfter = 50_000;

export class Clock {
  readonly #service: BackgroundService;
  readonly #tasks: readonly ClockTask[];
  readonly #now: () => Temporal.Instant;
  /**
   * By task and tenant. A run that ignores the end of its tick can no longer write, but a second one must not start in
   * parallel.
   */
  readonly #running = new Set<string>();
  /** The last day on which a daily task succeeded, by task and tenant. */
  readonly #days = new Map<string, string>();

  constructor(service: BackgroundService, tasks: readonly ClockTask[], now: () => Temporal.Instant) {
    this.#service = service;
    this.#tasks = tasks;
    this.#now = now;
  }

  /** Runs every task for every open tenant. A run that fails or is slow does not affect others. */
  async tick(lease: ClockLease): Promise<void> {
    const now = this.#now();
    const tenants = await this.#service.directory.tenantNames();
    const ended = new AbortController();
    const signal = AbortSignal.any([lease.signal, ended.signal]);
    const runs: Promise<void>[] = [];
    const queue = this.#tasks.flatMap((task) => tenants.map((tenant) => ({ task, tenant }))).values();
    const runNext = async (): Promise<void> => {
      for (const { task, tenant } of queue) {
        if (signal.aborted) return;
        const run = this.#runOnce(task, tenant, now, lease, signal);
        runs.push(run);
        await within(slowAfter, run);
      }
    };
    const all = Promise.all(Array.from({ length: concurrency }, runNext)).then(() => Promise.all(runs));
    await within(tickEndsAfter, all);
    ended.abort(new Error('The tick has ended. The next one continues.'));
  }

  /** Never rejects. */
  async #runOnce(
    task: ClockTask,
    name: string,
    now: Temporal.Instant,
    lease: ClockLease,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, metrics, directory } = this.#service;
    const key = `${task.name}/${name}`;
    if (this.#running.has(key)) return;
    this.#running.add(key);
    const log = this.#service.log.child({ task: task.name, tenant: name, runId: lease.id });
    try {
      const tenant = await directory.tenant(name);
      // The tenant has just been closed.
      if (tenant === undefined) return;
      const state = tenant.isSandbox ? await clockOf(store, tenant.id) : undefined;
      // Whoever advances the clock runs what falls due.
      if (state?.isLeased === true) return;
      const tick = createTick(this.#service, task, tenant, {
        now: now.add({ milliseconds: state?.offset ?? 0 }),
        signal,
        log,
        runId: lease.id,
        hold: (transaction) => keepLease(transaction, lease),
      });
      if (task.every === 'minute') await task.run(tick);
      else await this.#runDaily(task, tick, key);
      metrics.clockTaskRan(task.name, 'completed');
    } catch (error) {
      metrics.clockTaskRan(task.name, 'failed');
      log.error({ err: error }, 'A clock task failed for a tenant. It runs again in a minute.');
    } finally {
      this.#running.delete(key);
    }
  }

  async #runDaily(task: ClockTask, tick: Tick, key: string): Promise<void> {
    const day = tick.today.toString();
    if (this.#days.get(key) === day) return;
    await runDaily(task, tick);
    this.#days.set(key, day);
  }
}

/** The circumstances of a run. */
interface Run {
  /** By the clock of the tenant. */
  readonly now: Temporal.Instant;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly runId: string;
  /** Runs last in each transaction; if it throws, nothing is written. */
  hold(transaction: Transaction): Promise<void>;
}

/** Creates a run of a task for a tenant. */
export function createTick(service: BackgroundService, task: ClockTask, tenant: Tenant, run: Run): Tick {
  const { now, signal, log, runId, hold } = run;
  const today = now.toZonedDateTimeISO(tenant.timeZone).toPlainDate();
  const origin = { operation: `clock ${task.name}`, requestId: runId };
  return {
    tenant,
    now,
    today,
    signal,
    log,
    service,
    keepPlace: (transaction, place) =>
      transaction.all(sql`
        update clock_day set place = ${JSON.stringify({ ...place, day: today.toString() })}::jsonb
        where tenant_id = ${tenant.id} and task = ${task.name}`),
    read: (work) => service.store.read(tenant.id, work),
    write: (work) => writeAsSystem(service, tenant, origin, work, hold),
  };
}

/** Runs a daily task unless it has succeeded on this day. @returns whether it ran */
export async function runDaily(task: ClockTask, tick: Tick): Promise<boolean> {
  const { tenant, today } = tick;
  const day = today.toString();
  const last = await tick.read((session) =>
    session.first(sql<{ day: string; place: { readonly day: string } | null }>`
      select day, place from clock_day where tenant_id = ${tenant.id} and task = ${task.name}`),
  );
  if (last !== undefined && last.day >= day) return false;
  const place = last?.place?.day === day ? last.place : undefined;
  await task.run({ ...tick, lastDay: last && Temporal.PlainDate.from(last.day), place });
  await tick.write(({ transaction }) =>
    transaction.all(sql`
      insert into clock_day (tenant_id, task, day) values (${tenant.id}, ${task.name}, ${day})
      on conflict (tenant_id, task) do update set day = excluded.day, place = null`),
  );
  return true;
}

/** Waits for work, but no longer than this. */
async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  const limit = pause(milliseconds, undefined, { signal: timer.signal, ref: false }).catch(() => undefined);
  await Promise.race([work, limit]);
  timer.abort();
}
