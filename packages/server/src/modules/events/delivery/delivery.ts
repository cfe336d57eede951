import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import { writeAsSystem } from '../../../background/write-as-system.ts';
import type { Service } from '../../../entity/service.ts';
import type { UnitOfWork } from '../../../entity/unit-of-work.ts';
import type { Tenant } from '../../../platform/auth/caller.ts';
import { retryLevel } from '../../../platform/store/errors.ts';
import { eventsRecorded, partitionsDue } from '../../../platform/store/trace.ts';
import { currentSecret } from '../signatures/webhook-secret.ts';
import { eventSubscription } from '../subscriptions/event-subscription.ts';
import { type AttemptRecord, acknowledge, type DeliveryProgress } from './acknowledge.ts';
import { deliverPartition, type EndReason, maxLeaseMs, type PartitionServices } from './deliver-partition.ts';
import { loadWork, Messages, type PartitionRequest, type Work } from './load.ts';
import { type FreeSlots, type Partition, Partitions, PositionAssigner, renewEvery } from './partitions.ts';
import { Batches, Slots } from './queues.ts';
import { Sender, type SenderOptions } from './sender.ts';

/** The parts of the service that deliveries use. */
export type DeliveryService = Pick<Service, 'log' | 'store' | 'vault' | 'directory' | 'metrics' | 'deliveryAddresses'>;

export interface Delivery {
  /** Takes no more events, and ends attempts that are under way after this time. */
  stop(graceMilliseconds: number): Promise<void>;
}

/**
 * How many partitions are delivered at the same time, of subscriptions that work, of those that fail, and in all. One that has its
 * lease for longer than it should only waits for its receiver, and counts towards the last of these alone.
 */
const maxWorking = 128;
const maxFailing = 32;
const maxLeased = 1_024;
/** How many statements of deliveries are under way at the same time. The other connections are left to requests. */
const maxStatements = 3;
/**
 * How many attempts begin at the same time; half of them of a tenant that is alone. More of them would only make each other
 * late.
 */
const maxBeginning = 128;
/** After this time an attempt waits for its receiver, and no longer keeps others from beginning, in milliseconds. */
const beginsFor = 1_000;
/** How many partitions share a statement. */
const maxBatchSize = 32;
/**
 * The longest time between two looks for partitions that are due, in milliseconds: while a process works on one, which may die or
 * leave some to others, and otherwise. Notifications come in between.
 */
const maxPauseMs = 1_000;
const maxIdlePauseMs = 5_000;
const minPauseMs = 25;
/** How often a process that cannot lease everything calls others, in milliseconds. */
const callsEvery = 1_000;
/** How often events are looked for of which no notification came, in milliseconds. */
const lookEvery = 5_000;

/**
 * Delivers events in this process. Processes on the same database share the work.
 *
 * @param sending for tests.
 */
export async function startDelivery(
  service: DeliveryService,
  sending: Omit<SenderOptions, 'addresses'> = {},
): Promise<Delivery> {
  const runner = new Runner(service, sending);
  await runner.start();
  return runner;
}

/** The statements of one tenant's partitions, which are collected. */
interface TenantBatches {
  readonly load: Batches<PartitionRequest, Work>;
  readonly acknowledge: Batches<DeliveryProgress, { readonly isLeased: boolean }>;
  partitions: number;
}

class Runner implements Delivery {
  readonly #service: DeliveryService;
  readonly #partitions: Partitions;
  readonly #positions: PositionAssigner;
  readonly #sender: Sender;
  readonly #messages = new Messages();
  readonly #statements = pLimit(maxStatements);
  readonly #beginning = new Slots(maxBeginning, beginsFor);
  readonly #tenants = new Map<number, TenantBatches>();
  readonly #running = new Map<Promise<void>, { readonly partition: Partition; readonly since: number }>();
  #timers: NodeJS.Timeout[] = [];
  #listeners: readonly { close(): Promise<void> }[] = [];
  #next: NodeJS.Timeout | undefined;
  #leasing: Promise<void> | undefined;
  #woken = false;
  #calledAt = -Infinity;
  #stopping = false;

  constructor(service: DeliveryService, sending: Omit<SenderOptions, 'addresses'>) {
    this.#service = service;
    this.#partitions = new Partitions(service.store, randomUUID());
    this.#positions = new PositionAssigner(service.store, service.log, () => this.#wake());
    this.#sender = new Sender({ ...sending, addresses: service.deliveryAddresses });
  }

  async start(): Promise<void> {
    const { store } = this.#service;
    // The embedded database has no other process: whoever has a lease has ended.
    if (store.engine === 'pglite') await this.#partitions.release('all');
    this.#listeners = [
      await store.listen(eventsRecorded, (tenantId) => {
        if (tenantId === '') this.#look();
        else this.#positions.wake(Number(tenantId));
      }),
      await store.listen(partitionsDue, () => this.#wake()),
    ];
    this.#timers = [setInterval(() => this.#renew(), renewEvery), setInterval(() => this.#look(), lookEvery)];
    this.#look();
    this.#wake();
  }

  async stop(graceMilliseconds: number): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#next);
    await Promise.all(this.#listeners.map((listener) => listener.close()));
    await this.#positions.stop();
    await this.#leasing;
    const ended = Promise.all(this.#running.keys());
    await Promise.race([ended, pause(graceMilliseconds, undefined, { ref: false })]);
    await this.#sender.close();
    await ended;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#partitions.release('own').catch((error) => this.#unavailable(error));
  }

  #renew(): void {
    const ids = [...this.#running.values()].map(({ partition }) => partition.subscriptionId);
    if (ids.length > 0) this.#partitions.renew(ids).catch((error) => this.#unavailable(error));
  }

  #look(): void {
    if (!this.#stopping) this.#positions.lookForAll().catch((error) => this.#unavailable(error));
  }

  /** Leases partitions that are due. Can be called at any time. */
  #wake(): void {
    this.#woken = true;
    if (this.#leasing !== undefined || this.#stopping) return;
    clearTimeout(this.#next);
    this.#leasing = this.#lease().then((next) => {
      this.#leasing = undefined;
      if (this.#stopping) return;
      if (this.#woken) this.#wake();
      else this.#next = setTimeout(() => this.#wake(), next);
    });
  }

  /** @returns the time until the next look, in milliseconds. */
  async #lease(): Promise<number> {
    try {
      this.#woken = false;
      const working = this.#slots(maxWorking, false);
      const failing = this.#slots(maxFailing, true);
      if (working.free === 0 || working.fullTenants.length > 0) await this.#callOthers();
      if (working.free === 0 && failing.free === 0) return maxPauseMs;
      const partitions = await this.#partitions.lease(working, failing);
      for (const partition of partitions) this.#run(partition);
      if (partitions.length > 0) return 0;
      const { dueIn = maxIdlePauseMs, isLeased } = await this.#partitions.next();
      this.#service.metrics.deliveriesWait(Math.max(0, -dueIn / 1000));
      return Math.max(minPauseMs, Math.min(dueIn, isLeased ? maxPauseMs : maxIdlePauseMs));
    } catch (error) {
      this.#unavailable(error);
      return maxPauseMs;
    }
  }

  /** The slots for partitions that work, or for those that fail. */
  #slots(max: number, isFailing: boolean): FreeSlots {
    const since = performance.now() - maxLeaseMs;
    const taken = new Map<number, number>();
    for (const { partition, since: began } of this.#running.values())
      if (began > since && partition.failures > 0 === isFailing)
        taken.set(partition.tenantId, (taken.get(partition.tenantId) ?? 0) + 1);
    const inAll = taken.values().reduce((sum, count) => sum + count, 0);
    const unleased = maxLeased - this.#running.size;
    const free = Math.max(0, Math.min(max - inAll, unleased));
    // As with slots, no tenant has more than are free.
    const isFull = (id: number, leased: number) => (taken.get(id) ?? 0) >= free || leased >= unleased;
    const fullTenants = [...this.#tenants].flatMap(([id, { partitions }]) => (isFull(id, partitions) ? [id] : []));
    return { free, taken, fullTenants };
  }

  async #callOthers(): Promise<void> {
    const { store } = this.#service;
    if (store.engine === 'pglite' || performance.now() - this.#calledAt < callsEvery) return;
    this.#calledAt = performance.now();
    await this.#partitions.callOthers();
  }

  #run(partition: Partition): void {
    const { tenantId, subscriptionId } = partition;
    const batches = this.#batchesOf(partition);
    batches.partitions += 1;
    const services: PartitionServices = {
      send: (to, headers, body) =>
        this.#beginning.run(tenantId, subscriptionId, () => this.#sender.send(to, headers, body)),
      isStopping: () => this.#stopping,
      tenant: (name) => this.#service.directory.tenant(name),
      load: (request) => batches.load.add(request),
      acknowledge: async (progress) => (await batches.acknowledge.add(progress)).isLeased,
      deactivate: (tenant, id, reason) => this.#deactivate(tenant, id, reason),
      attempted: (record) => this.#count(record),
    };
    const running: Promise<void> = deliverPartition(partition, services)
      .catch((error) => {
        // It is leased again when its lease is no longer renewed.
        this.#service.log[retryLevel(error)](
          { err: error, tenant: partition.tenantName, subscription: subscriptionId },
          'Deliveries of a subscription failed; retrying.',
        );
      })
      .finally(() => {
        this.#running.delete(running);
        batches.partitions -= 1;
        if (batches.partitions === 0) this.#tenants.delete(tenantId);
        this.#wake();
      });
    this.#running.set(running, { partition, since: performance.now() });
  }

  #batchesOf({ tenantId: id, tenantName: name }: Partition): TenantBatches {
    let batches = this.#tenants.get(id);
    if (batches === undefined) {
      const { store, vault } = this.#service;
      const read = (requests: readonly PartitionRequest[]) =>
        store.read(id, (session) => {
          const isAlone = this.#tenants.get(id)?.partitions === 1;
          return loadWork(session, { id, name }, requests, isAlone ? undefined : this.#messages, vault);
        });
      const load = async (requests: readonly PartitionRequest[]) => {
        const work = await read(requests);
        if (work.every(({ secrets, due }) => !secrets.isEmpty || due.length === 0)) return work;
        // Nobody has read the secret so far, and nothing is sent without a signature.
        await currentSecret(store, vault, id);
        return read(requests);
      };
      const write = async (progress: readonly DeliveryProgress[]) => {
        const leased = await store.write(id, (transaction) =>
          acknowledge(transaction, id, this.#partitions.holder, progress),
        );
        return leased.map((isLeased) => ({ isLeased }));
      };
      batches = {
        load: new Batches(maxBatchSize, (requests) => this.#statements(() => load(requests))),
        acknowledge: new Batches(maxBatchSize, (progress) => this.#statements(() => write(progress))),
        partitions: 0,
      };
      this.#tenants.set(id, batches);
    }
    return batches;
  }

  async #deactivate(tenant: Tenant, subscriptionId: string, reason: EndReason): Promise<void> {
    const origin = { operation: `deliver events: ${reason}`, requestId: this.#partitions.holder };
    const deactivate = (unit: UnitOfWork) =>
      unit.plan((plan) => {
        const row = plan.getForUpdate(eventSubscription, subscriptionId);
        if (row?.active === true) plan.remove(eventSubscription, subscriptionId);
      });
    await writeAsSystem(this.#service, tenant, origin, deactivate, async () => {});
    this.#service.log.warn({ tenant: tenant.name, subscription: subscriptionId, reason }, 'Subscription deactivated.');
  }

  #count({ attempt, event, number }: AttemptRecord): void {
    const { metrics } = this.#service;
    metrics.deliveryAttempted(attempt.outcome, attempt.duration / 1000);
    const arrivedAt = attempt.attemptedAt + attempt.duration;
    if (number === 1) metrics.eventArrived(Math.max(0, (arrivedAt - Date.parse(event.recordedAt)) / 1000));
  }

  #unavailable(error: unknown): void {
    this.#service.log.warn({ err: error }, 'Database unavailable for deliveries; retrying within seconds.');
  }
}
