import type { Tenant } from '../../../platform/auth/caller.ts';
import { databaseClock } from '../../../platform/database-clock.ts';
import type { AttemptRecord, DeliveryProgress, Retry } from './acknowledge.ts';
import { type DueEvent, mayReceive, type PartitionRequest, passesFilter, type Work } from './load.ts';
import type { Message } from './message.ts';
import type { Partition } from './partitions.ts';
import {
  breaksAfter,
  type DeliveryAttempt,
  type Destination,
  deactivatesAfter,
  maxAttempts,
  pauseAfter,
  retryDelay,
  type Sender,
  SenderClosed,
} from './sender.ts';

/** How many events are sent to one subscription at the same time. */
const concurrency = 8;
/** How many events are read at once, at first and at most. What a process that dies was sending is sent again. */
const minBatchSize = concurrency;
const maxBatchSize = 256;
/**
 * The next batch is as large as is sent in the first of these times; after one that took the second, it is smaller. In
 * milliseconds.
 */
const shortBatch = 250;
const longBatch = 1_000;
/** So many bytes in a batch make the next one smaller. */
const largeBatch = 500_000;
/** After this time the process leases another partition, in milliseconds. */
export const maxLeaseMs = 2_000;

/** Why a subscription is deactivated. */
export type EndReason = 'gone' | 'failing';

/** What the delivery of a partition needs from the process. */
export interface PartitionServices {
  readonly send: Sender['send'];
  readonly isStopping: () => boolean;
  tenant(name: string): Promise<Tenant | undefined>;
  load(request: PartitionRequest): Promise<Work>;
  /** @returns false where another process has the lease by now. */
  acknowledge(progress: DeliveryProgress): Promise<boolean>;
  deactivate(tenant: Tenant, subscriptionId: string, reason: EndReason): Promise<void>;
  attempted(record: AttemptRecord): void;
}

/**
 * Sends what is due in a partition until there is nothing left, the receiver fails, or others have waited long enough.
 * While a batch is sent, the one before is acknowledged and the next one is read.
 */
export async function deliverPartition(partition: Partition, services: PartitionServices): Promise<void> {
  const { subscriptionId } = partition;
  const began = performance.now();
  let health: Health = { failures: partition.failures, failingSince: partition.failingSince };
  let most = minBatchSize;
  let ahead: Promise<Work> | undefined;
  let acknowledged = Promise.resolve(true);
  for (;;) {
    const tenant = await services.tenant(partition.tenantName);
    const isProbe = health.failures >= breaksAfter;
    const work = await (ahead ?? services.load({ subscriptionId, most: isProbe ? 1 : most, after: undefined }));
    ahead = canReadAhead(work) ? services.load({ subscriptionId, most, after: work.position }) : undefined;
    ahead?.catch(() => undefined);
    const batch = new Batch(tenant, work, health, isProbe, services);
    const milliseconds = await timed(() => batch.send());
    health = batch.health;
    const isOver = !batch.isOpen || performance.now() - began > maxLeaseMs;
    const hasMore = work.hasMore || batch.hasUnsent || (isProbe && work.due.length > 0);
    // A tenant that is closed, or has another name now, is leased again when it can be.
    const isAway = tenant === undefined;
    const release = isAway || (hasMore && isOver) ? 'more' : hasMore ? 'keep' : 'done';
    if (!(await acknowledged)) return;
    acknowledged = services.acknowledge(batch.progress(subscriptionId, release));
    // It may fail before it is awaited, as may what is read ahead.
    acknowledged.catch(() => undefined);
    if (release !== 'keep' || !batch.isClean || ahead === undefined) {
      ahead = undefined;
      if (!(await acknowledged) || work.subscription === undefined) return;
      if (tenant !== undefined && batch.end !== undefined) await services.deactivate(tenant, subscriptionId, batch.end);
      if (release !== 'keep') return;
    }
    if (milliseconds > longBatch || batch.bytes > largeBatch) most = Math.max(minBatchSize, Math.floor(most / 2));
    else if (milliseconds < shortBatch)
      most = Math.min(maxBatchSize, Math.max(most * 2, Math.floor((most * shortBatch) / milliseconds)));
  }
}

/** Whether what comes next does not depend on what becomes of these events, as long as all of them arrive. */
function canReadAhead({ due, hasMore, position }: Work): boolean {
  return hasMore && position !== undefined && due.every(({ isRetry, isBehind }) => !isRetry && !isBehind);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

interface Health {
  readonly failures: number;
  readonly failingSince: string | null;
}

/** Events of one subscription that are sent together, those of one row after each other. */
class Batch {
  health: Health;
  end: EndReason | undefined;
  bytes = 0;
  hasUnsent = false;
  readonly #work: Work;
  readonly #tenant: Tenant | undefined;
  readonly #services: PartitionServices;
  readonly #due: readonly DueEvent[];
  readonly #attempts: AttemptRecord[] = [];
  readonly #retries: Retry[] = [];
  readonly #done: DeliveryProgress['done'][number][] = [];
  #pause = 0;

  constructor(tenant: Tenant | undefined, work: Work, health: Health, isProbe: boolean, services: PartitionServices) {
    this.#tenant = tenant;
    this.#work = work;
    this.health = health;
    this.#services = services;
    // A receiver that has failed gets one event, to find out whether it works again.
    this.#due = isProbe ? work.due.slice(0, 1) : work.due;
  }

  /**
   * Whether more may be sent: the receiver has not failed, the process does not stop, and what was read of the subscription is not old.
   * A receiver that becomes slow takes minutes for a batch, while the subscription can end, or its URL, roles and secret change.
   */
  get isOpen(): boolean {
    const isFresh = performance.now() - this.#work.readAt <= maxLeaseMs;
    return isFresh && this.#pause === 0 && this.end === undefined && !this.#services.isStopping();
  }

  /** Whether all events that were read are done with. */
  get isClean(): boolean {
    return this.isOpen && this.#retries.length === 0 && this.#due.length === this.#work.due.length;
  }

  async send(): Promise<void> {
    const { subscription } = this.#work;
    if (subscription === undefined || this.#tenant === undefined) return;
    const isAllowed = mayReceive(subscription);
    const to = { url: subscription.deliveryUrl, ports: this.#tenant.settings.deliveryPorts };
    const rows = eventsByRow(this.#due).values();
    if (isAllowed) this.#sign();
    // Each of these loops takes the next row when it is done with one.
    const sendRows = async () => {
      for (const events of rows) {
        let isBlocked = false;
        for (const due of events) {
          const { message } = due;
          if (message === undefined || !isAllowed || !passesFilter(subscription, message)) this.#finish(due);
          else if (due.isBehind || isBlocked) this.#defer(due, due.attempts, undefined);
          else isBlocked = !(await this.#sendOne(due, message, to));
        }
      }
    };
    await Promise.all(Array.from({ length: concurrency }, sendRows));
    for (const record of this.#attempts) this.#services.attempted(record);
  }

  /**
   * Signing one event after the other takes half the time of signing each between two requests. Those that are sent in
   * a later second are signed again.
   */
  #sign(): void {
    const now = databaseClock.now();
    for (const { message } of this.#due) message?.sign(this.#work.secrets, now);
  }

  progress(subscriptionId: string, release: DeliveryProgress['release']): DeliveryProgress {
    const { health, end } = this;
    // The probe may have been a retry; new events stay where they are then.
    const fresh = this.#due.filter(({ isRetry }) => !isRetry);
    const isPart = this.#due.length < this.#work.due.length;
    const position = isPart ? fresh.at(-1)?.position : this.#work.position;
    return {
      subscriptionId,
      attempts: this.#attempts.map((record) => this.#withPause(record)),
      retries: this.#retries,
      done: this.#done,
      position: this.#work.subscription === undefined || this.#tenant === undefined ? undefined : position,
      failures: health.failures,
      failingSince: health.failingSince,
      pause: this.#pause,
      release: end === undefined && this.#work.subscription !== undefined ? release : 'end',
    };
  }

  /** Nothing is sent again before a pause is over, or where the subscription ends. */
  #withPause(record: AttemptRecord): AttemptRecord {
    if (record.retryIn === undefined) return record;
    return { ...record, retryIn: this.end === undefined ? Math.max(record.retryIn, this.#pause) : undefined };
  }

  /** @returns whether later events of the row can be sent. */
  async #sendOne(due: DueEvent, message: Message, to: Destination): Promise<boolean> {
    if (!this.isOpen) return this.#leave(due);
    const headers = message.headers(this.#work.secrets, databaseClock.now());
    this.bytes += message.body.length;
    let sent: DeliveryAttempt;
    try {
      sent = await this.#services.send(to, headers, message.body);
    } catch (error) {
      // The process stops before the receiver has responded.
      if (error instanceof SenderClosed) return this.#leave(due);
      throw error;
    }
    const { clockOffset } = this.#work;
    const attempt = clockOffset === 0 ? sent : { ...sent, attemptedAt: sent.attemptedAt + clockOffset };
    const number = due.attempts + 1;
    const isSuccess = attempt.outcome === 'SUCCESS';
    const isGone = attempt.httpStatusCode === 410;
    const retryIn = isSuccess || isGone ? undefined : retryDelay(number, attempt.retryAfter);
    this.#attempts.push({ attempt, event: message.event, deliveryUrl: to.url, number, retryIn });
    if (isSuccess) this.health = { failures: 0, failingSince: null };
    else this.#fail(attempt.attemptedAt, attempt.retryAfter, isGone);
    if (retryIn === undefined) this.#finish(due);
    else this.#defer(due, number, retryIn);
    return retryIn === undefined;
  }

  #fail(at: number, retryAfter: number, isGone: boolean): void {
    const failures = this.health.failures + 1;
    const failingSince = this.health.failingSince ?? new Date(at).toISOString();
    this.health = { failures, failingSince };
    this.#pause = Math.max(this.#pause, pauseAfter(failures, retryAfter));
    if (isGone) this.end = 'gone';
    else if (at - Date.parse(failingSince) >= deactivatesAfter) this.end ??= 'failing';
  }

  /** Nothing more is sent for now. It was read, so it is kept where it is found again. */
  #leave(due: DueEvent): false {
    this.hasUnsent = true;
    if (!due.isRetry) this.#defer(due, due.attempts, 0);
    return false;
  }

  #finish({ isRetry, id, entityId, attempts }: DueEvent): void {
    if (isRetry) this.#done.push({ eventId: id, entityId, attempts });
  }

  #defer({ id, entityId, position }: DueEvent, attempts: number, dueIn: number | undefined): void {
    this.#retries.push({ eventId: id, entityId, position, attempts: Math.min(attempts, maxAttempts - 1), dueIn });
  }
}

type OfRow = Pick<DueEvent, 'entityId' | 'position'>;

/** The events of each row in their order. */
export function eventsByRow<Event extends OfRow>(events: readonly Event[]): Event[][] {
  // By a number first: V8 keeps a table of all texts that are keys, and adding one costs as much as the rest of preparing an event.
  return [...Map.groupBy(events, ({ entityId }) => endOf(entityId)).values()].flatMap((some) =>
    some.length === 1
      ? [some]
      : [...Map.groupBy(some, ({ entityId }) => entityId).values()].map((ofRow) =>
          ofRow.sort((left, right) => left.position - right.position),
        ),
  );
}

/** The last digits of a UUID, which different rows rarely share. */
function endOf(id: string): number {
  return Number.parseInt(id.slice(-7), 16);
}
