import type Big from 'big.js';

/** A movement of an account. */
export interface BankLine {
  /** Key of the movement at the bank, if the file has it. */
  readonly id?: string | undefined;
  readonly date: string;
  /** Positive if money came in. */
  readonly amount: Big;
  readonly payer?: string | undefined;
  /** Everything that the payer or the bank wrote. */
  readonly text: string;
  readonly checkNumber?: string | undefined;
}

export interface BankAccount {
  readonly account: string;
  /** Undefined if the file does not say it. */
  readonly currency: string | undefined;
}

/** What a file has of an account, in its order: a movement, or the end of a statement with the balances that its movements lead to. */
export interface BankPart extends BankAccount {
  readonly line?: BankLine;
  readonly opening?: Big | undefined;
  readonly closing?: Big | undefined;
}
