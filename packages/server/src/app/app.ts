import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express, { type Request, type Response } from 'express';
import type { Logger } from 'pino';
import { checkRoles } from '../contract/roles.ts';
import type { Service } from '../entity/service.ts';
import { paymentRoutes } from '../modules/billing/index.ts';
import { contentRoute, uploadRoute } from '../modules/files/index.ts';
import { isDebugToken } from '../platform/auth/debug-token.ts';
import { databaseClock } from '../platform/database-clock.ts';
import { networkOf } from '../platform/network.ts';
import { processName } from '../platform/process/recent-requests.ts';
import { callerAddress } from '../wire/caller-address.ts';
import { CrossOrigin } from '../wire/cross-origin.ts';
import { acceptedEncoding } from '../wire/encoding.ts';
import { Exchange } from '../wire/exchange.ts';
import { checkSentOnce } from '../wire/headers.ts';
import { extendMessages } from '../wire/messages.ts';
import { problemResult, type RouteResult, send } from '../wire/result.ts';
import type { Route } from '../wire/route.ts';
import { createRouter, type FindRoute } from '../wire/router.ts';
import { consoleRoutes } from './console/routes.ts';
import { progressOf, toRejection } from './failure.ts';
import { operationRoutes } from './operation-routes.ts';
import { documentRoutes, healthRoutes, metricsRoute } from './system-routes.ts';

/**
 * The service over HTTP.
 *
 * @throws Error at start if an operation of the contract names no role.
 */
export function createApp(service: Service): RequestListener {
  checkRoles();
  return serve(service, createRouter(routesOf(service), 'This path does not exist. See /reference.'));
}

/** Everything that the service serves to callers. */
export function routesOf(service: Service): readonly Route[] {
  return [
    ...healthRoutes(service),
    ...(service.config.metricsPort === undefined ? [metricsRoute(service)] : []),
    ...documentRoutes(service),
    ...paymentRoutes(service),
    ...consoleRoutes(service),
    contentRoute(service),
    uploadRoute(service),
    ...operationRoutes(service),
  ];
}

/** Metrics and health, for a separate port that callers cannot reach. */
export function createProbes(service: Service): RequestListener {
  const routes = [...healthRoutes(service), metricsRoute(service)];
  return serve(service, createRouter(routes, 'Only /metrics, /healthz and /readyz are served here.'));
}

function serve(service: Service, findRoute: FindRoute): RequestListener {
  const pipeline = new Pipeline(service, findRoute);
  const app = express();
  app.disable('x-powered-by');
  extendMessages(app);
  // Express would wait for a promise that it receives, and handle its rejection: this one has none.
  app.use((request, response) => void pipeline.handle(request, response));
  return (request, response) =>
    // Express has no route for a target that is not a path.
    app(request as Request, response as Response, () => void pipeline.handle(request, response));
}

/**
 * The steps of a request, in order. Only this class handles requests and responses: routes work on values, return one of
 * three kinds of result, and throw to reject the request.
 */
class Pipeline {
  readonly #service: Service;
  readonly #findRoute: FindRoute;
  readonly #crossOrigin: CrossOrigin;
  readonly #accessLog: Logger;
  readonly #addressOf: (request: IncomingMessage) => string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(service: Service, findRoute: FindRoute) {
    this.#service = service;
    this.#findRoute = findRoute;
    this.#crossOrigin = new CrossOrigin(service.config.corsOrigins);
    // Its fields are known and secret in no case; looking for secrets in them would take most of the time of a line.
    this.#accessLog = service.log.child({}, { redact: [] });
    this.#addressOf = callerAddress(service.config.trustProxy);
    // For a year, browsers open this host by HTTPS alone. Of other hosts below it, the service knows nothing.
    this.#headers = service.config.publicUrl.startsWith('https:')
      ? { 'Strict-Transport-Security': 'max-age=31536000' }
      : {};
  }

  /** Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { log, vault } = this.#service;
      const isDebug = (token: string) => isDebugToken(vault, token, databaseClock.now());
      const exchange = new Exchange(log, request, response, this.#addressOf(request), isDebug);
      Object.assign(exchange.headers, this.#headers);
      const written = await this.#respond(exchange, response);
      // Only the bytes wait for a slow caller: all else that the response was made of is free.
      this.#record(exchange, written, await this.#isSent(exchange, response));
    } catch (error) {
      this.#service.log.error({ err: error }, 'Request not served.');
      response.destroy();
    }
  }

  /** Serves a request until its response is written. */
  async #respond(exchange: Exchange, response: ServerResponse): Promise<Written> {
    const started = performance.now();
    const { route, result } = await this.#resultOf(exchange);
    try {
      // Content is read while it is sent, and a problem is small: neither needs a slot until then.
      if (result.kind === 'bytes' || result.status >= 400) exchange.leavePlaces();
      const status = await this.#send(response, exchange, route, result);
      const code = result.kind === 'json' && status >= 400 ? codeIn(result.body) : undefined;
      const written = { route, status, code, milliseconds: performance.now() - started };
      this.#remember(exchange, written, result);
      return written;
    } finally {
      exchange.leavePlaces();
    }
  }

  /** Finds the route and its result. Whatever fails becomes a problem. */
  async #resultOf(exchange: Exchange): Promise<{ readonly route: Route | undefined; readonly result: RouteResult }> {
    let route: Route | undefined;
    let result: RouteResult;
    const rejected = (error: unknown): RouteResult => {
      const problem = toRejection(error, exchange.log, progressOf(exchange));
      return route?.rejected?.(problem, exchange) ?? problemResult(problem, exchange.id);
    };
    try {
      checkSentOnce(exchange.rawHeaders);
      const preflight = this.#crossOrigin.preflight(exchange);
      if (preflight !== undefined) return { route, result: preflight };
      const found = this.#findRoute(exchange.method, exchange.path);
      route = found.route;
      Object.assign(exchange.headers, route.headers);
      result = await route.handle(exchange, found.parameters);
    } catch (error) {
      result = rejected(error);
    }
    try {
      return { route, result: route?.checked?.(result, exchange) ?? result };
    } catch (error) {
      return { route, result: rejected(error) };
    }
  }

  /** Writes a response. @returns its status */
  async #send(
    response: ServerResponse,
    exchange: Exchange,
    route: Route | undefined,
    result: RouteResult,
  ): Promise<number> {
    const { headers } = exchange;
    try {
      const isCompressed = this.#service.config.compressResponses && result.kind === 'json';
      const varying = isCompressed ? { ...result, headers: { ...result.headers, Vary: 'Accept-Encoding' } } : result;
      const encoding = isCompressed ? acceptedEncoding(exchange) : undefined;
      if (result.kind === 'bytes') this.#service.unsent.watch(response);
      await send(response, this.#crossOrigin.readable(varying, exchange, route), headers, encoding);
      return result.status;
    } catch (error) {
      if (!response.headersSent) {
        const problem = problemResult(toRejection(error, exchange.log, progressOf(exchange)), exchange.id);
        await send(response, this.#crossOrigin.readable(problem, exchange, route), headers);
        return problem.status;
      }
      // A partial response must not look complete.
      response.destroy();
      if (!isDisconnect(error)) exchange.log.error({ err: error }, 'Reading content failed before its end.');
      return result.status;
    }
  }

  /** Waits until a response is sent. @returns whether it is complete */
  async #isSent(exchange: Exchange, response: ServerResponse): Promise<boolean> {
    try {
      await this.#service.unsent.sent(response, exchange.tenant ?? networkOf(exchange.address));
      return true;
    } catch (error) {
      if (!isDisconnect(error)) exchange.log.error({ err: error }, 'Response not sent.');
      return false;
    }
  }

  /** Adds the entry of the console. */
  #remember(exchange: Exchange, { route, milliseconds }: Written, result: RouteResult): void {
    const { id, tenant, method, path = '', user = '' } = exchange;
    if (route?.isRecorded !== true || tenant === undefined) return;
    const { status } = result;
    this.#service.recentRequests.record(tenant, status, () => ({
      id,
      receivedAt: databaseClock.date().toISOString(),
      operation: route.name,
      method,
      path,
      user,
      milliseconds: Math.round(milliseconds * 10) / 10,
      body: result.kind === 'json' ? result.body : undefined,
    }));
  }

  /** Writes the metric and the line of the access log. */
  #record(exchange: Exchange, { route, status, code, milliseconds }: Written, isComplete: boolean): void {
    const { tenant, user, method, address } = exchange;
    this.#service.metrics.responded(route?.name ?? 'none', status, milliseconds / 1e3);
    const level = route?.isProbe === true ? 'debug' : 'info';
    if (!this.#accessLog.isLevelEnabled(level)) return;
    this.#accessLog[level]({
      ...exchange.logFields,
      operation: route?.name,
      tenant,
      user,
      address,
      method,
      route: route?.path,
      status,
      code,
      milliseconds: Math.round(milliseconds * 100) / 100,
      ...(isComplete ? {} : { isIncomplete: true }),
      process: processName,
    });
  }
}

/** A response that was written: with the status that the caller receives, and the time that it took. */
interface Written {
  readonly route: Route | undefined;
  readonly status: number;
  /** Of the problem, if it is one. */
  readonly code: string | undefined;
  readonly milliseconds: number;
}

function codeIn(body: unknown): string | undefined {
  return typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : undefined;
}

function isDisconnect(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
