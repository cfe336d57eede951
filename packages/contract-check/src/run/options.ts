import type { Category } from '../finding/finding.ts';
import type { Secret } from '../http/mask.ts';
import type { MinCoverage, PlanEntry } from './report.ts';

/** Options of a run, the same as those of the command. */
export interface CheckOptions {
  /** Path or URL of the OpenAPI document. */
  readonly spec: string;
  /** URL of the server, to which the contract's paths are appended. Default: the first of `servers`. */
  readonly url?: string;
  /** The same seed sends the same requests to the same server. */
  readonly seed?: number;
  /** Operation IDs, `METHOD /path`, paths or tags; `*` matches any text. No other operation is ever called. */
  readonly only?: readonly string[];
  /** Operations and paths that are never called, for any purpose. */
  readonly exclude?: readonly string[];
  /** Only these operations are checked. Others can be called to create the data that they need. */
  readonly focus?: readonly string[];
  /**
   * Whether the data of the server may be changed and lost. Without it, the run changes only what it created, and calls
   * no operation whose effect it could not undo.
   */
  readonly disposable?: boolean;
  /** Categories to check. Default: all. A mock has no state, so its behavior cannot be checked. */
  readonly checks?: readonly Category[];
  /** Maximum number of invalid values, and of boundary values, per parameter or body. Another seed selects others. */
  readonly probes?: number;
  /** Whether 501 (not implemented) is no finding. */
  readonly allowUnimplemented?: boolean;
  /** The minimum to reach, in percent: of operations, or for each kind. Default: 50 % of the operations. */
  readonly minCoverage?: MinCoverage;
  /** Maximum duration of the run in seconds, with cleaning up. */
  readonly time?: number;
  /** Headers to send with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly auth?: Auth;
  /** Credentials of the caller, by the name of a security scheme of the document: a key, a token, or `user:password`. */
  readonly keys?: Readonly<Record<string, string>>;
  /** Maximum number of concurrent requests. */
  readonly concurrency?: number;
  /** Maximum time for a response, in seconds. */
  readonly timeout?: number;
  /** Ends the run early; the findings up to then are reported. */
  readonly signal?: AbortSignal;
  /** Called before the first request. */
  readonly onPlan?: (plan: readonly PlanEntry[]) => void;
  /** Called during the run. */
  readonly onProgress?: (progress: Progress) => void;
  /** Called with each credential that the run uses, so that it can be masked in reports. */
  readonly onSecret?: (secret: Secret) => void;
}

export interface Progress {
  readonly phase: string;
  readonly done: number;
  readonly all: number;
  readonly requests: number;
  readonly findings: number;
}

/**
 * Authentication of requests: the default export of an `--auth` module. Each function returns headers, and is
 * called again when a request returns 401. All identities except `caller` are optional, and each enables further checks.
 * A function that declares a parameter is called for each operation, any other once.
 */
export interface Auth {
  /** Headers of a user who can do everything. */
  caller(operation?: CalledOperation): Promise<Headers> | Headers;
  /** Headers with expired credentials, which the server must reject. */
  expired?(operation?: CalledOperation): Promise<Headers> | Headers;
  /** Headers of a user without any role or scope, for whom the server must return 403. */
  forbidden?(operation?: CalledOperation): Promise<Headers> | Headers;
  /** Values that the check cannot find or generate, such as an API key, by the name of the parameter or property. */
  values?(): Promise<Readonly<Record<string, unknown>>> | Readonly<Record<string, unknown>>;
  /** Headers of a user with exactly these scopes or roles of the document, such as `security` requires. */
  withScopes?(scopes: readonly string[], operation?: CalledOperation): Promise<Headers> | Headers;
  /** Headers of another tenant or owner, who must not see what the caller created. */
  otherTenant?(operation?: CalledOperation): Promise<Headers> | Headers;
}

/** The operation that is called, where parts of an API need other credentials; undefined for undeclared operations. */
export interface CalledOperation {
  readonly id: string;
  readonly method: string;
  /** The path of the contract, such as `/books/{id}`. */
  readonly path: string;
}

type Headers = Readonly<Record<string, string>>;
