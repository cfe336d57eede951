/** Prism, configured with the contract, for one response at a time. */

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
import { bodyValidation, type Resource } from './validation.ts';

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

type Method = (typeof methods)[number];

const methods = ['get', 'put', 'post', 'delete', 'patch'] as const;
// The mock has its own log; this one contains every step of Prism.
const logger = createLogger('prism', { level: 'silent' });
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
  const violationsOf = bodyValidation(contract, operations);

  return async (request) => {
    const method = methods.find((name) => name === request.method.toLowerCase());
    const path = request.url.pathname;
    // Prism fails on these.
    if (!isDecodable(path)) return ownProblem({ kind: 'encoding', path });
    const found = method && (await find(resources, prismRequest(request, method)));
    if (method === undefined || found === undefined) {
      const allowed = await methodsAt(resources, path);
      return ownProblem(allowed.length === 0 ? { kind: 'path', path } : { kind: 'method', path, allowed });
    }
    const { resource, violations } = found;
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
    const sent = prismRequest(request, method);
    const all = violationsOf(resource, sent, violations);
    const prism = createInstance(config, { logger, validateInput: () => validated(all, sent) });
    const response = await prism.request(sent, [resource], {
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

function prismRequest({ url, headers, body, bodyLength }: MockRequest, method: Method): IHttpRequest {
  const query: Record<string, string | string[]> = {};
  for (const name of new Set(url.searchParams.keys())) {
    const values = url.searchParams.getAll(name);
    query[name] = values.length === 1 ? String(values[0]) : values;
  }
  // Clients that accept only `application/json` get problem documents, too; Prism would return the success instead.
  const { accept: _accept, ...others } = headers;
  return {
    method,
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

interface Found {
  readonly resource: Resource;
  /** Of the parameters, the media type and a missing body. */
  readonly violations: IPrismDiagnostic[];
}

/** The operation of a request, and what Prism rejects in it; undefined if the contract has no such operation. */
async function find(resources: Resource[], request: IHttpRequest, validateRequest = true): Promise<Found | undefined> {
  let resource: Resource | undefined;
  const inspector = createInstance(
    { ...config, checkSecurity: false, validateRequest },
    {
      logger,
      // Called with the operation that Prism found, after its validation.
      mock: (call) => () => {
        resource = call.resource;
        return { _tag: 'Right', right: { statusCode: 200 } };
      },
    },
  );
  const inspected = await inspector.request(request, resources)();
  if (inspected._tag === 'Left' || resource === undefined) return undefined;
  return { resource, violations: inspected.right.validations.input };
}

async function methodsAt(resources: Resource[], path: string): Promise<Method[]> {
  const found = await Promise.all(methods.map((method) => find(resources, { method, url: { path } }, false)));
  return methods.filter((_, index) => found[index] !== undefined);
}

/** What the validation of Prism returns: the request, unless there are violations. */
function validated(
  [first, ...rest]: IPrismDiagnostic[],
  request: IHttpRequest,
): ReturnType<PrismHttpComponents['validateInput']> {
  return first === undefined ? { _tag: 'Right', right: request } : { _tag: 'Left', left: [first, ...rest] };
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
