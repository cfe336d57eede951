import { combinatorsOf } from '../combinators.ts';
import type { Drift } from '../drift.ts';
import { problem, rejected, sample } from './samples.ts';
import type { World } from './world.ts';

export type ServiceDrift = Drift<World>;

export const {
  expecting,
  drift,
  requiring,
  observe,
  callJson,
  response,
  member,
  header,
  failure,
  request,
  loosen,
  tighten,
  instead,
  ignore,
  otherDefault,
  page,
} = combinatorsOf<World>({ sample, rejected, problem });
