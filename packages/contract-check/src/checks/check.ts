import type { Category } from '../finding/finding.ts';
import type { KnownRequests } from '../run/known-requests.ts';
import type { Session } from '../run/session.ts';

/** What a check gets. */
export interface CheckContext {
  readonly session: Session;
  readonly requests: KnownRequests;
  readonly onProgress: (done: number, all: number) => void;
}

/** A check of the server: it sends requests, and reports findings to the session. */
export interface Check {
  /** Shown to the user while the check runs. */
  readonly phase: string;
  /** The categories that it reports. The check is skipped if none of them is requested. */
  readonly finds: readonly Category[];
  run(context: CheckContext): Promise<void>;
}
