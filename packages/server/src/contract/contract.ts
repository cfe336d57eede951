import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { operations } from '@financial-automation/spec';
import type { OperationId } from './handler.ts';

/** A JSON Schema of the contract, as far as the server reads it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly description?: string;
  readonly readOnly?: boolean;
  readonly writeOnly?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly 'x-scale'?: number;
  readonly 'x-unique'?: boolean;
  readonly 'x-references'?: string;
  readonly 'x-on-create'?: { readonly value?: unknown; readonly rule?: string };
  readonly 'x-record'?: {
    readonly operations: readonly ('UPSERT' | 'UPDATE' | 'DELETE')[];
    readonly readRoles: readonly string[];
    readonly writeRoles: readonly string[];
    readonly recordsUrl: string;
  };
}

export interface Contract {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, unknown>>;
  };
  readonly webhooks?: Readonly<
    Record<string, { readonly post: { readonly 'x-event': { readonly entityType: string } } }>
  >;
  readonly 'x-search-limits': { readonly depth: number; readonly predicates: number };
}

/** Where the bundle lies, for what serves it as it is. */
export const bundleFiles = {
  json: fileURLToPath(import.meta.resolve('@financial-automation/spec/openapi.json')),
  yaml: fileURLToPath(import.meta.resolve('@financial-automation/spec/openapi.yaml')),
};

/** The bundled contract. Whoever needs to change it takes a copy. */
export const contract: Contract = JSON.parse(readFileSync(bundleFiles.json, 'utf8'));

/** One operation of the index, with its id. */
export interface Operation {
  readonly id: OperationId;
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH';
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly roles: readonly string[];
  readonly extension: boolean;
  readonly idempotent: boolean | 'key';
  readonly rateLimit: { readonly policy: string; readonly limit: number; readonly window: number };
  readonly bodyLimit: number | null;
  readonly headers: Readonly<Record<string, 'required' | 'optional'>>;
  readonly statuses: readonly number[];
}

export const allOperations: readonly Operation[] = Object.entries(operations).map(([id, operation]) => ({
  ...operation,
  id: id as OperationId,
}));

/** A number that the contract gives a property of a schema: its default, or its greatest value. */
export function numberOf(schema: string, property: string, keyword: 'default' | 'maximum'): number {
  const value = schemaOf(schema).properties?.[property]?.[keyword];
  if (typeof value !== 'number') throw new Error(`The contract gives ${schema}.${property} no ${keyword}.`);
  return value;
}

/** The schema that a name or a `$ref` of the bundle stands for. */
export function schemaOf(nameOrReference: string): Schema {
  const name = nameOrReference.replace('#/components/schemas/', '');
  const schema = contract.components.schemas[name];
  if (schema === undefined) throw new Error(`The contract has no schema ${name}.`);
  return schema;
}
