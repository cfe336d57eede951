import type { Place } from '../document/document.ts';
import type { Exchange } from '../http/call.ts';
import type { CheckName } from './rules.ts';

/** The categories of checks, in the order of the columns of a report. */
export const categories = [
  'responses',
  'invalid input',
  'valid input',
  'undeclared endpoints',
  'robustness',
  'behavior',
] as const;

export type Category = (typeof categories)[number];

/** A confirmed difference between the server and its contract. */
export interface Finding {
  /** The name of the check: `response-body`, `reject-maxLength`, `page-order`. */
  readonly check: CheckName;
  readonly category: Category;
  /** The operation id. */
  readonly operation: string;
  /** The difference, in one sentence. */
  readonly title: string;
  /** What the contract requires. */
  readonly expected: string;
  /** What the server did. */
  readonly actual: string;
  /** The place in the split sources of the contract. */
  readonly place: Place | undefined;
  /** A JSON Pointer to what is wrong in the body of the last response, where the finding is about a part of it. */
  readonly pointer?: string | undefined;
  /** How to remove the difference, in the server or in the contract. */
  readonly fix: string;
  /** Requests and responses that show it, in order; the last one has the difference. */
  readonly exchanges: readonly Exchange[];
  /** Findings with the same cause are merged: usually check, place and pointer, without values of this run. */
  readonly cause: string;
  /** Other operations with the same cause. */
  readonly also: readonly string[];
  /** Everywhere that the cause was observed, this finding first. */
  readonly places: readonly FindingPlace[];
}

export interface FindingPlace {
  readonly operation: string;
  readonly check: CheckName;
  readonly title: string;
  readonly place: Place | undefined;
  readonly cause: string;
}
