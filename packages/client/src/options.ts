import type { AccessToken } from './tokens.ts';

/** Options of a client. */
export type ClientOptions = BaseOptions & (KeyOption | TokenOption);

interface BaseOptions {
  /** URL of the service, such as `https://api.financial-automation.example`, of the mock, or of your own server. */
  baseUrl: string;
  /** The tenant of every call. Create one client per tenant. */
  tenant: string;
  /** Timeout of a call in milliseconds, including retries and delays. Default 60,000. */
  timeout?: number;
  /** Maximum number of retries of a call, if retrying is safe. Default 3; 0 disables retries. */
  retries?: number;
  /** The id of your application, for tenants that require it (`X-Client-Id`). */
  clientId?: string;
  /** Returns the trace of a call (W3C Trace Context); called before each call. A header of the call overrides it. */
  traceparent?: () => string | undefined;
  /** Sends the requests instead of the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

interface KeyOption {
  /** The API key, a JWT. It is exchanged for access tokens; never ship it to a browser. */
  apiKey: string;
  accessToken?: never;
}

interface TokenOption {
  apiKey?: never;
  /** Gets a token from your own backend; for browsers, which must not have the API key. */
  accessToken: () => Promise<AccessToken>;
}

export const defaultTimeout = 60_000;
export const defaultRetries = 3;
