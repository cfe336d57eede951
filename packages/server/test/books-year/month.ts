import type { Random } from '@financial-automation/demo-data/profiles/random';
import type { Firm } from './firm.ts';
import type { FirmCalls } from './firm-calls.ts';
import type { Journal } from './journal.ts';

/** The reason of each correction. */
export const changeReason = 'Corrected';

/** The month of a firm in which everything is entered until the next one starts. */
export class Month {
  readonly calls: FirmCalls;
  readonly random: Random;
  readonly journal: Journal;
  readonly firm: Firm;
  number = 0;
  #refs = 0;

  constructor(calls: FirmCalls, random: Random, journal: Journal, firm: Firm) {
    this.calls = calls;
    this.random = random;
    this.journal = journal;
    this.firm = firm;
  }

  start(number: number): void {
    this.number = number;
    this.journal.month = this.day(1);
  }

  day(day: number): string {
    return Temporal.PlainDate.from({ year: this.firm.year, month: this.number, day }).toString();
  }

  ref(kind: string): string {
    this.#refs += 1;
    return `${kind}-${this.#refs}`;
  }

  chosen<Value>(values: readonly Value[], probability: number): Value[] {
    return values.filter(() => this.random.chance(probability));
  }
}
