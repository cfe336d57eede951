/** The rate and the processor time of rounds. */
import { median } from './figures.ts';

/** Of each process, in seconds. */
export interface ProcessorTimes {
  readonly sender: number;
  readonly database: number;
  readonly receiver: number;
}

/** Measurements of rounds of the same work. */
export class Rounds {
  readonly perSecond: number[] = [];
  readonly #size: number;
  readonly #usedNow: () => ProcessorTimes;
  readonly #used: ProcessorTimes[] = [];

  /** @param size how many deliveries or requests a round has. */
  constructor(size: number, usedNow: () => ProcessorTimes) {
    this.#size = size;
    this.#usedNow = usedNow;
  }

  /** @param work returns how many seconds it took, without what is around it. */
  async add(isCounted: boolean, work: () => Promise<number>): Promise<void> {
    const before = this.#usedNow();
    const seconds = await work();
    const after = this.#usedNow();
    if (!isCounted) return;
    this.perSecond.push(this.#size / seconds);
    this.#used.push({
      sender: after.sender - before.sender,
      database: after.database - before.database,
      receiver: after.receiver - before.receiver,
    });
  }

  /** The median of each process, and of their sum, in microseconds for one delivery or request. */
  get processorTime() {
    const microseconds = (of: (used: ProcessorTimes) => number) =>
      Math.round((median(this.#used.map(of)) * 1e6) / this.#size);
    return {
      sender: microseconds(({ sender }) => sender),
      database: microseconds(({ database }) => database),
      receiver: microseconds((used) => used.receiver),
      all: microseconds((used) => used.sender + used.database + used.receiver),
    };
  }
}
