import { readFileSync } from 'node:fs';
import { allOperations, bundleFiles, type Operation } from '@financial-automation/server/contract/contract';
import { authorize } from '@financial-automation/server/contract/roles';
import type { Context } from '@financial-automation/server/entity/context';
import type { Service } from '@financial-automation/server/entity/service';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import * as openApiValidator from 'express-openapi-validator';
import { failureOf, handle, openCall, pattern, signInTo } from './shared.ts';

/** Express and the validator, combined as the validator's documentation shows. */
export function documentedValidator(service: Service): Express {
  const app = express();
  app.use(express.json({ limit: '1mb' }));
  app.use(
    openApiValidator.middleware({
      apiSpec: JSON.parse(readFileSync(bundleFiles.json, 'utf8')),
      validateRequests: true,
      validateResponses: true,
      validateFormats: true,
      formats: { decimal: { type: 'string', validate: () => true } },
      validateSecurity: {
        handlers: {
          bearerAuth: async (request: Request) => {
            const operation = operationOf(request);
            const context = await signInTo(
              openCall(service, operation, request.get('tenant')),
              request.get('authorization'),
            );
            await service.admission.rateLimit.take(operation, `${context.tenant.id}/${context.caller.apiUserId}`);
            authorize(operation, context.caller.roles);
            if (request.res !== undefined) request.res.locals.context = context;
            return true;
          },
        },
      },
    }),
  );
  for (const operation of allOperations) {
    const method = operation.method.toLowerCase() as Lowercase<typeof operation.method>;
    app[method](pattern(operation), async (request, response) => {
      const context: Context | undefined = response.locals.context;
      if (context === undefined) throw new Error('The caller is not authenticated.');
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
  return app;
}

const byRoute = new Map(allOperations.map((operation) => [`${operation.method} ${operation.path}`, operation]));

function operationOf(request: Request): Operation {
  const route = (request as Request & { openapi?: { openApiRoute: string } }).openapi?.openApiRoute;
  const operation = byRoute.get(`${request.method} ${route}`);
  if (operation === undefined) throw new Error(`The contract has no operation at ${route}.`);
  return operation;
}
