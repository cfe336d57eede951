import { createHash } from 'node:crypto';

/** A seed for one purpose: the same for the same run's seed and label, whatever else the run did before. */
export function seedOf(seed: number, label: string): number {
  return createHash('sha256').update(`${seed} ${label}`).digest().readInt32BE(0);
}
