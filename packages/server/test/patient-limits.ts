import { type Limits, standardLimits } from '../src/platform/store/limits.ts';
import { createCheckPool } from '../src/wire/large-body.ts';

/** For tests of other features, which must not fail on a busy machine. */
export const patientLimits: Limits = {
  ...standardLimits,
  connect: 60_000,
  firstConnect: 60_000,
  lock: 60_000,
  read: 60_000,
  statement: 120_000,
  idleInTransaction: 60_000,
};

/** Its threads have a low priority: on a machine with other work, a check may take minutes. */
export const patientChecks = createCheckPool(300_000);
