import { dice } from '../../../schema/values.ts';

/** Shuffles a list deterministically by seed. */
export function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  const roll = dice(seed);
  const list = [...items];
  for (let index = list.length - 1; index > 0; index -= 1) {
    const other = roll() % (index + 1);
    const [left, right] = [list[index], list[other]];
    if (left === undefined || right === undefined) continue;
    list[index] = right;
    list[other] = left;
  }
  return list;
}
