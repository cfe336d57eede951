import type Big from 'big.js';
import { BridgeError } from '../errors.ts';

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

export interface Statement {
  readonly account: string;
  /** Undefined if the file does not say it. */
  readonly currency: string | undefined;
  readonly opening?: Big | undefined;
  readonly closing?: Big | undefined;
  readonly lines: readonly BankLine[];
}

/** @throws BridgeError if the movements do not lead from the opening to the closing balance */
export function checkBalance({ account, opening, closing, lines }: Statement): void {
  if (opening === undefined || closing === undefined) return;
  const computed = lines.reduce((sum, { amount }) => sum.plus(amount), opening);
  if (computed.eq(closing)) return;
  throw new BridgeError(
    `The statement of account ${account} does not add up: ${opening.toFixed(2)} and its movements are ${computed.toFixed(2)}, but its closing balance is ${closing.toFixed(2)}. Part of the file may be missing: download it again. To use it as it is, add --ignore-balance.`,
  );
}
