import { withOpenItems } from '@financial-automation/spec/open-items';
import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { contract, type Operation, type Schema } from './contract.ts';
import type { OperationId } from './handler.ts';
import { converted, declarationsOf, type Parameters, parametersOf, referred } from './parameters.ts';
import { membersKeyword, withMembers } from './unions.ts';
import { addUniqueItems } from './unique-items.ts';
import { distinct, nearest } from './wording.ts';

/** One value that violates the contract. `path` starts with the part, such as `/body/name`; names are not escaped. */
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
  /**
   * Whether only the first error of the body is reported. Ajv copies the errors found so far with each invalid item: a
   * megabyte with an error in each of its 130,000 items would take a minute.
   */
  readonly firstError?: boolean;
}

export interface ContractValidator {
  /** Validates a request. If it is valid, defaults are filled in and query values are converted to their types. */
  request(operation: Operation, parts: RequestParts): Promise<{ findings: Finding[]; query: Record<string, unknown> }>;
  /** Validates a response: its status must be declared, and its body must match the schema. */
  response(operation: Operation, status: number, contentType: string, body: unknown): Promise<Finding[]>;
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

/** Creates a validator of plain values. Each part of an operation is compiled when its first value is validated. */
export async function createContractValidator(): Promise<ContractValidator> {
  const all = lazily(() => createAjv({ allErrors: true, useDefaults: true, verbose: true }));
  const first = lazily(() => createAjv({ allErrors: false, useDefaults: true, verbose: true }));
  const responses = lazily(() => createAjv({ allErrors: true, useDefaults: false, verbose: false }));
  const parameters = new Map<OperationId, { readonly declared: Parameters; readonly validate: ValidateFunction }>();
  const bodies = { all: new Map<OperationId, ValidateFunction>(), first: new Map<OperationId, ValidateFunction>() };
  const ofResponses = new Map<string, ValidateFunction>();

  const parametersFor = (operation: Operation) =>
    cached(parameters, operation.id, () => {
      const declared = parametersOf(declarationsOf(operation));
      return { declared, validate: all().compile(declared.schema) };
    });
  const validateBody = (operation: Operation, body: unknown, which: 'all' | 'first'): Finding[] => {
    if (operation.bodyLimit === null) return [];
    if (body === undefined) return [{ path: '/body', keyword: 'required', message: 'The body is missing.' }];
    const validate = cached(bodies[which], operation.id, () => {
      const [, own] = declarationsOf(operation);
      return (which === 'all' ? all : first)().compile(
        withOpenItems(own?.requestBody?.content['application/json']?.schema ?? {}),
      );
    });
    return described(validate, body, '/body');
  };

  return {
    async request(operation, { path, query, headers, body, firstError = false }) {
      const { declared, validate } = parametersFor(operation);
      const values: Record<string, unknown> = {};
      for (const [name, type] of declared.query)
        if (Object.hasOwn(query, name)) values[name] = converted(type, query[name]);
      const unknown = Object.keys(query).filter((name) => !declared.query.has(name));
      const findings = [
        ...unknown.map((name) => unknownParameter(name, [...declared.query.keys()])),
        ...described(validate, { query: values, headers, params: path }, ''),
        ...validateBody(operation, body, firstError ? 'first' : 'all'),
      ];
      return { findings, query: values };
    },

    async response(operation, status, contentType, body) {
      const declared = declarationsOf(operation)[1]?.responses?.[status];
      const schema = declared === undefined ? undefined : referred(declared).content?.[contentType]?.schema;
      if (schema === undefined)
        return [
          { path: '/response', keyword: '', message: `The contract declares no ${contentType} with status ${status}.` },
        ];
      const key = schema.$ref ?? `${operation.id} ${status}`;
      const validate = cached(ofResponses, key, () => responses().compile(schema));
      return findingsOf(validate, body, '/response');
    },
  };
}

function createAjv(options: Pick<Options, 'allErrors' | 'useDefaults' | 'verbose'>): Ajv2020 {
  // The contract is linted before it is bundled.
  const ajv = new Ajv2020({ ...options, strict: false, validateSchema: false });
  addFormats.default(ajv);
  addUniqueItems(ajv);
  // Patterns, which are stricter, validate both formats. Testing a UUID twice was a quarter of the cost of a row.
  for (const format of ['decimal', 'uuid']) ajv.addFormat(format, true);
  ajv.addKeyword(membersKeyword(ajv));
  for (const [name, schema] of Object.entries(schemas())) ajv.addSchema(schema, `#/components/schemas/${name}`);
  return ajv;
}

const schemas = lazily((): Readonly<Record<string, Schema>> => withMembers(withOpenItems(contract.components.schemas)));

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
  return { path: `${prefix}${instancePath}${typeof member === 'string' ? `/${member}` : ''}`, keyword, message };
}

function unknownParameter(name: string, declared: readonly string[]): Finding {
  const meant = nearest(name, declared);
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return { path: `/query/${name}`, keyword: '', message: `Unknown query parameter '${name}'.${hint}` };
}

function cached<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = create();
    map.set(key, value);
  }
  return value;
}

/** Returns a function that calls `create` once and then returns the same value. */
function lazily<Value extends object>(create: () => Value): () => Value {
  let value: Value | undefined;
  return () => (value ??= create());
}
