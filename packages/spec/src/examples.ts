/** The examples of the bundled contract: requests and responses of each operation. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { operations as index } from '../generated/operations.ts';

export type OperationId = keyof typeof index;

/** The bundle. Other members are passed on as they are. */
export interface Contract {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string };
  security?: object[];
  tags: object[];
  webhooks: Record<string, Record<string, object>>;
  paths: Record<string, Record<string, unknown>>;
  components: Record<string, Record<string, unknown>>;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema?: object;
  description?: string;
  example: unknown;
  /** Of an optional parameter, which tools must not send by themselves. */
  'x-example'?: unknown;
}

export interface Example {
  /** Its name in the operation, for `Prefer: example=`. */
  name: string;
  value: unknown;
}

export interface DeclaredResponse {
  status: number;
  description: string;
  /** Of the first media type, as are the examples. */
  schema: object | undefined;
  mediaType: string;
  examples: Example[];
}

export interface Operation {
  id: OperationId;
  method: string;
  path: string;
  summary: string;
  description: string;
  /** Whether it needs an access token. */
  secured: boolean;
  parameters: Parameter[];
  body: { schema: object; examples: Example[] } | null;
  /** In the order of the contract, success first. */
  responses: DeclaredResponse[];
}

interface Reference {
  $ref: string;
}
interface MediaType {
  schema: object;
  examples?: Record<string, Reference | { value: unknown }>;
}
interface RawResponse {
  description: string;
  content?: Record<string, MediaType>;
}
interface RawOperation {
  description?: string;
  security?: object[];
  parameters?: (Reference | Parameter)[];
  requestBody?: { content: Record<string, MediaType> };
  responses: Record<string, Reference | RawResponse>;
}

/** Reads the bundle. Throws an error with an explanation if it does not exist. */
export async function readContract(): Promise<Contract> {
  const file = fileURLToPath(new URL('../generated/openapi.json', import.meta.url));
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Error('The contract is not bundled yet. Run "pnpm generate" first.');
  });
  return JSON.parse(text);
}

/** The operations of the index, with their examples, in the order of the contract. */
export function operationsOf(contract: Contract): Operation[] {
  return Object.entries(index).map(([id, { method, path, summary }]) => {
    const item = contract.paths[path] ?? {};
    const raw = item[method.toLowerCase()] as RawOperation;
    const parameters = [...((item.parameters ?? []) as (Reference | Parameter)[]), ...(raw.parameters ?? [])];
    const responses = responsesOf(contract, raw);
    return {
      id: id as OperationId,
      method,
      path,
      summary,
      description: (raw.description ?? '').trim(),
      secured: (raw.security ?? contract.security ?? []).length > 0,
      parameters: parameters.map((reference) => {
        const parameter = resolve<Parameter>(contract, reference);
        // All types share the parameter `id` and its example. The example of the response has an id of the right type.
        const example =
          (parameter.name === 'id' ? idInResponse(responses) : undefined) ??
          parameter.example ??
          parameter['x-example'];
        return { ...parameter, example, required: parameter.required ?? false };
      }),
      body: bodyOf(contract, raw),
      responses,
    };
  });
}

function responsesOf(contract: Contract, { responses }: RawOperation): Operation['responses'] {
  return Object.entries(responses).map(([status, response]) => {
    const { content = {}, description } = resolve<RawResponse>(contract, response);
    const [mediaType, media] = Object.entries(content)[0] ?? ['', undefined];
    const examples = media === undefined ? [] : examplesOf(contract, media);
    return { status: Number(status), description, mediaType, schema: media?.schema, examples };
  });
}

function idInResponse([success]: Operation['responses']): unknown {
  const row = success?.examples[0]?.value;
  return typeof row === 'object' && row !== null && 'id' in row ? row.id : undefined;
}

function bodyOf(contract: Contract, { requestBody }: RawOperation): Operation['body'] {
  const media = requestBody?.content['application/json'];
  return media === undefined ? null : { schema: media.schema, examples: examplesOf(contract, media) };
}

function examplesOf(contract: Contract, media: MediaType): Example[] {
  return Object.entries(media.examples ?? {}).map(([name, example]) => ({
    name,
    value: resolve<{ value: unknown }>(contract, example).value,
  }));
}

/** Resolves a reference to `components`; the bundle has no other references. */
function resolve<Target extends object>(contract: Contract, target: Reference | Target): Target {
  if (!('$ref' in target)) return target;
  const [, , kind = '', name = ''] = target.$ref.split('/');
  return contract.components[kind]?.[name] as Target;
}
