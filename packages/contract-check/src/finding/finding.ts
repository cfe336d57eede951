import type { Place } from '../document/document.ts';
import type { Exchange } from '../http/call.ts';
import { type Category, type CheckName, requirementOf } from './rules.ts';

export { type Category, categories } from './rules.ts';

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
  /** What the server must do, or how to remove the difference. */
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

/** A difference that is not confirmed yet. Its check says the rest of a finding. */
export type Candidate = Omit<Finding, 'category' | 'fix' | 'exchanges' | 'also' | 'places'>;

/**
 * A candidate; its title and what is expected default to the requirement of the check.
 *
 * @param about the part of the operation, without values of this run: candidates about the same part have one cause.
 */
export function candidateOf(
  check: CheckName,
  { id }: { readonly id: string },
  about: string,
  facts: Partial<Pick<Candidate, 'title' | 'expected'>> & Pick<Candidate, 'actual' | 'place' | 'pointer'>,
): Candidate {
  const expected = requirementOf(check);
  const title = about === '' ? expected : `${expected}: ${about}`;
  return { check, operation: id, cause: `${check} ${id} ${about}`.trim(), title, expected, ...facts };
}

/** The beginning of a response, for display. */
export function responseText({ response }: Pick<Exchange, 'response'>): string {
  return `${response.status} ${response.text.slice(0, 160)}`.trim();
}
