import { backgroundWork } from '../app/jobs.ts';
import { advanceClock, laterBy } from '../background/advance-clock.ts';
import { databaseClock } from '../platform/database-clock.ts';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import type { Operator } from './operator.ts';
import { tenantNamed } from './tenants.ts';

/**
 * Advances the clock of a sandbox, as the API does.
 *
 * @param by days, hours or minutes, such as `40d`, or a duration of ISO 8601.
 * @throws Error with a sentence if the tenant is no sandbox, or its clock cannot be advanced so far.
 */
export async function advanceTenantClock(
  operator: Operator,
  { tenant: name, by }: { readonly tenant: string; readonly by: string },
) {
  const { service } = operator;
  const tenant = await tenantNamed(operator, name);
  if (!tenant.isSandbox)
    throw new Error(
      `The tenant ${name} has no clock of its own. Only tenants that are created with --sandbox have one.`,
    );
  const duration = readDuration(by);
  const { now, offset, ranTasks } = await advanceClock(service, backgroundWork.clockTasks, tenant, (present) =>
    laterBy(present, duration),
  );
  await recordOperatorAct(service.store.owner, { operation: 'clock advance', subject: name, details: { by } });
  return { now: now.toString(), offsetSeconds: Math.floor(offset / 1000), ranTasks };
}

/** @throws Error with a sentence */
function readDuration(text: string): Temporal.Duration {
  const { number, unit } = /^(?<number>[0-9]{1,6})(?<unit>[dhm])$/.exec(text)?.groups ?? {};
  const iso = unit === undefined ? text : unit === 'd' ? `P${number}D` : `PT${number}${unit.toUpperCase()}`;
  try {
    const duration = Temporal.Duration.from(iso);
    laterBy(databaseClock.instant(), duration);
    return duration;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new Error(`"${text}" is not a duration. Write it as 40d, 12h, 30m, P1M or PT90S.`);
}
