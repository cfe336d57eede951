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

/** One value that breaks the contract; `path` is as `express-openapi-validator` writes it (`/body/name`). */
export interface Finding {
  readonly path: string;
  readonly keyword: string;
  readonly message: string;
}

/** The parts of a request that the contract speaks of. */
export interface RequestParts {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Record<string, unknown>;
  readonly headers: Record<string, unknown>;
  readonly body: unknown;
}

export interface ContractValidator {
  /** What is wrong with a request. Where nothing is, defaults are filled in and query values have their types. */
  request(operation: Operation, parts: RequestParts): Promise<{ findings: Finding[]; query: Record<string, unknown> }>;
  /** What is wrong with an answer: an undeclared status, or a body that breaks its schema. */
  answer(operation: Operation, status: number, contentType: string, body: unknown): Promise<Finding[]>;
}

let ofProcess: Promise<ContractValidator> | undefined;

/**
 * The validator that all services of this process share: making it takes seconds, and so do the first requests of each operation,
 * whose schemas it compiles then; nothing in it is of one service alone.
 */
export function contractValidator(): Promise<ContractValidator> {
  ofProcess ??= createContractValidator();
  return ofProcess;
}

/**
 * `express-openapi-validator` over plain values. It is used without its router: `metadataMiddleware` compiles the pattern
 * of every candidate path for every request, which is most of its cost, so each operation is looked up by it once, at
 * start, and what it answered is handed on from then on. This leans on the names of its middlewares; the version is
 * pinned and a test fails where they are gone.
 */
export async function createContractValidator(): Promise<ContractValidator> {
  const { document, schemas } = validationDocument();
  preparesSchemas(membersKeyword(schemas));
  readsWithoutCompiling();
  takesTheDocumentAsItIs();
  const middlewares = openApiValidator.middleware({
    apiSpec: document as OpenAPIV3.DocumentV3_1,
    // The contract is linted before it is bundled.
    validateApiSpec: false,
    // Tokens, tenants and roles are checked by our own steps.
    validateSecurity: false,
    fileUploader: false,
    validateRequests: { allErrors: true },
    validateResponses: { allErrors: true },
    ajvFormats: { mode: 'full' },
    // Both are told by patterns, which are tighter; the names are for readers and generators. Testing a UUID twice was a
    // quarter of the cost of validating a row.
    formats: {
      decimal: { type: 'string', validate: () => true },
      uuid: { type: 'string', validate: () => true },
    },
  }) as RequestHandler[];
  const step = (name: string): RequestHandler => {
    const found = middlewares.find((middleware) => middleware.name === name);
    if (found === undefined)
      throw new Error(`express-openapi-validator has no ${name} any more; see contract/validator.ts.`);
    return found;
  };
  const lookUp = step('metadataMiddleware');
  const validateRequest = step('requestMiddleware');
  const validateAnswer = step('responseMiddleware');

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
        // Its cache of compiled validators grows by one for every new value of this header.
        headers: { ...headers, 'content-type': body === undefined ? undefined : 'application/json' },
        body,
      });
      const error = await run(validateRequest, request, pretendResponse());
      const checked = request.query as Record<string, unknown>;
      return { findings: [...findingsOf(error), ...infinite(checked)], query: checked };
    },

    async answer(operation, status, contentType, body) {
      const request = pretend({
        method: operation.method,
        originalUrl: operation.path,
        openapi: metadata.get(operation.id),
        headers: {},
      });
      const response = pretendResponse(status, contentType);
      let error: unknown;
      await run(validateAnswer, request, response, (found) => {
        error = found;
      });
      response.json(body);
      return findingsOf(error);
    },
  };
}

/**
 * The validator gives Ajv the whole document with the schema of every request and every answer, so that references find what
 * they name, and Ajv reads all of it each time in search of `$id`s, of which there are none: 15 ms, some ten times for an
 * operation's first call. What cannot be listed is not searched, and is found by its name all the same. It takes no keywords of
 * ours, either; an Ajv that is about to compile a schema does.
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

/** More findings than this would help nobody; a problem document has a hundred. */
const mostErrors = 1_000;

/**
 * Ajv stops at the first error or collects all of them, and copies those found so far with each item that has one: a body of a
 * megabyte with an error in each of its 130,000 items took a minute. So the loops over items and properties of the functions
 * that it generates return early. That can only reject: at worst a value that differs from one alternative of a schema in a
 * thousand places, and would match the next one.
 */
function stopsAtManyErrors(code: string): string {
  const name = /return function (\w+)\(/.exec(code)?.[1];
  if (name === undefined || !code.includes('let errors = 0;')) return code;
  const loop = /for\((?:let \w+=0; \w+<\w+; \w+\+\+|const \w+ in \w+)\)\{/g;
  return code.replaceAll(loop, (start) => `${start}if(errors>=${mostErrors}){${name}.errors=vErrors;return false;}`);
}

/**
 * While it prepares the document, the validator asks Ajv what each reference leads to, and Ajv compiles what it finds: half of the
 * time of a start. The document itself knows, too.
 */
function readsWithoutCompiling(): void {
  const prototype: object = SchemaPreprocessor.prototype;
  if (!Object.hasOwn(prototype, 'resolveSchema'))
    throw new Error('express-openapi-validator has no resolveSchema any more; see contract/validator.ts.');
  Object.assign(prototype, {
    resolveSchema(this: { readonly apiDoc: object }, schema: { readonly $ref?: string } | undefined) {
      return schema?.$ref === undefined ? (schema ?? null) : valueAt(this.apiDoc, schema.$ref);
    },
  });
}

/**
 * At the start the validator looks for references to other files in the whole document, three times over, and compiles the schema of
 * OpenAPI: a quarter of the time of a start. Our bundle has no such references, and is linted before it is bundled.
 */
function takesTheDocumentAsItIs(): void {
  const prototype: object = OpenAPIFramework.prototype;
  if (!Object.hasOwn(prototype, 'initialize'))
    throw new Error('express-openapi-validator has no initialize any more; see contract/validator.ts.');
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

/** No parameter of ours has brackets, but the validator takes them for nested values, and drops some unseen. */
function unknownParameter(name: string): Finding {
  return { path: `/query/${name}`, keyword: '', message: 'Unknown query parameter.' };
}

/** Ajv makes a number of `1e999`, and then neither its type nor its range stops what is not finite. */
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

/** Runs a middleware to its `next`; `later` hears what it calls `next` with after that. */
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
        // Its own stand-in for `type`, where a format is involved.
        .replace(/^x-eov-/, '') ?? '',
    message: one.message ?? '',
  }));
}
