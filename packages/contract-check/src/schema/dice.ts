/** A deterministic generator of integers below 2^30. */
export function dice(seed: number): () => number {
  let state = (Math.imul(seed | 0, 0x9e3779b1) ^ 0x5bd1e995) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) >>> 2;
  };
}

export function picked<T>(list: readonly T[], roll: () => number): T | undefined {
  return list.length === 0 ? undefined : list[roll() % list.length];
}

export function shuffled<T>(list: readonly T[], roll: () => number): T[] {
  return list
    .map((item) => [roll(), item] as const)
    .sort(([left], [right]) => left - right)
    .map(([, item]) => item);
}
