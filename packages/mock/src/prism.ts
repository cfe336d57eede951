/** Prism, configured with the contract, for one response at a time. */

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
import { chosenResponse, type Preference, preferenceOf, UnknownPreference } from './preferences.ts';
import { type MockResponse, ownProblem, withViolations } from './problems.ts';
import { requestValidation } from './validation.ts';

export interface MockRequest {
  method: string;
  url: URL;
  /** By their names in lower case. */
  headers: Record<string, string>;
  /** The value of JSON, the text of any other media type, or a `MalformedBody`. */
  body: unknown;
  /** In bytes. */
  bodyLength: number;
  acceptsJson: boolean;
}

export type Mock = (request: MockRequest) => Promise<MockResponse>;

/**
 * How Prism finds an operation. Its index does not export it, so the version is pinned. It is the default export of a
 * CommonJS module, which Node and bundlers import differently; `require` always returns the same.
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
  // The examples are validated when the contract is linted.
  validateResponse: false,
  errors: false,
  upstreamProxy: undefined,
  mock: { dynamic: false },
} as const satisfies IHttpConfig;

/** Creates a mock of the contract. It has no state. */
export async function createMock(contract: Contract, operations: Operation[]): Promise<Mock> {
  const resources = await getHttpOperationsFromSpec(withoutBodySchemas(contract));
  const byId = new Map(operations.map((operation) => [String(operation.id), operation]));
  const prism = createInstance(config, {
    // The mock has its own log; this one contains every step of Prism.
    logger: createLogger('prism', { level: 'silent' }),
    validateInput: requestValidation(contract, operations),
  });

  return async (request) => {
    const method = methods.find((name) => name === request.method.toLowerCase());
    const path = request.url.pathname;
    // Prism fails on these.
    if (!isDecodable(path)) return ownProblem({ kind: 'encoding', path });
    const resource = method && resourceAt(resources, method, path);
    if (resource === undefined) {
      const allowed = methods.filter((name) => resourceAt(resources, name, path) !== undefined);
      return ownProblem(allowed.length === 0 ? { kind: 'path', path } : { kind: 'method', path, allowed });
    }
    const operation = byId.get(resource.iid ?? '');
    if (operation === undefined)
      throw new Error(`The index does not have ${resource.method} ${resource.path}, which Prism found.`);

    let chosen: Preference;
    try {
      chosen = chosenResponse(operation, preferenceOf(request.headers.prefer));
    } catch (error) {
      if (error instanceof UnknownPreference) return ownProblem({ kind: 'preference', detail: error.message });
      throw error;
    }
    const rejected = rejection(operation, request);
    const { code, example } = { ...chosen, ...rejected };
    const response = await prism.request(prismRequest(request, resource.method), [resource], {
      ...config,
      validateRequest: rejected.code === undefined,
      mock: {
        ...config.mock,
        ...(code !== undefined && { code }),
        ...(example !== undefined && { exampleKey: example }),
      },
    })();
    if (response._tag === 'Left') throw response.left;
    const { output, validations } = response.right;
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

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Why a request is rejected before its validation. Prism has no limits of bodies, and its 406 is not that of the
 * contract's.
 */
function rejection({ id }: Operation, { acceptsJson, bodyLength }: MockRequest): Preference {
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
  // Clients that accept only `application/json` get problem documents, too; Prism would return the success instead.
  const { accept: _accept, ...others } = headers;
  return {
    method: methods.find((name) => name === method) ?? 'get',
    url: { path: url.pathname, query },
    headers: {
      ...others,
      // Prism relies on this header, even if the body is chunked, and treats a body without a media type as JSON.
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

function headersOf(values: Record<string, unknown> = {}): Record<string, string> {
  // These have an example, like every header, but a mock without state never replays a response, and stores nothing anyway.
  const others = ['Idempotency-Replayed', 'Dry-Run'];
  const headers = Object.entries(values).filter(([name, value]) => value !== null && !others.includes(name));
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function sentence({ path = [], message }: IPrismDiagnostic): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`;
}

/** Prism does not need the schemas of bodies here; without them, it starts in a third of the time. */
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
