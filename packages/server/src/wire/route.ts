import type { Rejection } from '../contract/rejection.ts';
import type { Exchange } from './exchange.ts';
import type { RouteResult } from './result.ts';

/** What the server does for a path and its methods. */
export interface Route {
  /** The name in the access log and in metrics. */
  readonly name: string;
  /** The path, with the names of its parameters in braces. */
  readonly path: string;
  /** The paths that the route serves, with named groups as parameters; by default those of `path`. */
  readonly pattern?: RegExp;
  /** Undefined if the route itself rejects methods. */
  readonly methods: readonly string[] | undefined;
  /** Headers of all its responses. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether pages of other origins must not read its responses, whatever the setting: pages for people, and metrics. */
  readonly isSameOrigin?: boolean;
  /** Whether requests come every few seconds from other machines. Their access lines have the level `debug`. */
  readonly isProbe?: boolean;
  /** Whether the latest requests can be read on the console. Their paths have no secrets. */
  readonly isRecorded?: boolean;
  /** @throws Rejection or any other error, which becomes a problem */
  handle(exchange: Exchange, parameters: Readonly<Record<string, string>>): Promise<RouteResult> | RouteResult;
  /** Presents a problem to the caller; as JSON by default. */
  rejected?(problem: Rejection, exchange: Exchange): RouteResult;
  /** Checks a result or a problem before it is sent, and may replace it. */
  checked?(result: RouteResult, exchange: Exchange): RouteResult;
}
