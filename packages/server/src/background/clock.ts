import { setTimeout as pause } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import type { Tenant } from '../platform/auth/caller.ts';
import { retryLevel } from '../platform/store/errors.ts';
import type { Session, Transaction } from '../platform/store/store.ts';
import { type ClockLease, keepLease } from './clock-lease.ts';
import { DueTable, type DueWork, startOfDay } from './due-work.ts';
import type { BackgroundService } from './job.ts';
import { clockOf } from './tenant-clock.ts';
import { writeAsSystem } from './write-as-system.ts';

/**
 * Work that becomes due for a tenant with time, such as expiring links. A task finds all due work, so the next run makes
 * up for a failed or missed one.
 */
export interface ClockTask {
  readonly name: string;
  /**
   * `day`: as soon as the day starts in the tenant's time zone, then each minute until it succeeds. `due`: then, too, and in the
   * minute after an instant that a trigger adds to `clock_due`.
   */
  readonly every: 'due' | 'day';
  run(tick: Tick): Promise<void>;
  /** SQL of the first instant after another at which a task has something to do, if it depends on more than the day. */
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
  readonly progress?: object | undefined;
  /** Stores where the run is, in the transaction of what was done before it. Only for daily tasks that have succeeded before. */
  keepProgress(transaction: Transaction, progress: object): Promise<unknown>;
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

/** How many are claimed with one statement. */
const claimedAtOnce = 32;

export class Clock {
  readonly #service: BackgroundService;
  readonly #tasks: readonly ClockTask[];
  readonly #now: () => Temporal.Instant;
  readonly #due: DueTable;
  /**
   * By task and tenant. A run that ignores the end of its tick can no longer write, but a second one must not start in
   * parallel.
   */
  readonly #running = new Set<string>();

  constructor(service: BackgroundService, tasks: readonly ClockTask[], now: () => Temporal.Instant) {
    this.#service = service;
    this.#tasks = tasks;
    this.#now = now;
    this.#due = new DueTable(service.store);
  }

  /**
   * Runs what is due, for all tenants, the longest due first. What is left at the end of the tick is first in the next one. A run
   * that fails or is slow does not affect others, and runs again in a minute.
   */
  async tick(lease: ClockLease): Promise<void> {
    // As precise as what is stored: a time that was rounded up would not be due yet.
    const now = this.#now().round({ smallestUnit: 'millisecond', roundingMode: 'floor' });
    const ended = new AbortController();
    const tick = { now, lease, signal: AbortSignal.any([lease.signal, ended.signal]) };
    const runs: Promise<void>[] = [];
    const claimed: DueWork[] = [];
    let claiming: Promise<void> | undefined;
    let isAllClaimed = false;
    let additions = 0;
    const claim = async () => {
      const before = additions;
      const found = await this.#due.claim(now, lease.id, claimedAtOnce);
      claimed.push(...found);
      // What was added meanwhile may not have been seen.
      isAllClaimed = found.length === 0 && additions === before;
      claiming = undefined;
    };
    const runNext = async (): Promise<void> => {
      while (!tick.signal.aborted) {
        const work = claimed.shift();
        if (work !== undefined) {
          const run = this.#runWork(work, tick).then((hasAdded) => {
            if (!hasAdded) return;
            additions += 1;
            isAllClaimed = false;
          });
          runs.push(run);
          await within(slowAfter, run);
        } else if (isAllClaimed) return;
        else {
          claiming ??= claim();
          await claiming;
        }
      }
    };
    try {
      const all = Promise.all(Array.from({ length: concurrency }, runNext)).then(() => Promise.all(runs));
      await within(tickEndsAfter, all);
    } finally {
      ended.abort(new Error('The tick has ended. The next one continues.'));
    }
  }

  /** Never rejects. @returns whether more has become due */
  async #runWork(work: DueWork, { now, lease, signal }: RunningTick): Promise<boolean> {
    const { store, directory, log } = this.#service;
    try {
      if (!work.isOpen) await this.#due.removeAll(work.tenantId);
      const tenant = await directory.tenant(work.tenantName);
      // The tenant has just been closed.
      if (tenant === undefined) return false;
      const state = tenant.isSandbox ? await clockOf(store, tenant.id) : undefined;
      // Whoever advances the clock runs what falls due.
      if (state?.isLeased === true) return false;
      const own = { now: now.add({ milliseconds: state?.offset ?? 0 }), lease, signal };
      if (work.task === startOfDay) {
        const names = this.#tasks.map(({ name }) => name);
        await this.#due.startDay(work, lease.id, names, own.now, nextMidnight(own.now, tenant.timeZone));
        return true;
      }
      await this.#runTask(work, tenant, own);
    } catch (error) {
      log.warn({ err: error, tenant: work.tenantName }, "Advancing a tenant's clock failed; retrying in a minute.");
    }
    return false;
  }

  async #runTask(work: DueWork, tenant: Tenant, tick: RunningTick): Promise<void> {
    const task = this.#tasks.find(({ name }) => name === work.task);
    // A version that has the task runs it.
    if (task === undefined) return;
    if (await this.#runOnce(task, tenant, tick)) await this.#finish(work, task, tick);
  }

  async #finish(work: DueWork, { nextDue }: ClockTask, { now, lease }: RunningTick): Promise<void> {
    const { store } = this.#service;
    // Triggers add what becomes due earlier.
    const next =
      nextDue === undefined
        ? undefined
        : await store.read(work.tenantId, (session) => session.first(nextDue(work.tenantId, now.toString())));
    await this.#due.finish(work, lease.id, next?.at ?? undefined);
  }

  /** Never rejects. @returns whether the run succeeded */
  async #runOnce(task: ClockTask, tenant: Tenant, { now, lease, signal }: RunningTick): Promise<boolean> {
    const { metrics } = this.#service;
    const key = `${task.name}/${tenant.name}`;
    if (this.#running.has(key)) return false;
    this.#running.add(key);
    const log = this.#service.log.child({ task: task.name, tenant: tenant.name, runId: lease.id });
    try {
      const tick = createTick(this.#service, task, tenant, {
        now,
        signal,
        log,
        runId: lease.id,
        hold: (transaction) => keepLease(transaction, lease),
      });
      if (task.every === 'day') await runDaily(task, tick);
      else await task.run(tick);
      // Some tasks end where they are; what is left is done in the next minute.
      if (signal.aborted) return false;
      metrics.clockTaskRan(task.name, 'completed');
      return true;
    } catch (error) {
      metrics.clockTaskRan(task.name, 'failed');
      log[retryLevel(error)]({ err: error }, 'Clock task failed; retrying in a minute.');
      return false;
    } finally {
      this.#running.delete(key);
    }
  }
}

/** A tick, with the time by the clock of the tenant once that is known. */
interface RunningTick {
  readonly now: Temporal.Instant;
  readonly lease: ClockLease;
  readonly signal: AbortSignal;
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
    keepProgress: (transaction, progress) =>
      transaction.all(sql`
        update clock_day set place = ${JSON.stringify({ ...progress, day: today.toString() })}::jsonb
        where tenant_id = ${tenant.id} and task = ${task.name}`),
    read: (work) => service.store.read(tenant.id, work),
    write: (work) => writeAsSystem(service, tenant, origin, work, hold),
  };
}

/** A tenant whose time zone changes can be so many days behind its last run. Any more, and the clock was wrong. */
const zoneChange = 2;
/** How many days are made up for after a clock was wrong, because it is unknown since when the task has not run. What is done is not repeated. */
const madeUpFor = 92;

/** Runs a daily task unless it has succeeded on this day. @returns whether it ran */
export async function runDaily(task: ClockTask, tick: Tick): Promise<boolean> {
  const { tenant, today } = tick;
  const day = today.toString();
  const last = await tick.read((session) =>
    session.first(sql<{ day: string; progress: { readonly day: string } | null }>`
      select day, place as progress from clock_day where tenant_id = ${tenant.id} and task = ${task.name}`),
  );
  const isAhead = last !== undefined && last.day > today.add({ days: zoneChange }).toString();
  if (last !== undefined && last.day >= day && !isAhead) return false;
  const progress = last?.progress?.day === day ? last.progress : undefined;
  const lastDay = isAhead ? today.subtract({ days: madeUpFor }) : last && Temporal.PlainDate.from(last.day);
  await task.run({ ...tick, lastDay, progress });
  await tick.write(({ transaction }) =>
    transaction.all(sql`
      insert into clock_day (tenant_id, task, day) values (${tenant.id}, ${task.name}, ${day})
      on conflict (tenant_id, task) do update set day = excluded.day, place = null`),
  );
  return true;
}

/** Returns when the next day begins in a time zone. */
export function nextMidnight(now: Temporal.Instant, timeZone: string): Temporal.Instant {
  return now.toZonedDateTimeISO(timeZone).toPlainDate().add({ days: 1 }).toZonedDateTime(timeZone).toInstant();
}

/** Waits for work, but no longer than this. */
async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  const limit = pause(milliseconds, undefined, { signal: timer.signal, ref: false }).catch(() => undefined);
  await Promise.race([work, limit]);
  timer.abort();
}
