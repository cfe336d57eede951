/** Prism, told what it needs to know of the contract, and asked for one answer at a time. */

import { createRequire } from 'node:module';
import { operations as index } from '@financial-automation/spec';
import { createLogger, type IPrismDiagnostic } from '@stoplight/prism-core';
import {
  createInstance,
  getHttpOperationsFromSpec,
  type IHttpConfig,
  type IHttpRequest,
  type PrismHttpComponents,
} from '@stoplight/prism-http';
import type { Contract, Operation } from './contract.ts';
import { chosenAnswer, type Preference, preferenceOf, UnknownPreference } from './preferences.ts';
import { type MockAnswer, ownProblem, withViolations } from './problems.ts';
import { requestValidation } from './validation.ts';

export interface MockRequest {
  method: string;
  url: URL;
  /** By their names in lower case. */
  headers: Record<string, string>;
  /** What the JSON means, the text of anything else, or a `MalformedBody`. */
  body: unknown;
  /** In bytes. */
  bodyLength: number;
  acceptsJson: boolean;
}

export type Mock = (request: MockRequest) => Promise<MockAnswer>;

/**
 * How Prism finds an operation; its index does not export it, so the version is pinned. It is the default export of a
 * CommonJS module, which tools that translate modules give in one form and Node in another; `require` has but one.
 */
const { default: route }: { default: PrismHttpComponents['route'] } = createRequire(import.meta.url)(
  '@stoplight/prism-http/dist/router/index.js',
);

type Resource = Awaited<ReturnType<typeof getHttpOperationsFromSpec>>[number];

const methods = ['get', 'put', 'post', 'delete', 'patch'] as const;
const config = {
  isProxy: false,
  checkSecurity: true,
  validateRequest: true,
  // The examples are checked where the contract is linted.
  validateResponse: false,
  errors: false,
  upstreamProxy: undefined,
  mock: { dynamic: false },
} as const satisfies IHttpConfig;

/** Makes a mock of the contract. It keeps nothing between requests. */
export async function createMock(contract: Contract, operations: Operation[]): Promise<Mock> {
  const resources = await getHttpOperationsFromSpec(withoutBodySchemas(contract));
  const byId = new Map(operations.map((operation) => [String(operation.id), operation]));
  const prism = createInstance(config, {
    // We keep a log of our own; this one tells Prism's every step.
    logger: createLogger('prism', { level: 'silent' }),
    validateInput: requestValidation(contract, operations),
  });

  return async (request) => {
    const method = methods.find((name) => name === request.method.toLowerCase());
    const path = request.url.pathname;
    const resource = method && resourceAt(resources, method, path);
    if (resource === undefined) {
      const allowed = methods.filter((name) => resourceAt(resources, name, path) !== undefined);
      return ownProblem(allowed.length === 0 ? { kind: 'path', path } : { kind: 'method', path, allowed });
    }
    const operation = byId.get(resource.iid ?? '');
    if (operation === undefined)
      throw new Error(`Prism knows ${resource.method} ${resource.path}, and the index does not.`);

    let chosen: Preference;
    try {
      chosen = chosenAnswer(operation, preferenceOf(request.headers.prefer));
    } catch (error) {
      if (error instanceof UnknownPreference) return ownProblem({ kind: 'preference', detail: error.message });
      throw error;
    }
    const refused = refusal(operation, request);
    const { code, example } = { ...chosen, ...refused };
    const answer = await prism.request(prismRequest(request, resource.method), [resource], {
      ...config,
      validateRequest: refused.code === undefined,
      mock: {
        ...config.mock,
        ...(code !== undefined && { code }),
        ...(example !== undefined && { exampleKey: example }),
      },
    })();
    if (answer._tag === 'Left') throw answer.left;
    const { output, validations } = answer.right;
    return {
      status: output.statusCode,
      headers: headersOf(output.headers),
      body:
        output.statusCode === 400 && chosen.code !== 400
          ? withViolations(output.body, validations.input, operation)
          : output.body,
      violations: validations.input.map(sentence),
      operation: operation.id,
    };
  };
}

/**
 * What a request is refused for before anybody looks into it. Prism knows no limits of bodies, and its 406 is none of the
 * contract's.
 */
function refusal({ id }: Operation, { acceptsJson, bodyLength }: MockRequest): Preference {
  if (!acceptsJson) return { code: 406 };
  const limit = index[id].bodyLimit;
  return limit !== null && bodyLength > limit ? { code: 413 } : {};
}

function prismRequest({ url, headers, body, bodyLength }: MockRequest, method: string): IHttpRequest {
  const query: Record<string, string | string[]> = {};
  for (const name of new Set(url.searchParams.keys())) {
    const values = url.searchParams.getAll(name);
    query[name] = values.length === 1 ? String(values[0]) : values;
  }
  // Whoever accepts `application/json` alone gets problem documents, too; from Prism he would get the success instead.
  const { accept: _accept, ...others } = headers;
  return {
    method: methods.find((name) => name === method) ?? 'get',
    url: { path: url.pathname, query },
    headers: {
      ...others,
      // Prism believes this header, also where the body came in chunks, and takes a body of no type for JSON.
      'content-length': String(bodyLength),
      ...(bodyLength > 0 && { 'content-type': headers['content-type'] ?? 'application/octet-stream' }),
    },
    body: bodyLength > 0 ? body : undefined,
  };
}

function resourceAt(resources: Resource[], method: (typeof methods)[number], path: string): Resource | undefined {
  const found = route({ resources, input: { method, url: { path } } });
  return found._tag === 'Right' ? found.right : undefined;
}

function headersOf(given: Record<string, unknown> = {}): Record<string, string> {
  const headers = Object.entries(given).filter(([name, value]) => value !== null && name !== 'Idempotency-Replayed');
  // `Idempotency-Replayed` has an example as every header has; but a mock that remembers nothing never replays.
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function sentence({ path = [], message }: IPrismDiagnostic): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`;
}

/** Without the schemas of bodies, of which Prism makes no use here, it starts in a third of the time. */
function withoutBodySchemas(contract: Contract): object {
  const { openapi, info, security, paths, components } = structuredClone(contract);
  forEachMediaType({ paths, responses: components.responses }, (media) => delete media.schema);
  const { schemas, parameters, headers, responses, examples, securitySchemes } = components;
  return {
    openapi,
    info,
    security,
    paths,
    components: { schemas, parameters, headers, responses, examples, securitySchemes },
  };
}

function forEachMediaType(node: unknown, visit: (media: { schema?: unknown }) => void): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    if (key === 'content') for (const media of Object.values(value as object)) visit(media);
    else forEachMediaType(value, visit);
  }
}
