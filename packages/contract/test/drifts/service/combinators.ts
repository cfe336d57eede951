import { combinatorsOf } from '../combinators.ts';
import type { Drift } from '../drift.ts';
import { problem, refused, sample } from './samples.ts';
import type { World } from './world.ts';

export type ServiceDrift = Drift<World>;

export const {
  expecting,
  drift,
  seenBy,
  look,
  tell,
  answer,
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
} = combinatorsOf<World>({ sample, refused, problem });
