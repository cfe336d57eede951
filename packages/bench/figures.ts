/** Figures of measurements that alternate, so that a slow minute of the machine affects both sides of a ratio. */

/** The middle of the values, unrounded; NaN if there are none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** @returns NaN without values */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.ceil(share * values.length) - 1] ?? Number.NaN;
}

/** The median, with the smallest and the largest. */
export function spread(values: readonly number[], digits: number): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} [${least.toFixed(digits)}–${most.toFixed(digits)}]`;
}

/** The ratio of each round: a slow round affects both sides. */
export function ratiosOf(own: readonly number[], other: readonly number[]): number[] {
  return own.map((value, index) => value / (other[index] ?? Number.NaN));
}

/** @returns milliseconds */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Milliseconds of each work, round by round; the first rounds only warm up. */
export async function inTurns(
  rounds: number,
  warmUps: number,
  ...works: readonly (() => Promise<unknown>)[]
): Promise<readonly number[][]> {
  const times: number[][] = works.map(() => []);
  for (let round = -warmUps; round < rounds; round++)
    for (const [index, work] of works.entries()) {
      const time = await timed(work);
      if (round >= 0) times[index]?.push(time);
    }
  return times;
}
