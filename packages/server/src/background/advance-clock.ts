import { setTimeout as pause } from 'node:timers/promises';
import { millisecondsOf } from '../contract/durations.ts';
import type { Tenant } from '../platform/auth/caller.ts';
import { databaseClock } from '../platform/database-clock.ts';
import { retryLevel } from '../platform/store/errors.ts';
import { newId } from '../platform/store/new-id.ts';
import { type ClockTask, createTick, nextMidnight, runDaily } from './clock.ts';
import type { BackgroundService } from './job.ts';

/** For how long nobody else can advance the clock, and how often that is renewed, in seconds. */
const leaseSeconds = 60;
const renewSeconds = 15;
/** How far the clock can be advanced at once, and in all, in milliseconds. */
const maxAdvanceMs = millisecondsOf('clockAdvance');
const furthest = millisecondsOf('clock');
/** How long a step waits for jobs of the tenant, which run in any process, and for the next of them to start, in milliseconds. */
const waitsForJobs = 20_000;
const waitsForStart = 3_000;
const looksEvery = 50;

export interface AdvancedClock {
  readonly now: Temporal.Instant;
  /** How far the clock is ahead of the real one, in milliseconds. */
  readonly offset: number;
  /** How often a task ran on the way. */
  readonly ranTasks: number;
}

/** Another call advances the clock. */
export class ClockIsAdvancing extends Error {
  override readonly name = 'ClockIsAdvancing';
}

/** The clock cannot be set to that time. The message is a sentence for the caller. */
export class ClockOutOfRange extends Error {
  override readonly name = 'ClockOutOfRange';
}

/**
 * Advances the clock of a sandbox. Tasks run on the way at the times at which they fall due: at each midnight, and in the minute after
 * each instant that one of them depends on. If the process dies, the clock stays at one of these times.
 *
 * @param target returns the time to advance to.
 * @throws ClockIsAdvancing
 * @throws ClockOutOfRange
 */
export async function advanceClock(
  service: BackgroundService,
  tasks: readonly ClockTask[],
  tenant: Tenant,
  target: (now: Temporal.Instant) => Temporal.Instant,
): Promise<AdvancedClock> {
  const lease = await takeLease(service, tenant);
  try {
    let { offset } = lease;
    const timeAt = () => Temporal.Instant.fromEpochMilliseconds(databaseClock.now() + offset);
    const started = timeAt();
    const end = target(started);
    // The real time goes on meanwhile.
    const endOffset = offset + Math.ceil(end.since(started).total('milliseconds'));
    checkRange(offset, endOffset);
    let ranTasks = 0;
    let jobsEnd = await waitForJobs(service, tenant.id, waitsForJobs);
    for (;;) {
      // First what the minute before has left.
      const ranAt = timeAt();
      ranTasks += await runTasks(service, tasks, tenant, lease.id, ranAt);
      // Where no process runs jobs, they remain.
      jobsEnd = await waitForJobs(service, tenant.id, jobsEnd ? waitsForJobs : 0);
      if (offset === endOffset) return { now: timeAt(), offset, ranTasks };
      const now = timeAt();
      const stop = earliest([
        nextMidnight(ranAt, tenant.timeZone),
        ...(await dueInstants(service, tasks, tenant.id, ranAt)),
      ]);
      if (Temporal.Instant.compare(stop, end) >= 0) offset = endOffset;
      else if (Temporal.Instant.compare(stop, now) > 0) offset += Math.ceil(stop.since(now).total('milliseconds'));
      await lease.setOffset(offset);
    }
  } finally {
    await lease.end();
  }
}

/** Returns the time after a duration. Years and months are those of the calendar in UTC, where a day has 24 hours. */
export function laterBy(now: Temporal.Instant, duration: Temporal.Duration): Temporal.Instant {
  return now.toZonedDateTimeISO('UTC').add(duration).toInstant();
}

const days = (milliseconds: number) => (milliseconds / 86_400_000).toLocaleString('en');

/** @throws ClockOutOfRange */
function checkRange(offset: number, endOffset: number): void {
  if (endOffset <= offset || endOffset - offset > maxAdvanceMs || endOffset > furthest)
    throw new ClockOutOfRange(
      `The clock only goes forward, by at most ${days(maxAdvanceMs)} days in a call and ${days(furthest)} days in all.`,
    );
}

/** The right to advance a clock. */
interface Lease {
  readonly id: string;
  /** The offset of the clock when it was taken, in milliseconds. */
  readonly offset: number;
  /** @throws ClockIsAdvancing if the lease was lost. */
  setOffset(offset: number): Promise<void>;
  end(): Promise<void>;
}

/** @throws ClockIsAdvancing */
async function takeLease({ store: all, log }: BackgroundService, tenant: Tenant): Promise<Lease> {
  const store = all.cellOf(tenant.id);
  const id = newId();
  const until = `now() + interval '${leaseSeconds} seconds'`;
  const { rows } = await store.ownerStatements<{ offset: number }>(
    `update tenant set clock_leased_by = $2, clock_leased_until = ${until}
     where id = $1 and is_sandbox and (clock_leased_until is null or clock_leased_until < now())
     returning clock_offset as "offset"`,
    [tenant.id, id],
  );
  const [taken] = rows;
  if (taken === undefined) throw new ClockIsAdvancing('The clock is being advanced.');
  const renew = () =>
    store
      .ownerStatements(`update tenant set clock_leased_until = ${until} where id = $1 and clock_leased_by = $2`, [
        tenant.id,
        id,
      ])
      .catch((error: unknown) => log.warn({ err: error, tenant: tenant.name }, 'Renewing a clock lease failed.'));
  const timer = setInterval(renew, renewSeconds * 1000);
  return {
    id,
    offset: taken.offset,
    async setOffset(offset) {
      const set = await store.ownerStatements(
        `update tenant set clock_offset = $3, clock_leased_until = ${until} where id = $1 and clock_leased_by = $2 returning id`,
        [tenant.id, id, offset],
      );
      if (set.rows.length === 0) throw new ClockIsAdvancing('Another call has the lease of the clock.');
    },
    async end() {
      clearInterval(timer);
      await store.ownerStatements(
        'update tenant set clock_leased_by = null, clock_leased_until = null where id = $1 and clock_leased_by = $2',
        [tenant.id, id],
      );
    },
  };
}

function earliest(instants: readonly Temporal.Instant[]): Temporal.Instant {
  return instants.reduce((first, one) => (Temporal.Instant.compare(one, first) < 0 ? one : first));
}

/** Returns the first minutes after an instant in which tasks have something to do. */
async function dueInstants(
  { store }: BackgroundService,
  tasks: readonly ClockTask[],
  tenantId: number,
  after: Temporal.Instant,
): Promise<Temporal.Instant[]> {
  return store.read(tenantId, async (session) => {
    const found: Temporal.Instant[] = [];
    for (const { nextDue } of tasks) {
      const row = nextDue === undefined ? undefined : await session.first(nextDue(tenantId, after.toString()));
      if (row?.at == null) continue;
      // The clock ticks once a minute.
      const minute = 60_000;
      const at = Math.ceil(Temporal.Instant.from(row.at).epochMilliseconds / minute) * minute;
      found.push(Temporal.Instant.fromEpochMilliseconds(at));
    }
    return found;
  });
}

async function runTasks(
  service: BackgroundService,
  tasks: readonly ClockTask[],
  tenant: Tenant,
  runId: string,
  now: Temporal.Instant,
): Promise<number> {
  let ran = 0;
  for (const task of tasks) {
    const log = service.log.child({ task: task.name, tenant: tenant.name, runId: runId });
    const signal = new AbortController().signal;
    const tick = createTick(service, task, tenant, { now, signal, log, runId, hold: async () => {} });
    try {
      if (task.every === 'day') ran += (await runDaily(task, tick)) ? 1 : 0;
      else {
        await task.run(tick);
        ran += 1;
      }
    } catch (error) {
      // As in real time, the next run makes up for it.
      log[retryLevel(error)]({ err: error }, "Clock task failed while advancing a tenant's clock.");
    }
  }
  return ran;
}

/** Waits for the jobs that are due. @returns whether they have ended */
async function waitForJobs({ store: all }: BackgroundService, tenantId: number, most: number): Promise<boolean> {
  const store = all.cellOf(tenantId);
  const began = performance.now();
  let [waitingBefore, waitsSince] = [-1, began];
  for (;;) {
    const { rows } = await store.ownerStatements<{ running: number; waiting: number }>(
      `select count(*) filter (where status = 'RUNNING')::integer as running,
        count(*) filter (where status = 'WAITING' and due_at <= now())::integer as waiting
      from background_job where tenant_id = $1 and status in ('RUNNING', 'WAITING')`,
      [tenantId],
    );
    const { running = 0, waiting = 0 } = rows[0] ?? {};
    if (running + waiting === 0) return true;
    const now = performance.now();
    if (running > 0 || waiting !== waitingBefore) [waitingBefore, waitsSince] = [waiting, now];
    if (now - began >= most || now - waitsSince >= waitsForStart) return false;
    await pause(looksEvery);
  }
}
