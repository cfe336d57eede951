/** Selects items deterministically by seed: one of each kind, in any of several regards, before a second of any kind. */
export function sampled<Item>(
  items: readonly Item[],
  limit: number,
  seed: number,
  kindsOf: (item: Item) => readonly string[],
): Item[] {
  if (items.length <= limit) return [...items];
  const seen = new Map<string, number>();
  const ranked = items.map((item, index) => {
    const turns = kindsOf(item).map((kind) => {
      const turn = seen.get(kind) ?? 0;
      seen.set(kind, turn + 1);
      return turn;
    });
    const turn = Math.min(...turns);
    return { item, index, turn, chance: scattered(seed + index) };
  });
  return ranked
    .sort((left, right) => left.turn - right.turn || left.chance - right.chance)
    .slice(0, limit)
    .sort((left, right) => left.index - right.index)
    .map(({ item }) => item);
}

/** A deterministic hash that scatters values. */
function scattered(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
