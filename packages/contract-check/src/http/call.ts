import type { Operation } from '../document/operation.ts';

/**
 * A request in the terms of the contract: what checks change, one thing at a time. Values are as the contract types them;
 * `serialize` writes them in the styles that it declares.
 */
export interface Call {
  readonly operation: Operation;
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Header parameters that the contract declares. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly cookies: Readonly<Record<string, unknown>>;
  /** Undefined where nothing is sent. */
  readonly body: unknown;
  /** The media type of the body. */
  readonly mediaType: string | undefined;
  /** What is in the place of what would be written: for requests that no value of the contract's types can express. */
  readonly raw?: Raw;
}

export interface Raw {
  readonly method?: string;
  /** The path as it is sent, already encoded, without the query. */
  readonly path?: string;
  /** The query as it is sent, without the question mark. */
  readonly query?: string;
  /** Added to what would be sent; null takes a header out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: string;
}

/** A request as it went over the wire, and what came back. */
export interface Exchange {
  readonly operation: Operation | undefined;
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | undefined;
  };
  readonly response: ReceivedResponse;
}

export interface ReceivedResponse {
  readonly status: number;
  /** Names in lower case; a header that came more than once has its values joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The media type without its parameters, in lower case; empty where the response names none. */
  readonly mediaType: string;
  /** The body as JSON, where its media type says so and it parses. */
  readonly json: { readonly value: unknown } | undefined;
  readonly milliseconds: number;
}
