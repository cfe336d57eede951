import type { AccessToken } from './tokens.ts';

/** What a client is made of. */
export type ClientOptions = BaseOptions & (KeyOption | TokenOption);

interface BaseOptions {
  /** Where the service is: `https://api.financial-automation.example`, or the mock, or a server of your own. */
  baseUrl: string;
  /** The tenant of every call. A client has one tenant; make one client per tenant. */
  tenant: string;
  /** Milliseconds for a whole call, its retries and waiting included. Default 60,000. */
  timeout?: number;
  /** How many times a call may be repeated, where that is safe. Default 3; 0 turns repeating off. */
  retries?: number;
  /** The id of your application, for tenants that require it (`X-Client-Id`). */
  clientId?: string;
  /** The trace that a call belongs to (W3C Trace Context), asked for before each call. A call's own header goes first. */
  traceparent?: () => string | undefined;
  /** Sends the requests, in place of the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

interface KeyOption {
  /** The API key, a JWT. It is exchanged for access tokens; never ship it to a browser. */
  apiKey: string;
  accessToken?: never;
}

interface TokenOption {
  apiKey?: never;
  /** Gets a token from elsewhere, such as your own backend; for browsers, where no API key may be. */
  accessToken: () => Promise<AccessToken>;
}

export const defaultTimeout = 60_000;
export const defaultRetries = 3;
