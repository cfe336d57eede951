import type { Place } from '../document/document.ts';
import type { Exchange } from '../http/call.ts';

/** What is checked, in the order of the columns of a report. */
export const categories = ['answers', 'refusals', 'acceptance', 'surface', 'robustness', 'semantics'] as const;

export type Category = (typeof categories)[number];

/** A difference between the server and its contract, confirmed. */
export interface Finding {
  /** The check that found it, as `--help` names it: `answer-body`, `refuse-maxLength`, `page-order`. */
  readonly check: string;
  readonly category: Category;
  /** The id of the operation. */
  readonly operation: string;
  /** One sentence: what differs. */
  readonly title: string;
  /** What the contract says. */
  readonly expected: string;
  /** What the server did. */
  readonly actual: string;
  /** Where the contract says so, in its split sources. */
  readonly place: Place | undefined;
  /** A JSON Pointer to what is wrong in the body of the last answer, where the finding is about a part of it. */
  readonly pointer?: string | undefined;
  /** What would bring both together again, on either side. */
  readonly fix: string;
  /** What shows it, in order; the last is the one that went wrong. */
  readonly exchanges: readonly Exchange[];
  /** Findings with the same cause are one: usually check, place and pointer, without the values of this run. */
  readonly cause: string;
  /** Other operations in which the same cause was found. */
  readonly also: readonly string[];
}
