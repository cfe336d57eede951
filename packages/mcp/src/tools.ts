/** Tools for a language model, derived from the contract: one for each operation that the caller may use. */
import { anyToken, hasRole } from '@financial-automation/spec/roles';
import type { Tool } from '@modelcontextprotocol/server';
import type { Contract, Operation, Parameter, Schema } from './contract.ts';

export interface Choice {
  /** Roles of the access token. Undefined if they are not known; the service then decides. */
  readonly roles: ReadonlySet<string> | undefined;
  readonly allowWrites: boolean;
  /** Tags of operations to offer. Undefined offers all. */
  readonly tags: ReadonlySet<string> | undefined;
}

/** Default page size: a page must fit into the context of a model. */
export const defaultPageSize = 20;

/** The reason that an operation is not offered, for people and models. Undefined if it is offered. */
export function reasonAgainst(operation: Operation, { roles, allowWrites, tags }: Choice): string | undefined {
  if (operation.isSecret) return `${operation.id} returns a secret, which must not be passed to a model.`;
  if (!operation.isRead && !allowWrites) {
    return `${operation.id} changes data, and this server is read-only. Start it with --allow-writes to allow changes.`;
  }
  if (tags !== undefined && !tags.has(operation.tag)) {
    return `${operation.id} has the tag ${operation.tag}, which is not one of --tags.`;
  }
  const isAllowed = roles === undefined || operation.roles.includes(anyToken) || hasRole(roles, operation.roles);
  return isAllowed ? undefined : `${operation.id} requires the role ${operation.roles.join(' or ')}.`;
}

/** Converts an operation to a tool: path, query and header parameters as arguments, and the body as `body`. */
export function toolOf(operation: Operation, contract: Contract): Tool {
  const parameters = parametersOf(operation);
  const bodySchema = operation.body === undefined ? undefined : withPageSize(resolve(operation.body, contract));
  const properties: Record<string, Schema> = Object.fromEntries(
    parameters.map(({ name, schema, description }) => [
      name,
      withDefault(name, { ...schema, ...(description === undefined ? {} : { description: description.trim() }) }),
    ]),
  );
  if (bodySchema !== undefined) properties.body = bodySchema;
  const required = parameters.filter((parameter) => parameter.required === true).map(({ name }) => name);
  if ((bodySchema?.required ?? []).length > 0) required.push('body');
  return {
    name: operation.id,
    title: operation.summary,
    description: descriptionOf(operation),
    inputSchema: selfContained({ type: 'object', properties, required, additionalProperties: false }, contract),
    annotations: {
      title: operation.summary,
      readOnlyHint: operation.isRead,
      ...(operation.isRead
        ? {}
        : {
            // A creation with an idempotency key only adds; every other write changes or deactivates existing rows.
            destructiveHint: operation.idempotent !== 'key',
            idempotentHint: operation.idempotent === true,
          }),
    },
  };
}

/** Headers that a model does not set: those that this server sends, and the cache condition, which does not apply. */
const otherHeaders = ['Tenant', 'X-Client-Id', 'traceparent', 'If-None-Match'];

/** The parameters that a model sets. */
export function parametersOf({ parameters }: Operation): Parameter[] {
  return parameters.filter((parameter) => parameter.in !== 'header' || !otherHeaders.includes(parameter.name));
}

function descriptionOf({ description, paging }: Operation): string {
  const page = `Returns ${defaultPageSize} rows unless you set \`pageSize\`; the result describes how to get the next rows.`;
  return paging === null ? description.trim() : `${description.trim()}\n\n${page}`;
}

function withPageSize(body: Schema): Schema {
  const { pageSize } = body.properties ?? {};
  if (pageSize === undefined) return body;
  return { ...body, properties: { ...body.properties, pageSize: withDefault('pageSize', pageSize) } };
}

function withDefault(name: string, schema: Schema): Schema {
  return name === 'pageSize' ? { ...schema, default: defaultPageSize } : schema;
}

function resolve(schema: Schema, { schemas }: Contract): Schema {
  return schema.$ref === undefined ? schema : (schemas[nameIn(schema.$ref)] ?? schema);
}

/** Copies all schemas that the schema refers to into its own `$defs`, because MCP clients have no other document. */
function selfContained(schema: Schema, { schemas }: Contract): Tool['inputSchema'] {
  const definitions: Record<string, unknown> = {};
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).filter(([key]) => !isForOthers(key));
    return Object.fromEntries(
      entries.map(([key, part]) => {
        if (key !== '$ref' || typeof part !== 'string') return [key, copy(part)];
        const name = nameIn(part);
        if (!(name in definitions)) {
          // First, because schemas can refer to themselves.
          definitions[name] = {};
          definitions[name] = copy(schemas[name]);
        }
        return [key, `#/$defs/${name}`];
      }),
    );
  };
  const copied = Object(copy(schema));
  return Object.keys(definitions).length === 0 ? copied : { ...copied, $defs: definitions };
}

/** Keywords of OpenAPI that are not part of JSON Schema, or not useful to a model. */
function isForOthers(keyword: string): boolean {
  return keyword.startsWith('x-') || ['discriminator', 'example', 'examples'].includes(keyword);
}

function nameIn(reference: string): string {
  return reference.split('/').at(-1) ?? '';
}
