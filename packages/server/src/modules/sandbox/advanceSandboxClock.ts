import { advanceClock, ClockIsAdvancing, ClockOutOfRange, laterBy } from '../../background/advance-clock.ts';
import type { ClockTask } from '../../background/clock.ts';
import { inProgress, invalid } from '../../contract/problem.ts';
import type { Handler } from '../../entity/context.ts';
import { clockBody, noSandbox } from './getSandboxClock.ts';

/** Creates the handler that advances the clock of a sandbox. @param tasks those that run on the way. */
export function advanceSandboxClock(tasks: readonly ClockTask[]): Handler<'advanceSandboxClock'> {
  return async ({ service, tenant }, { body }) => {
    if (!tenant.isSandbox) throw noSandbox();
    const pointer = body.advanceTo === undefined ? '/advanceBy' : '/advanceTo';
    const target = (now: Temporal.Instant) =>
      body.advanceTo === undefined
        ? laterBy(now, Temporal.Duration.from(body.advanceBy ?? 'PT0S'))
        : Temporal.Instant.from(body.advanceTo);
    try {
      const { offset, ranTasks } = await advanceClock(service, tasks, tenant, target);
      return { status: 200, body: { ...clockBody(offset), ranTasks } };
    } catch (error) {
      if (error instanceof ClockOutOfRange) throw invalid(pointer, 'OUT_OF_RANGE', error.message);
      if (!(error instanceof ClockIsAdvancing)) throw error;
      throw inProgress('Another call advances the clock. Try again when it has ended.');
    }
  };
}
