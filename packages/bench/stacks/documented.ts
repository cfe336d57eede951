import { readFileSync } from 'node:fs';
import {
  allOperations,
  authorize,
  bundleFiles,
  type Context,
  type Operation,
} from '@financial-automation/server/bench';
import type { Service } from '@financial-automation/server/service';
import express, { type Express, type Request } from 'express';
import * as openApiValidator from 'express-openapi-validator';
import { addRoutes } from './express.ts';
import { openCall, signInTo } from './shared.ts';

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
  addRoutes(app, service, async (_call, { res }) => {
    const context: Context | undefined = res?.locals.context;
    if (context === undefined) throw new Error('The caller is not authenticated.');
    return context;
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
