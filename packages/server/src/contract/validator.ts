import { Ajv2020, type FuncKeywordDefinition } from 'ajv/dist/2020.js';
import type { Request, RequestHandler, Response } from 'express';
import * as openApiValidator from 'express-openapi-validator';
import { BasePath } from 'express-openapi-validator/dist/framework/base.path.js';
import { OpenAPIFramework } from 'express-openapi-validator/dist/framework/index.js';
import type {
  OpenAPIFrameworkArgs,
  OpenAPIFrameworkVisitor,
  OpenAPIV3,
} from 'express-openapi-validator/dist/framework/types.js';
import { SchemaPreprocessor } from 'express-openapi-validator/dist/middlewares/parsers/schema.preprocessor.js';
import { allOperations, type Operation } from './contract.ts';
import type { OperationId } from './handler.ts';
import { membersKeyword } from './unions.ts';
import { validationDocument } from './validation-document.ts';

/** One value that violates the contract; `path` is in the format of `express-openapi-validator` (`/body/name`). */
export interface Finding {
  readonly path: string;
  readonly keyword: string;
  readonly message: string;
}

/** The parts of a request that the contract describes. */
export interface RequestParts {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Record<string, unknown>;
  readonly headers: Record<string, unknown>;
  readonly body: unknown;
}

export interface ContractValidator {
  /** Validates a request. If it is valid, defaults are filled in and query values are converted to their types. */
  request(operation: Operation, parts: RequestParts): Promise<{ findings: Finding[]; query: Record<string, unknown> }>;
  /** Validates a response: its status must be declared, and its body must match the schema. */
  response(operation: Operation, status: number, contentType: string, body: unknown): Promise<Finding[]>;
}

let ofProcess: Promise<ContractValidator> | undefined;

/**
 * Returns the validator that all services of this process share. Creating it takes seconds, as do the first requests of
 * each operation, which compile its schemas; nothing in it is specific to one service.
 */
export function contractValidator(): Promise<ContractValidator> {
  ofProcess ??= createContractValidator();
  return ofProcess;
}

/**
 * Creates a validator of plain values from `express-openapi-validator`, without its router: `metadataMiddleware` compiles
 * the pattern of every candidate path for every request, which is most of its cost. So it looks up each operation once,
 * at start, and its result is reused. This depends on the names of its middlewares; the version is pinned, and a test
 * fails if they are missing.
 */
export async function createContractValidator(): Promise<ContractValidator> {
  const { document, schemas } = validationDocument();
  preparesSchemas(membersKeyword(schemas));
  readsWithoutCompiling();
  skipsDocumentValidation();
  const middlewares = openApiValidator.middleware({
    apiSpec: document as OpenAPIV3.DocumentV3_1,
    // The contract is linted before it is bundled.
    validateApiSpec: false,
    // Our own steps check tokens, tenants and roles.
    validateSecurity: false,
    fileUploader: false,
    validateRequests: { allErrors: true },
    validateResponses: { allErrors: true },
    ajvFormats: { mode: 'full' },
    // Patterns, which are stricter, validate both formats. Testing a UUID twice was a quarter of the cost of validating a
    // row.
    formats: {
      decimal: { type: 'string', validate: () => true },
      uuid: { type: 'string', validate: () => true },
    },
  }) as RequestHandler[];
  const step = (name: string): RequestHandler => {
    const found = middlewares.find((middleware) => middleware.name === name);
    if (found === undefined)
      throw new Error(`express-openapi-validator no longer has ${name}; see contract/validator.ts.`);
    return found;
  };
  const lookUp = step('metadataMiddleware');
  const validateRequest = step('requestMiddleware');
  const validateResponse = step('responseMiddleware');

  const metadata = new Map<OperationId, object>();
  for (const operation of allOperations) {
    const path = operation.path.replaceAll(/\{[^}]+\}/g, 'x');
    const request = pretend({
      method: operation.method,
      path,
      baseUrl: '',
      originalUrl: path,
      app: { enabled: () => true },
    });
    await run(lookUp, request, pretendResponse());
    metadata.set(operation.id, request.openapi as object);
  }

  return {
    async request(operation, { path, query, headers, body }) {
      const bracketed = Object.keys(query).filter((name) => name.includes('['));
      if (bracketed.length > 0) return { findings: bracketed.map(unknownParameter), query };
      const request = pretend({
        method: operation.method,
        path: operation.path,
        originalUrl: operation.path,
        openapi: { ...metadata.get(operation.id), pathParams: path },
        params: path,
        query,
        // Its cache of compiled validators grows by one entry for every new value of this header.
        headers: { ...headers, 'content-type': body === undefined ? undefined : 'application/json' },
        body,
      });
      const error = await run(validateRequest, request, pretendResponse());
      const checked = request.query as Record<string, unknown>;
      return { findings: [...findingsOf(error), ...infinite(checked)], query: checked };
    },

    async response(operation, status, contentType, body) {
      const request = pretend({
        method: operation.method,
        originalUrl: operation.path,
        openapi: metadata.get(operation.id),
        headers: {},
      });
      const response = pretendResponse(status, contentType);
      let error: unknown;
      await run(validateResponse, request, response, (found) => {
        error = found;
      });
      response.json(body);
      return findingsOf(error);
    },
  };
}

/**
 * Prepares the Ajv instances of the validator. With the schema of every request and response, the validator passes the
 * whole document to Ajv so that references can be resolved, and Ajv searches all of it for `$id`s, of which there are
 * none: 15 ms, about ten times for the first request of an operation. Non-enumerable properties are not searched, but
 * references to them are still resolved. The validator also accepts no custom keywords, so they are added to each Ajv
 * that is about to compile a schema.
 */
function preparesSchemas(keyword: FuncKeywordDefinition): void {
  const inherited = Object.getPrototypeOf(Ajv2020.prototype) as Ajv2020;
  Ajv2020.prototype.addSchema = function prepared(this: Ajv2020, schema, ...others) {
    this.opts.code.process = stopsAtManyErrors;
    for (const name of ['paths', 'components'])
      if (typeof schema === 'object' && Object.hasOwn(schema, name)) {
        Object.defineProperty(schema, name, { enumerable: false });
        if (this.getKeyword(String(keyword.keyword)) === false) this.addKeyword(keyword);
      }
    return inherited.addSchema.call(this, schema, ...others);
  };
}

/** A problem document contains at most a hundred errors. */
const mostErrors = 1_000;

/**
 * Ajv stops at the first error or collects all of them, and copies the errors found so far with each invalid item: a body
 * of a megabyte with an error in each of its 130,000 items took a minute. So the loops over items and properties in the
 * generated functions return early. This can only reject more: at worst a value that differs from one alternative of a
 * schema in a thousand places, and would match the next one.
 */
function stopsAtManyErrors(code: string): string {
  const name = /return function (\w+)\(/.exec(code)?.[1];
  if (name === undefined || !code.includes('let errors = 0;')) return code;
  const loop = /for\((?:let \w+=0; \w+<\w+; \w+\+\+|const \w+ in \w+)\)\{/g;
  return code.replaceAll(loop, (start) => `${start}if(errors>=${mostErrors}){${name}.errors=vErrors;return false;}`);
}

/**
 * While it prepares the document, the validator resolves each reference with Ajv, which compiles the schema: half of the
 * start time. References are resolved in the document instead.
 */
function readsWithoutCompiling(): void {
  const prototype: object = SchemaPreprocessor.prototype;
  if (!Object.hasOwn(prototype, 'resolveSchema'))
    throw new Error('express-openapi-validator no longer has resolveSchema; see contract/validator.ts.');
  Object.assign(prototype, {
    resolveSchema(this: { readonly apiDoc: object }, schema: { readonly $ref?: string } | undefined) {
      return schema?.$ref === undefined ? (schema ?? null) : valueAt(this.apiDoc, schema.$ref);
    },
  });
}

/**
 * At start, the validator searches the whole document for references to other files, three times, and compiles the schema
 * of OpenAPI: a quarter of the start time. The bundle has no such references, and is linted before it is bundled.
 */
function skipsDocumentValidation(): void {
  const prototype: object = OpenAPIFramework.prototype;
  if (!Object.hasOwn(prototype, 'initialize'))
    throw new Error('express-openapi-validator no longer has initialize; see contract/validator.ts.');
  Object.assign(prototype, {
    async initialize(this: { args: OpenAPIFrameworkArgs }, { visitApi }: OpenAPIFrameworkVisitor) {
      const apiDoc = this.args.apiDoc as OpenAPIV3.DocumentV3_1;
      const basePaths = apiDoc.servers?.flatMap((server) => new BasePath(server).all()) ?? [''];
      visitApi?.({ basePaths, getApiDoc: () => apiDoc });
      return { apiDoc, basePaths };
    },
  });
}

function valueAt(document: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1);
  return names.reduce((node: unknown, name) => (node as Record<string, unknown> | undefined)?.[name], document);
}

/** No parameter of ours has brackets, but the validator interprets them as nested values and silently drops some. */
function unknownParameter(name: string): Finding {
  return { path: `/query/${name}`, keyword: '', message: 'Unknown query parameter.' };
}

/** `1e999` is parsed as Infinity, which neither its type nor its range rejects. */
function infinite(query: Readonly<Record<string, unknown>>): Finding[] {
  return Object.entries(query)
    .filter(([, value]) => typeof value === 'number' && !Number.isFinite(value))
    .map(([name]) => ({ path: `/query/${name}`, keyword: 'maximum', message: 'The value is too large.' }));
}

function pretend(request: Record<string, unknown>): Request & Record<string, unknown> {
  return request as unknown as Request & Record<string, unknown>;
}

function pretendResponse(statusCode = 200, contentType?: string): Response {
  const response = {
    statusCode,
    headersSent: false,
    getHeaders: () => ({ 'content-type': contentType }),
    json: () => response,
  };
  return response as unknown as Response;
}

/** Runs a middleware until it calls `next`; `later` receives later calls. */
function run(middleware: RequestHandler, request: Request, response: Response, later?: (error: unknown) => void) {
  return new Promise<unknown>((resolve) => {
    let first = true;
    middleware(request, response, (error?: unknown) => {
      if (first) resolve(error);
      else later?.(error);
      first = false;
    });
  });
}

function findingsOf(error: unknown): Finding[] {
  if (error === undefined) return [];
  if (typeof error !== 'object' || error === null || !('status' in error) || !('message' in error)) throw error;
  const errors = 'errors' in error && Array.isArray(error.errors) ? error.errors : [];
  if (errors.length === 0)
    return [{ path: 'path' in error ? String(error.path) : '', keyword: '', message: String(error.message) }];
  return errors.map((one: { path?: string; message?: string; errorCode?: string }) => ({
    path: one.path ?? '',
    keyword:
      one.errorCode
        ?.replace(/\.openapi\.(requestValidation|responseValidation)?$/, '')
        .replace('.openapi.validation', '')
        // The validator's own replacement of `type`, if a format is involved.
        .replace(/^x-eov-/, '') ?? '',
    message: one.message ?? '',
  }));
}
