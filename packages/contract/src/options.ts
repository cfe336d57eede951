import type { Category } from './finding/finding.ts';

/** What a run is asked to do. The command's flags and the configuration file are these. */
export interface CheckOptions {
  /** A path or an address of the OpenAPI document. */
  readonly spec: string;
  /** Where the server is; the contract's paths are appended to it. Without it, the first of `servers`. */
  readonly url?: string;
  /** The same seed makes the same requests of the same server. */
  readonly seed?: number;
  /** Operation ids, `METHOD /path`, paths or tags, with `*`: nothing else is judged (data may still be made elsewhere). */
  readonly only?: readonly string[];
  readonly exclude?: readonly string[];
  /** The sorts of check that are made; all of them, if left out. A mock has no state, and no semantics to be checked. */
  readonly checks?: readonly Category[];
  /** Breaks, and boundaries, of one parameter or body in a run at most: fewer are quicker, and another seed takes others. */
  readonly probes?: number;
  /** Seconds after which no new probe begins. */
  readonly time?: number;
  /** Values that no answer tells and no schema implies, by the name of the parameter or member that takes them: an API key. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly auth?: Auth;
  /** Requests in flight. */
  readonly concurrency?: number;
  /** Seconds to wait for an answer before it counts as a hang. */
  readonly timeout?: number;
  /** Ends the run early; what was found until then is reported. */
  readonly signal?: AbortSignal;
  /** Told while the run goes on. */
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly phase: string;
  readonly done: number;
  readonly all: number;
  readonly requests: number;
  readonly findings: number;
}

/**
 * How requests are signed in: what an `--auth` module exports by default. Headers by the name of an identity; `headers()` is
 * asked again when a request is refused with 401. The identities beside `caller` are optional, and each makes further checks
 * possible.
 */
export interface Auth {
  /** Headers of a caller who may do everything. */
  caller(): Promise<Headers> | Headers;
  /** Headers whose credentials have run out: must be refused. */
  expired?(): Promise<Headers> | Headers;
  /** Headers of somebody who is known and may do nothing that needs a role or scope: must be refused with 403. */
  powerless?(): Promise<Headers> | Headers;
  /** As `CheckOptions.values`, for what is known only when the run begins. */
  values?(): Promise<Readonly<Record<string, unknown>>> | Readonly<Record<string, unknown>>;
  /** Headers of another tenant or owner, who must not see what the caller made. */
  stranger?(): Promise<Headers> | Headers;
}

type Headers = Readonly<Record<string, string>>;
