import { createHash } from 'node:crypto';

/** A seed for one purpose. It depends only on the run's seed and the label, so it is independent of other calls. */
export function seedOf(seed: number, label: string): number {
  return createHash('sha256').update(`${seed} ${label}`).digest().readInt32BE(0);
}
