import { allOperations } from '@financial-automation/server/contract/contract';
import type { Service } from '@financial-automation/server/entity/service';
import express, { type Express } from 'express';
import { failureOf, handle, openCall, pattern, signInTo } from './shared.ts';

/** Express with a route for each operation, and only the checks that handlers cannot do without. */
export function bareExpress(service: Service): Express {
  const app = express();
  app.use(express.json({ limit: '1mb' }));
  for (const operation of allOperations) {
    const method = operation.method.toLowerCase() as Lowercase<typeof operation.method>;
    app[method](pattern(operation), async (request, response) => {
      try {
        const context = await signInTo(
          openCall(service, operation, request.get('tenant')),
          request.get('authorization'),
        );
        const result = await handle(context, { path: request.params, query: request.query, body: request.body });
        response
          .status(result.status)
          .set(result.headers ?? {})
          .json(result.body);
      } catch (error) {
        const failure = failureOf(error, service);
        response.status(failure.status).json(failure.body);
      }
    });
  }
  return app;
}
