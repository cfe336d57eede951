import { withOpenItems } from '@financial-automation/spec/open-items';
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { Operation, Schema } from './contract.ts';
import { contractAjv } from './contract-ajv.ts';
import type { OperationId } from './handler.ts';
import { hasManyValues } from './many-values.ts';
import { converted, declarationsOf, type Parameters, parametersOf, referred } from './parameters.ts';
import { distinct, nearest } from './wording.ts';

/** One value that violates the contract. `path` starts with the part, such as `/body/name`; names are not escaped. */
export interface Finding {
  readonly path: string;
  readonly keyword: string;
  readonly message: string;
  /** The pattern that a text does not match. */
  readonly pattern?: string;
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
  request(operation: Operation, parts: RequestParts): { findings: Finding[]; query: Record<string, unknown> };
  /** Validates a response: its status must be declared, and its body must match the schema. */
  response(operation: Operation, status: number, contentType: string, body: unknown): Finding[];
}

let ofProcess: Promise<ContractValidator> | undefined;

/**
 * Returns the validator that all services of this process share. The first request and response of each operation
 * compile its schemas; nothing in it is specific to one service.
 */
export function contractValidator(): Promise<ContractValidator> {
  ofProcess ??= createContractValidator();
  return ofProcess;
}

/**
 * Creates a validator of plain values. Each part of an operation is compiled when its first value is validated.
 *
 * @param compile compiles a schema of the contract, or a part of an operation
 */
export async function createContractValidator(
  compile: (ajv: Ajv2020, schema: object) => ValidateFunction = (ajv, schema) => ajv.compile(schema),
): Promise<ContractValidator> {
  // At the start, so that the first callers do not wait for them.
  const all = contractAjv({ allErrors: true, useDefaults: true, verbose: true });
  const first = contractAjv({ allErrors: false, useDefaults: true, verbose: true });
  const responses = contractAjv({ allErrors: true, useDefaults: false, verbose: false });
  const parameters = new Map<OperationId, { readonly declared: Parameters; readonly validate: ValidateFunction }>();
  const bodies = { all: new Map<OperationId, ValidateFunction>(), first: new Map<OperationId, ValidateFunction>() };
  /** By reference, which operations share for errors, or by the schema itself. */
  const ofResponses = new Map<string | Schema, ValidateFunction>();

  const parametersFor = (operation: Operation) =>
    parameters.getOrInsertComputed(operation.id, () => {
      const declared = parametersOf(declarationsOf(operation));
      return { declared, validate: compile(all, declared.schema) };
    });
  const validateBody = (operation: Operation, body: unknown, which: 'all' | 'first'): Finding[] => {
    if (operation.bodyLimit === null) return [];
    if (body === undefined) return [{ path: '/body', keyword: 'required', message: 'The body is missing.' }];
    const validate = bodies[which].getOrInsertComputed(operation.id, () => {
      const [, own] = declarationsOf(operation);
      const schema = withOpenItems(own?.requestBody?.content['application/json']?.schema ?? {});
      return compile(which === 'all' ? all : first, schema);
    });
    return described(validate, body, '/body');
  };

  return {
    request(operation, { path, query, headers, body }) {
      const { declared, validate } = parametersFor(operation);
      const values: Record<string, unknown> = {};
      for (const [name, type] of declared.query)
        if (Object.hasOwn(query, name)) values[name] = converted(type, query[name]);
      const unknown = Object.keys(query).filter((name) => !declared.query.has(name));
      const findings = [
        ...unknown.map((name) => unknownParameter(name, [...declared.query.keys()])),
        ...described(validate, { query: values, headers, params: path }, ''),
        ...validateBody(operation, body, hasManyValues(body) ? 'first' : 'all'),
      ];
      return { findings, query: values };
    },

    response(operation, status, contentType, body) {
      const declared = declarationsOf(operation)[1]?.responses?.[status];
      const schema = declared === undefined ? undefined : referred(declared).content?.[contentType]?.schema;
      if (schema === undefined)
        return [
          { path: '/response', keyword: '', message: `The contract declares no ${contentType} with status ${status}.` },
        ];
      const validate = ofResponses.getOrInsertComputed(schema.$ref ?? schema, () => compile(responses, schema));
      return findingsOf(validate, body, '/response');
    },
  };
}

/** Returns all errors of a response, which people who operate the service read. */
function findingsOf(validate: ValidateFunction, value: unknown, prefix: string): Finding[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).map((error) => findingOf(error, prefix, error.message ?? 'is invalid'));
}

/** Returns the errors of a request in the words of the contract. */
function described(validate: ValidateFunction, value: unknown, prefix: string): Finding[] {
  if (validate(value)) return [];
  return distinct(validate.errors ?? []).map(({ error, detail }) => findingOf(error, prefix, detail));
}

function findingOf({ keyword, instancePath, params }: ErrorObject, prefix: string, message: string): Finding {
  const member: unknown = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty;
  const path = `${prefix}${instancePath}${typeof member === 'string' ? `/${member}` : ''}`;
  return { path, keyword, message, ...(keyword === 'pattern' ? { pattern: String(params.pattern) } : {}) };
}

function unknownParameter(name: string, declared: readonly string[]): Finding {
  const meant = nearest(name, declared);
  const all = declared.length === 0 ? 'none' : declared.join(', ');
  const hint = meant === undefined ? ` The operation has: ${all}.` : ` Did you mean ${meant}?`;
  return { path: `/query/${name}`, keyword: '', message: `Unknown query parameter '${name}'.${hint}` };
}
