import { CannotRun } from '../cannot-run.ts';
import type { Operation } from '../document/operation.ts';
import type { Exchange } from '../http/call.ts';
import { noResponse } from '../http/client.ts';
import { contentFor, declaredResponseFor } from '../judge/judge.ts';

/** What the responses to the first calls of all operations say about the server as a whole. */
export class Reach {
  readonly #statuses = new Map<number, number>();
  readonly #pages = new Set<string>();
  #isReached = false;

  note(operation: Operation, { response }: Exchange): void {
    const { status, mediaType } = response;
    if (status === noResponse) return;
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    const declared = declaredResponseFor(operation, status);
    const isPage =
      mediaType === 'text/html' && (declared === undefined || contentFor(declared, mediaType) === undefined);
    if (isPage) this.#pages.add(operation.id);
    const isSuccess = status < 300 || (status < 400 && declared !== undefined);
    if (isSuccess && !isPage) this.#isReached = true;
  }

  /** @throws CannotRun if no operation was reached. */
  check(url: string): void {
    if (this.#isReached || this.#statuses.size === 0) return;
    const all = [...this.#statuses.values()].reduce((sum, count) => sum + count, 0);
    const counts = [...this.#statuses].sort(([, one], [, other]) => other - one);
    const statuses = counts.map(([status, count]) => `${status} (${count})`).join(', ');
    const are = (...expected: number[]) => counts.every(([status]) => expected.includes(status));
    const isPage = this.#pages.size > 0;
    const { pathname } = new URL(url);
    const reason = are(404, 405)
      ? `returned 404 to all ${all} requests; check the base path, which is ${pathname}`
      : are(401, 403, 404)
        ? `rejected the credentials, or their absence: ${statuses}; pass --auth or --header`
        : isPage && counts.some(([status]) => status < 400)
          ? `returns web pages, not its API; check the base path, which is ${pathname}`
          : are(301, 302, 303, 307, 308)
            ? `redirects all requests: ${statuses}; check the URL and the credentials`
            : `returned only ${statuses}`;
    throw new CannotRun(`No operation was reached: the server at ${url} ${reason}.`);
  }
}

/** What a run knows about an operation. */
export interface OperationState {
  requests: number;
  isReached: boolean;
  isNotImplemented: boolean;
  /** Whether its input was checked completely. */
  isChecked: boolean;
  reason: string | undefined;
}

export function newState(): OperationState {
  return { requests: 0, isReached: false, isNotImplemented: false, isChecked: false, reason: undefined };
}
