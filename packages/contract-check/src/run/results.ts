import { CannotRun } from '../cannot-run.ts';
import type { Operation } from '../document/operation.ts';
import type { Exchange } from '../http/call.ts';
import { noResponse } from '../http/client.ts';
import type { WireRequest } from '../http/serialize.ts';
import { contentFor, declaredResponseFor } from '../judge/judge.ts';

/** What the responses to the first calls of all operations say about the server as a whole. */
export class Reach {
  readonly #counts = new Map<number, number>();
  #isWebsite = false;
  #isReached = false;

  note(operation: Operation, { response: { status, mediaType } }: Exchange): void {
    if (status === noResponse) return;
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
    const declared = declaredResponseFor(operation, status);
    const isPage = mediaType === 'text/html' && (declared && contentFor(declared, mediaType)) === undefined;
    const isSuccess = status < 300 || (status < 400 && declared !== undefined);
    if (isSuccess && !isPage) this.#isReached = true;
    if (isPage && status < 400) this.#isWebsite = true;
  }

  /** @throws CannotRun if no operation was reached. */
  check(url: string): void {
    if (this.#isReached || this.#counts.size === 0) return;
    const counts = [...this.#counts].sort(([, one], [, other]) => other - one);
    const statuses = counts.map(([status, count]) => `${status} (${count})`).join(', ');
    const all = counts.reduce((sum, [, count]) => sum + count, 0);
    const are = (...expected: number[]) => counts.every(([status]) => expected.includes(status));
    const checkPath = `check the base path, which is ${new URL(url).pathname}`;
    const reasons: readonly (readonly [isTrue: boolean, reason: string])[] = [
      [are(404, 405), `returned 404 to all ${all} requests; ${checkPath}`],
      [are(401, 403, 404), `rejected the credentials, or their absence: ${statuses}; pass --auth or --header`],
      [this.#isWebsite, `returns web pages, not its API; ${checkPath}`],
      [are(301, 302, 303, 307, 308), `redirects all requests: ${statuses}; check the URL and the credentials`],
    ];
    const [, reason = `returned only ${statuses}`] = reasons.find(([isTrue]) => isTrue) ?? [];
    throw new CannotRun(`No operation was reached: the server at ${url} ${reason}.`);
  }
}

export interface OperationState {
  requests: number;
  isReached: boolean;
  /** The first request that succeeded, if it only reads. */
  known?: WireRequest;
  isNotImplemented: boolean;
  /** Whether its input was checked completely. */
  isChecked: boolean;
  reason: string | undefined;
}

export function newState(): OperationState {
  return { requests: 0, isReached: false, isNotImplemented: false, isChecked: false, reason: undefined };
}
