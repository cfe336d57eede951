import { type Limits, standardLimits } from '../src/store/engine.ts';

/** For tests that are not about limits: a machine with much other work must not fail them. */
export const patientLimits: Limits = {
  ...standardLimits,
  connect: 60_000,
  firstConnect: 60_000,
  read: 60_000,
  statement: 120_000,
};
