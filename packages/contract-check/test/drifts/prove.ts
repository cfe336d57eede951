import { deepStrictEqual, notDeepStrictEqual } from 'node:assert/strict';
import type { Drift } from './drift.ts';
import type { AlteringProxy } from './front.ts';

/**
 * Proves a drift: its probe returns the same twice on the correct server, and something else with the drift.
 *
 * @throws AssertionError if the probe is unstable or does not see the drift.
 */
export async function prove<World>(drift: Drift<World>, proxy: AlteringProxy, world: World): Promise<void> {
  proxy.use(undefined);
  const correct = await drift.probe(proxy.url, world);
  deepStrictEqual(await drift.probe(proxy.url, world), correct, 'The probe is not steady on the correct server.');
  proxy.use(drift.alter(world));
  const drifted = await drift.probe(proxy.url, world);
  proxy.use(undefined);
  notDeepStrictEqual(drifted, correct, 'The probe does not see the drift.');
}
