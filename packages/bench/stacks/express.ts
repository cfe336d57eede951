import { allOperations, type Context } from '@financial-automation/server/bench';
import type { Service } from '@financial-automation/server/service';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { failureOf, handle, type OpenCall, openCall, pattern, signInTo } from './shared.ts';

/** Express with a route for each operation, and only the checks that handlers cannot do without. */
export function bareExpress(service: Service): Express {
  const app = express();
  app.use(express.json({ limit: '1mb' }));
  addRoutes(app, service, (call, request) => signInTo(call, request.get('authorization')));
  return app;
}

/** Adds a route for each operation, and the handling of errors. */
export function addRoutes(
  app: Express,
  service: Service,
  contextOf: (call: OpenCall, request: Request) => Promise<Context>,
): void {
  for (const operation of allOperations) {
    const method = operation.method.toLowerCase() as Lowercase<typeof operation.method>;
    app[method](pattern(operation), async (request, response) => {
      const context = await contextOf(openCall(service, operation, request.get('tenant')), request);
      const result = await handle(context, { path: request.params, query: request.query, body: request.body });
      response
        .status(result.status)
        .set(result.headers ?? {})
        .json(result.body);
    });
  }
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    const failure = failureOf(error, service);
    response.status(failure.status).json(failure.body);
  });
}
