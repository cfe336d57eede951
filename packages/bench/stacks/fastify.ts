import type { RequestListener } from 'node:http';
import {
  allOperations,
  authorize,
  type Context,
  contract,
  declarationsOf,
  parametersOf,
} from '@financial-automation/server/bench';
import type { Service } from '@financial-automation/server/service';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { fastify } from 'fastify';
import { failureOf, handle, openCall, pattern, signInTo } from './shared.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The context of the authenticated caller. */
    caller: Context | null;
  }
}

/**
 * Fastify as its users write it: a schema for each part of each route, compiled once per route, and hooks for earlier checks.
 * Responses are validated by the same compiler and then serialized by `JSON.stringify`, as in this server: a serializer
 * compiled from the schema would send a body that violates it.
 */
export async function fastifyWithSchemas(service: Service): Promise<RequestListener> {
  const app = fastify({ bodyLimit: 1_048_576 });
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    coerceTypes: false,
    useDefaults: true,
    validateFormats: true,
  });
  const coercing = new Ajv2020({ strict: false, allErrors: true, coerceTypes: true, useDefaults: true });
  for (const one of [ajv, coercing]) {
    addFormats.default(one);
    one.addFormat('decimal', true);
    one.addFormat('uuid', true);
    for (const [name, schema] of Object.entries(contract.components.schemas))
      one.addSchema(schema, `#/components/schemas/${name}`);
  }
  app.setValidatorCompiler(({ schema, httpPart }) => (httpPart === 'body' ? ajv : coercing).compile(schema as object));
  app.setSerializerCompiler(() => JSON.stringify);
  app.decorateRequest('caller', null);

  for (const operation of allOperations) {
    const declared = declarationsOf(operation);
    const { responses = {} } = declared[1] ?? {};
    const success = Object.keys(responses).find((status) => status.startsWith('2')) ?? '200';
    const responseSchema = responses[success]?.content?.['application/json']?.schema ?? {};
    let validateResponse: ReturnType<typeof ajv.compile> | undefined;
    app.route<{ Params: object; Querystring: object; Body: unknown }>({
      method: operation.method,
      url: pattern(operation),
      schema: schemasOf(declared),
      onRequest: async (request) => {
        const open = openCall(service, operation, header(request.headers.tenant));
        const context = await signInTo(open, request.headers.authorization);
        await service.admission.rateLimit.take(operation, `${context.tenant.id}/${context.caller.apiUserId}`);
        authorize(operation, context.caller.roles);
        request.caller = context;
      },
      handler: async (request, reply) => {
        const context = request.caller;
        if (context === null) throw new Error('The caller is not authenticated.');
        const result = await handle(context, { path: request.params, query: request.query, body: request.body });
        validateResponse ??= ajv.compile({ components: contract.components, ...responseSchema });
        if (!validateResponse(result.body)) throw new Error('The response violates the contract.');
        return reply
          .code(result.status)
          .headers({ ...result.headers, 'X-Request-Id': context.requestId })
          .send(result.body);
      },
    });
  }
  app.setErrorHandler((error, _request, reply) => {
    const failure = failureOf(error, service);
    return reply.code(failure.status).send(failure.body);
  });
  await app.ready();
  return (request, response) => app.server.emit('request', request, response);
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** The parts of a route that Fastify validates. Header names are lowercase, as Node reads them. */
function schemasOf(declared: ReturnType<typeof declarationsOf>): Record<string, object> {
  const { query, params, headers } = parametersOf(declared).schema.properties;
  const body = declared[1]?.requestBody?.content['application/json']?.schema;
  const closed = { additionalProperties: false };
  return {
    params: { ...params, ...closed },
    querystring: { ...query, ...closed },
    headers,
    ...(body !== undefined && { body }),
  };
}
