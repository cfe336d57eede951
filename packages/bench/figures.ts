/** Figures of measurements that alternate, so that a slow minute of the machine affects both sides of a ratio. */
import { loadavg } from 'node:os';

/** The middle of the values, unrounded; NaN if there are none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** @returns NaN without values */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.ceil(share * values.length) - 1] ?? Number.NaN;
}

/** The median of the ratios of each round, with the smallest and the largest. */
export function ratioOf(own: readonly number[], other: readonly number[]): string {
  const ratios = own.map((value, index) => value / (other[index] ?? Number.NaN));
  return `${median(ratios).toFixed(2)} [${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}]`;
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

export function printLoad(): void {
  const loads = loadavg().map((load) => load.toFixed(1));
  console.log(`Load of the machine: ${loads.join(', ')}`);
}
