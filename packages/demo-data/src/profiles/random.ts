/** A pseudo-random number generator with reproducible results: mulberry32, which is fast and sufficient for demo data. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer from 0 up to, but not including, the end. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** Returns an integer from the first to the last, both included. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<const Value>(values: readonly [Value, ...Value[]]): Value {
    return values[this.below(values.length)] ?? values[0];
  }

  /** Returns one of the values, with a probability in proportion to its weight. */
  weighted<const Value>(values: readonly (readonly [Value, number])[]): Value {
    const total = values.reduce((sum, [, weight]) => sum + weight, 0);
    let rest = this.next() * total;
    for (const [value, weight] of values) {
      rest -= weight;
      if (rest < 0) return value;
    }
    const last = values.at(-1);
    if (last === undefined) throw new RangeError('No values to choose from.');
    return last[0];
  }

  /** Returns a log-normal number with this median; a spread of 1 is typical of amounts of money. */
  logNormal(median: number, spread: number): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
    return median * Math.exp(spread * normal);
  }
}
