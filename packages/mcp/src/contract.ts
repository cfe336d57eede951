/** What the tools describe and call: the operations of the bundled contract, with their parameters and bodies. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { operations as index } from '@financial-automation/spec';
import { withCommonItems } from '@financial-automation/spec/open-items';

export type OperationId = keyof typeof index;

/** A JSON Schema, with the keywords that are read here. All others are passed on. */
export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly [keyword: string]: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Operation {
  readonly id: OperationId;
  readonly summary: string;
  readonly description: string;
  readonly method: string;
  readonly tag: string;
  readonly roles: readonly string[];
  readonly additionalRoles: readonly string[];
  readonly idempotent: boolean | 'key' | 'systemRef';
  readonly paging: 'offset' | 'number' | 'cursor' | 'feed' | null;
  /** Whether it changes nothing: searches are sent by POST, too, and count as reads. */
  readonly isRead: boolean;
  /** Whether its response is a secret, which must not be stored. */
  readonly isSecret: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
  /** The body of the success. */
  readonly response: Schema | undefined;
}

export interface Contract {
  readonly title: string;
  readonly summary: string;
  readonly version: string;
  readonly schemas: Readonly<Record<string, Schema>>;
  readonly operations: readonly Operation[];
}

interface Reference {
  readonly $ref: string;
}
interface Bundle {
  readonly info: { readonly title: string; readonly summary: string; readonly version: string };
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, RawOperation>> & { parameters?: (Parameter | Reference)[] }>
  >;
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>;
interface RawOperation {
  readonly description: string;
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly headers?: object; readonly content?: Content }>>;
}

/** Reads the bundle. Items of bulk operations are described by what all types have in common. */
export async function readContract(): Promise<Contract> {
  // The published package has it beside its only module.
  const beside = new URL('openapi.json', import.meta.url);
  const file = existsSync(beside) ? beside : new URL(import.meta.resolve('@financial-automation/spec/openapi.json'));
  const bundle: Bundle = withCommonItems(JSON.parse(await readFile(file, 'utf8')));
  const ids = Object.keys(index).filter((id): id is OperationId => id in index);
  return { ...bundle.info, schemas: bundle.components.schemas, operations: ids.map((id) => operationOf(bundle, id)) };
}

function operationOf({ paths, components }: Bundle, id: OperationId): Operation {
  const { method, path, summary, tag, roles, additionalRoles, idempotent, paging, rateLimit, statuses } = index[id];
  const item = paths[path];
  const raw = item?.[method.toLowerCase()];
  if (item === undefined || raw === undefined) throw new Error(`The contract has no ${method} ${path}.`);
  return {
    id,
    summary,
    description: raw.description,
    method,
    tag,
    roles,
    additionalRoles,
    idempotent,
    paging,
    isRead: rateLimit.policy === 'read',
    isSecret: 'Cache-Control' in (raw.responses[statuses[0]]?.headers ?? {}),
    parameters: [...(item.parameters ?? []), ...(raw.parameters ?? [])].map((parameter) => {
      const named = '$ref' in parameter ? components.parameters[parameter.$ref.split('/').at(-1) ?? ''] : parameter;
      if (named === undefined) throw new Error(`${id} has a parameter that is not in the contract.`);
      return named;
    }),
    body: raw.requestBody?.content['application/json']?.schema,
    response: raw.responses[statuses[0]]?.content?.['application/json']?.schema,
  };
}
