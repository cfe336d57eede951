import { clockOf } from '../../background/tenant-clock.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import { databaseClock } from '../../platform/database-clock.ts';

/** Returns the clock of a sandbox. */
export const getSandboxClock: Handler<'getSandboxClock'> = async ({ service, tenant }) => {
  const own = await clockOf(service.store, tenant.id);
  if (own === undefined) throw noSandbox();
  return { status: 200, body: clockBody(own.offset) };
};

export function noSandbox(): Rejection {
  return new Rejection('NOT_FOUND', 'Only tenants that were created as sandboxes have a clock of their own.');
}

/** @param offset how far the clock is ahead of the real one, in milliseconds. */
export function clockBody(offset: number) {
  return { now: new Date(databaseClock.now() + offset).toISOString(), offsetSeconds: Math.floor(offset / 1000) };
}
