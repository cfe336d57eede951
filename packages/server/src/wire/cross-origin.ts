import { allOperations } from '../contract/contract.ts';
import { responseHeadersOf } from '../contract/parameters.ts';
import type { Exchange } from './exchange.ts';
import type { PageResult, RouteResult } from './result.ts';
import type { Route } from './route.ts';

/** The parts of a request that decide. */
type RequestHead = Pick<Exchange, 'method' | 'header'>;

/** Stands for every port of this machine, in place of an origin. */
export const localhost = 'localhost';

/** The longest time, in seconds, for which a common browser keeps the response to a preflight. */
const preflightLifetime = 7_200;

const methods = namesOf([allOperations.map(({ method }) => method)]);

/** What pages may send: the headers that the contract declares, and those that every operation reads. */
const requestHeaders = namesOf([
  ['Authorization', 'Content-Type', 'If-None-Match', 'traceparent'],
  ...allOperations.map(({ headers }) => Object.keys(headers)),
]);

/** What pages may read of a response, beyond what browsers always show. */
const exposedHeaders = namesOf([['Deprecation', 'Sunset'], ...allOperations.map(responseHeadersOf)]);

/**
 * Lets pages of some origins call the service from a browser (CORS). Without an origin, responses have none of its headers.
 * Credentials of the browser are never allowed: the service has no cookies.
 */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** The response to a preflight of an allowed origin, whatever its path: the call itself gets the problem. */
  preflight(exchange: RequestHead): PageResult | undefined {
    if (exchange.method !== 'OPTIONS' || exchange.header('access-control-request-method') === undefined)
      return undefined;
    if (!this.#allows(exchange.header('origin'))) return undefined;
    const headers = {
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Allow-Headers': requestHeaders,
      'Access-Control-Max-Age': String(preflightLifetime),
      Vary: 'Access-Control-Request-Method, Access-Control-Request-Headers',
    };
    return { kind: 'page', status: 204, headers, text: '' };
  }

  /** Adds the headers that let a page of an allowed origin read the result. */
  readable<One extends RouteResult>(result: One, exchange: RequestHead, route: Route | undefined): One {
    if (this.#origins.size === 0 || route?.isSameOrigin === true) return result;
    const origin = exchange.header('origin');
    // Also without an origin: a cache must not return the response to a page.
    const Vary = ['Origin', result.headers?.Vary].filter(Boolean).join(', ');
    const allowed =
      origin === undefined || !this.#allows(origin)
        ? {}
        : { 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': exposedHeaders };
    return { ...result, headers: { ...result.headers, ...allowed, Vary } };
  }

  #allows(origin: string | undefined): boolean {
    if (origin === undefined) return false;
    return this.#origins.has(origin) || (this.#origins.has(localhost) && isLocal(origin));
  }
}

function isLocal(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { hostname, protocol } = new URL(origin);
  return /^https?:$/.test(protocol) && ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

function namesOf(lists: readonly (readonly string[])[]): string {
  return [...new Set(lists.flat())].toSorted().join(', ');
}
