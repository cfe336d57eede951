/**
 * Validation of requests. Prism validates the parameters, but not the bodies: it treats every
 * schema as draft 7, so it ignores `unevaluatedProperties`, and it cannot compile a recursive schema such as the where
 * clauses and then accepts everything. Bodies are validated here, by Ajv with JSON Schema 2020-12,
 * the dialect of OpenAPI 3.1.
 */
import { withOpenItems } from '@financial-automation/spec/open-items';
import type { IPrismDiagnostic } from '@stoplight/prism-core';
import type { getHttpOperationsFromSpec, IHttpRequest } from '@stoplight/prism-http';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Contract, Operation } from './contract.ts';

/** A body with the media type of JSON that is not valid JSON. */
export class MalformedBody {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** An operation, as Prism has it. */
export type Resource = Awaited<ReturnType<typeof getHttpOperationsFromSpec>>[number];

/** Everything that is wrong with a request, after what Prism found. */
type Validation = (resource: Resource, request: IHttpRequest, prisms: IPrismDiagnostic[]) => IPrismDiagnostic[];

/** Severity `Error` of Stoplight's diagnostics. */
const error = 0;

/** The validation of bodies, and of parameters that the contract does not have. */
export function bodyValidation(contract: Contract, operations: Operation[]): Validation {
  // Each body is validated a few times: optimizing the code of its schema costs more than it gains.
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false, code: { optimize: false } });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'contract', components: { schemas: withOpenItems(contract.components.schemas) } });
  const bodySchemas = new Map(operations.map(({ id, body }) => [String(id), body?.schema]));

  const bodyErrors = (operationId: string | undefined, body: unknown): IPrismDiagnostic[] => {
    const schema = bodySchemas.get(operationId ?? '');
    // Prism reports a missing body, and another media type.
    if (schema === undefined || body === undefined || body === null) return [];
    if (body instanceof MalformedBody) return [diagnostic(['body'], 'json', `is not JSON: ${body.reason}`)];
    if (!('$ref' in schema)) throw new Error(`The body of ${operationId} has no named schema.`);
    const validate = ajv.getSchema(`contract${schema.$ref}`);
    if (validate === undefined) throw new Error(`${schema.$ref} is not in the contract.`);
    if (validate(body)) return [];
    return (validate.errors ?? []).map(({ instancePath, keyword, message, params }) => {
      const unknown: unknown = params.additionalProperty ?? params.unevaluatedProperty;
      const name: unknown = unknown ?? params.missingProperty;
      const path = [...instancePath.split('/').slice(1), ...(name === undefined ? [] : [String(name)])];
      const reason =
        unknown === undefined ? (name === undefined ? `${message}` : 'is missing') : 'is not in the contract';
      return diagnostic(['body', ...path], keyword, reason);
    });
  };

  return (resource, request, prisms) => {
    // A body of another media type is not JSON.
    if (prisms.some(({ code }) => code === 415)) return prisms;
    const known = new Set(resource.request?.query?.map(({ name }) => name));
    const unknown = Object.keys(request.url.query ?? {}).filter((name) => !known.has(name));
    return [
      ...prisms,
      ...unknown.map((name) => diagnostic(['query', name], 'unknown', 'is not in the contract')),
      ...bodyErrors(resource.iid, request.body),
    ];
  };
}

function diagnostic(path: string[], code: string, message: string): IPrismDiagnostic {
  return { path, code, message, severity: error };
}
