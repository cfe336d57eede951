import type { RequestListener } from 'node:http';
import express, { type Request, type Response } from 'express';
import { CrossOrigin } from '../http/cross-origin.ts';
import { acceptedEncoding } from '../http/encoding.ts';
import { Exchange } from '../http/exchange.ts';
import { withPacedBodies } from '../http/paced-body.ts';
import { dataHeaders } from '../http/pages.ts';
import { problemResult, type Result, send } from '../http/result.ts';
import type { Route } from '../http/route.ts';
import { createRouter, type FindRoute } from '../http/router.ts';
import { paymentRoutes } from '../modules/billing/pay/routes.ts';
import { contentRoute } from '../modules/files/content-route.ts';
import { checkRoles } from '../platform/auth/roles.ts';
import type { Service } from '../service/service.ts';
import { consoleRoutes } from './console/routes.ts';
import { toRejection } from './failure.ts';
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
    ...operationRoutes(service),
  ];
}

/** Metrics and health, for a separate port that callers cannot reach. */
export function createProbes(service: Service): RequestListener {
  const routes = [...healthRoutes(service), metricsRoute(service)];
  return serve(service, createRouter(routes, 'Only /metrics, /healthz and /readyz are served here.'));
}

/**
 * The steps of a request, in order. Only this module handles requests and responses: routes work on values, return one of
 * three kinds of result, and throw to reject the request.
 */
function serve(service: Service, findRoute: FindRoute): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.set('trust proxy', service.config.trustProxy);
  app.use(handle);
  const crossOrigin = new CrossOrigin(service.config.corsOrigins);
  return withPacedBodies((request, response) =>
    // Express has no route for a target that is not a path.
    app(request as Request, response as Response, () => void handle(request as Request, response as Response)),
  );

  async function handle(request: Request, response: Response): Promise<void> {
    const started = process.hrtime.bigint();
    const exchange = new Exchange(service, request, response);
    const { route, result } = await respond(exchange);
    if (result.status === 429) await service.rejectionDelay.before(exchange.address);
    const sent = await sendTo(response, exchange, route, result);
    const seconds = Number(process.hrtime.bigint() - started) / 1e9;
    service.metrics.responded(route?.name ?? 'none', sent.status, seconds);
    if (route?.isRecorded === true && exchange.tenant !== undefined)
      record(exchange, exchange.tenant, route, result, seconds);
    service.log[route?.isProbe === true ? 'debug' : 'info']({
      ...exchange.logFields,
      operation: route?.name,
      tenant: exchange.tenant,
      method: exchange.method,
      status: sent.status,
      milliseconds: Math.round(seconds * 1e5) / 100,
      ...(sent.isComplete ? {} : { isIncomplete: true }),
    });
  }

  function record(
    { id, method, path = '', user = '' }: Exchange,
    tenant: string,
    route: Route,
    result: Result,
    seconds: number,
  ) {
    const { status } = result;
    const request = { id, at: new Date().toISOString(), operation: route.name, method, path, user, status };
    const body = result.kind === 'json' ? result.body : undefined;
    service.recentRequests.record(tenant, { ...request, milliseconds: Math.round(seconds * 1e4) / 10 }, body);
  }

  /** Finds the route and its result. Whatever fails becomes a problem. */
  async function respond(exchange: Exchange): Promise<{ readonly route: Route | undefined; readonly result: Result }> {
    let route: Route | undefined;
    let result: Result;
    const rejected = (error: unknown): Result => {
      const problem = toRejection(error, exchange.log);
      return route?.rejected?.(problem, exchange) ?? problemResult(problem, exchange.id);
    };
    try {
      // Places are free for others before the response is sent, which can take long.
      using _places = exchange;
      const preflight = crossOrigin.preflight(exchange);
      if (preflight !== undefined) return { route, result: preflight };
      const found = findRoute(exchange.method, exchange.path);
      route = found.route;
      result = await route.handle(exchange, found.parameters);
    } catch (error) {
      result = rejected(error);
    }
    try {
      return { route, result: (await route?.checked?.(result, exchange)) ?? result };
    } catch (error) {
      return { route, result: rejected(error) };
    }
  }

  /** @returns the status that the caller received, and whether the response is complete. */
  async function sendTo(response: Response, exchange: Exchange, route: Route | undefined, result: Result) {
    const headers = { ...dataHeaders, ...route?.headers, ...exchange.headers };
    try {
      const isCompressed = service.config.compressResponses && result.kind === 'json';
      const varying = isCompressed ? { ...result, headers: { ...result.headers, Vary: 'Accept-Encoding' } } : result;
      const encoding = isCompressed ? acceptedEncoding(exchange) : undefined;
      await send(response, crossOrigin.readable(varying, exchange, route), headers, encoding);
      return { status: result.status, isComplete: true };
    } catch (error) {
      if (!response.headersSent) {
        const problem = problemResult(toRejection(error, exchange.log), exchange.id);
        await send(response, crossOrigin.readable(problem, exchange, route), headers);
        return { status: problem.status, isComplete: true };
      }
      // A partial response must not look complete.
      response.destroy();
      if (!isDisconnect(error)) exchange.log.error({ err: error }, 'The content could not be read to its end.');
      return { status: result.status, isComplete: false };
    }
  }
}

function isDisconnect(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
