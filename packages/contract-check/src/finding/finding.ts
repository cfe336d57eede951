import type { Place } from '../document/document.ts';
import type { Exchange } from '../http/call.ts';
import { type CheckName, type Rule, requirementOf } from './rules.ts';

export { type Category, categories } from './rules.ts';

/** A difference between the server and its contract that is not confirmed yet. */
export interface Candidate {
  /** The name of the check: `response-body`, `reject-maxLength`, `page-order`. */
  readonly check: CheckName;
  readonly operation: string;
  readonly about: string;
  readonly title: string;
  readonly expected: string;
  readonly actual: string;
  /** The place in the split sources of the contract. */
  readonly place: Place | undefined;
  /** A JSON Pointer to what is wrong in the body of the last response, where the finding is about a part of it. */
  readonly pointer?: string | undefined;
  /** The name of the difference in all runs: usually check, operation and part. */
  readonly cause: string;
}

export interface Observed extends Candidate {
  /** Requests and responses that show it, in order; the last one has the difference. */
  readonly exchanges: readonly Exchange[];
}

/** A resource that the run created, and the request that creates it again. */
export interface Creation {
  /** Undefined if nothing needs it. */
  readonly id: string | undefined;
  readonly exchange: Exchange;
  /** The body to send, where what the request created remains, and could conflict. */
  readonly body: string | undefined;
}

/** Differences that have one cause, described by the worst of them. */
export interface Finding extends Observed, Rule {
  /** What must be created first to repeat the requests after the run, in order. */
  readonly setup?: readonly Creation[];
  readonly also: readonly string[];
  /** Everywhere that the cause was observed, this finding first. */
  readonly places: readonly FindingPlace[];
}

export type FindingPlace = Pick<Candidate, 'operation' | 'check' | 'title' | 'place' | 'cause'>;

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
  const cause = `${check} ${id} ${about}`.trim();
  return { check, operation: id, about, cause, title, expected, pointer: undefined, ...facts };
}

export function responseText({ response }: Pick<Exchange, 'response'>): string {
  return `${response.status} ${response.text.slice(0, 160)}`.trim();
}
