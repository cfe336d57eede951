import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { bulkWriteLimits, costlySearchLimits, largeBodyLimits, type ShareLimits, Shares } from './shares.ts';

/**
 * Number of the busiest tenants with metrics of their own, labelled by rank. Labels by name would grow with the number of
 * tenants.
 */
const ranks = 5;

/** Shares with metrics of their usage and its distribution across tenants. */
export function measuredShares(limits: ShareLimits, registry: Registry): Shares {
  const registers = [registry];
  const waits = new Histogram({
    name: 'request_wait_seconds',
    help: 'How long requests waited for their turn, in seconds.',
    buckets: [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1],
    registers,
  });
  const ofTenant = new Histogram({
    name: 'tenant_requests_in_progress',
    help: 'How many requests of its tenant were in progress when a request started, itself included.',
    buckets: Array.from({ length: limits.perTenant }, (_, index) => index + 1),
    registers,
  });
  const rejections = new Counter({
    name: 'requests_rejected_total',
    help: 'Requests that were rejected because their user, their tenant or the service had its limit in progress.',
    labelNames: ['limit'],
    registers,
  });
  const shares = new Shares(limits, {
    started(waitedSeconds, inProgressOfTenant) {
      waits.observe(waitedSeconds);
      ofTenant.observe(inProgressOfTenant);
    },
    rejected: (limit) => rejections.inc({ limit }),
  });
  new Gauge({
    name: 'requests_in_progress',
    help: 'Requests that the service is working on.',
    registers,
    collect() {
      this.set(shares.usage().inProgress);
    },
  });
  new Gauge({
    name: 'requests_waiting',
    help: 'Requests that wait for their turn.',
    registers,
    collect() {
      this.set(shares.usage().waiting);
    },
  });
  new Gauge({
    name: 'tenant_requests_in_progress_average',
    help: 'Requests in progress of the busiest tenants on average over a minute, by rank. Logs name the tenant of a request.',
    labelNames: ['rank'],
    registers,
    collect() {
      const { perTenant } = shares.usage();
      for (let rank = 1; rank <= ranks; rank++) this.set({ rank }, perTenant[rank - 1] ?? 0);
    },
  });
  return shares;
}

/** Shares of the large bodies that are in memory, with metrics. */
export function measuredLargeBodies(wait: number, registry: Registry): Shares {
  return measured({ ...largeBodyLimits, wait }, registry, 'large_bodies', 'Requests with large bodies');
}

/** Shares of the costly searches that are in progress, with metrics. */
export function measuredCostlySearches(connections: number, wait: number, registry: Registry): Shares {
  return measured({ ...costlySearchLimits(connections), wait }, registry, 'costly_searches', 'Costly searches');
}

/** Shares of the bulk writes that are in progress, with metrics. */
export function measuredBulkWrites(connections: number, wait: number, registry: Registry): Shares {
  return measured({ ...bulkWriteLimits(connections), wait }, registry, 'bulk_writes', 'Bulk writes');
}

function measured(limits: ShareLimits, registry: Registry, name: string, subject: string): Shares {
  const registers = [registry];
  const rejections = new Counter({
    name: `${name}_rejected_total`,
    help: `${subject} that were rejected because their user, their tenant or the service had its limit in progress.`,
    labelNames: ['limit'],
    registers,
  });
  const shares = new Shares(limits, { started() {}, rejected: (limit) => rejections.inc({ limit }) });
  new Gauge({
    name: `${name}_in_progress`,
    help: `${subject} that the service is working on.`,
    registers,
    collect() {
      this.set(shares.usage().inProgress);
    },
  });
  return shares;
}
