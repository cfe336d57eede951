import type { Cents } from '../books/cents.ts';

/** A write-up and a write-down are shares of one difference, of which only the sum follows from the lines. */
type Movement =
  | `RECEIVABLE ${'INVOICE' | 'ALLOCATION' | 'DEALLOCATION' | 'WRITE_OFF' | 'RECOVERY' | 'VOID'}`
  | `CREDIT ${'PAYMENT' | 'CREDIT_NOTE' | 'ALLOCATION' | 'DEALLOCATION' | 'REFUND' | 'RETURN' | 'PAYMENT_VOID' | 'NOTE_VOID'}`
  | `WIP ${'WORK' | 'BILLED' | 'UNBILLED' | 'ADJUSTMENT' | 'WRITE_OFF' | 'RECOVERY'}`;

/** What the firm has entered, by month: the sums that its ledger must have. */
export class Journal {
  readonly #sums = new Map<string, Cents>();
  /** The month for which everything counts until it is closed. */
  month = '';

  add(movement: Movement, amount: Cents): void {
    const key = `${this.month} ${movement}`;
    this.#sums.set(key, (this.#sums.get(key) ?? 0n) + amount);
  }

  /** Adds both halves of an allocation, or of taking it back. */
  move(kind: 'ALLOCATION' | 'DEALLOCATION', amount: Cents): void {
    this.add(`RECEIVABLE ${kind}`, amount);
    this.add(`CREDIT ${kind}`, amount);
  }

  get sums(): ReadonlyMap<string, Cents> {
    return new Map([...this.#sums].filter(([, sum]) => sum !== 0n));
  }
}
