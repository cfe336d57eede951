import { expect } from 'vitest';
import type { Drift } from './drift.ts';
import { judge } from './run.ts';
import type { OpenStage } from './stages.ts';

/** Expects that a check of the server with this drift has findings. */
export async function expectCaught<World>(
  at: OpenStage<World>,
  drifts: readonly Drift<World>[],
  name: string,
): Promise<void> {
  const drift = drifts.find((one) => one.name === name);
  if (drift === undefined) throw new Error(`There is no drift "${name}".`);
  const { findings } = await judge(at, drift, 1);
  expect(findings).not.toEqual([]);
}
