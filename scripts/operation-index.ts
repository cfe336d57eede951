/** The parts of the bundled contract that the index reads; lint rules guarantee their presence and format. */
export interface Contract {
  paths: Record<string, Record<string, unknown>>;
  components: Record<string, Record<string, unknown>>;
  'x-rate-limit-policies': Record<string, { limit: number; window: number }>;
  'x-body-limits': Record<string, number>;
}

interface Operation {
  operationId: string;
  tags: [string];
  summary: string;
  parameters?: Reference[];
  requestBody?: { content: Record<string, { schema: { 'x-lines-of'?: string } }> };
  responses: Record<string, Response | Reference>;
  'x-roles': string[];
  'x-additional-roles'?: string[];
  'x-rate-limit': string;
  'x-body-limit'?: string;
  'x-idempotent': boolean | 'key' | 'systemRef';
  'x-extension'?: boolean;
  /** The days of the deprecation and the earliest removal. */
  'x-deprecation'?: { since: string; sunset: string };
}
interface Reference {
  $ref: string;
}
interface Response {
  content?: Record<string, { schema: Reference }>;
}

/**
 * The meaning of `page`: rows to skip (`offset`), or a page number (`number`). Pages of the third kind have none, only cursors.
 */
type Paging = 'offset' | 'number' | 'cursor' | 'feed';

const methods = ['get', 'put', 'post', 'delete', 'patch'] as const;

/**
 * The operations by `operationId`, with what a server, a client and a test require of the contract without reading the
 * bundle: path, roles, limits, and whether a request can be repeated.
 */
export function operationIndex(contract: Contract) {
  const entries = Object.entries(contract.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method] as Operation | undefined;
      if (operation === undefined) return [];
      const references = [...((item.parameters ?? []) as Reference[]), ...(operation.parameters ?? [])];
      const rateLimit = operation['x-rate-limit'];
      const bodyLimit = operation['x-body-limit'];
      const entry = {
        method: method.toUpperCase(),
        path,
        tag: operation.tags[0],
        summary: operation.summary,
        roles: operation['x-roles'],
        additionalRoles: operation['x-additional-roles'] ?? [],
        extension: operation['x-extension'] ?? false,
        deprecation: operation['x-deprecation'] ?? null,
        idempotent: operation['x-idempotent'],
        rateLimit: { policy: rateLimit, ...contract['x-rate-limit-policies'][rateLimit] },
        bodyLimit: bodyLimit === undefined ? null : contract['x-body-limits'][bodyLimit],
        lines: linesOf(operation),
        paging: pagingOf(contract, operation),
        headers: headersOf(contract, references),
        statuses: Object.keys(operation.responses).map(Number),
      };
      return [[operation.operationId, entry] as const];
    }),
  );
  return Object.fromEntries(entries);
}

function nameOf(reference: Reference): string {
  return reference.$ref.split('/').at(-1) ?? '';
}

function headersOf(
  { components }: Contract,
  references: readonly Reference[],
): Record<string, 'required' | 'optional'> {
  const parameters: { name: string; in: string; required?: boolean }[] = references.map((one) =>
    Object(components.parameters?.[nameOf(one)]),
  );
  const headers = parameters.filter((parameter) => parameter.in === 'header');
  return Object.fromEntries(headers.map(({ name, required }) => [name, required ? 'required' : 'optional']));
}

/** The list of the body whose items can be sent as lines. */
function linesOf({ requestBody }: Operation): string | null {
  return requestBody?.content['application/x-ndjson']?.schema['x-lines-of'] ?? null;
}

/** Whether the operation returns pages, and of which kind. */
function pagingOf(contract: Contract, operation: Operation): Paging | null {
  const response = operation.responses['200'];
  const schema = response && 'content' in response ? response.content?.['application/json']?.schema : undefined;
  if (schema?.$ref === undefined) return null;
  const page = contract.components.schemas?.[nameOf(schema)] as { 'x-paging'?: Paging };
  return page['x-paging'] ?? null;
}

/**
 * How each type of the events is read as a whole, for copies of its rows: the operation that returns all of them by cursor, and whether its
 * events have the same rows; the others are without rates.
 */
export function mirrorIndex({ paths, components: { schemas = {} } }: Contract): Record<string, [string, boolean]> {
  const readers = new Map<string, string>();
  for (const [path, { post }] of Object.entries(paths) as [string, { post?: Operation }][]) {
    const response = post?.responses['200'];
    const page = response && 'content' in response ? response.content?.['application/json']?.schema : undefined;
    const { properties, 'x-paging': paging } = Object(schemas[nameOf(page ?? { $ref: '' })]);
    const row: Reference | undefined = properties?.data?.items;
    if (post === undefined || paging !== 'offset' || row?.$ref === undefined) continue;
    if (path.endsWith('/search') || !readers.has(nameOf(row))) readers.set(nameOf(row), post.operationId);
  }
  const events: Reference[] = Object(schemas.StandardEvent).oneOf;
  return Object.fromEntries(
    events.flatMap((event) => {
      const type = nameOf(event).replace(/Event$/, '');
      const operationId = readers.get(type);
      return operationId === undefined ? [] : [[type, [operationId, !(`${type}EventData` in schemas)]]];
    }),
  );
}

/**
 * The part of the index that a client requires for a request, short enough to ship: method, path, whether it can be repeated (with a
 * key if the operation takes one), paging.
 */
export function callIndex(
  operations: ReturnType<typeof operationIndex>,
  mirrored: ReturnType<typeof mirrorIndex>,
): string {
  const rows = Object.entries(operations).map(
    ([id, { method, path, idempotent, headers, paging, summary }]) =>
      `  /** ${summary} */\n  ${id}: ${JSON.stringify([method, path, 'Idempotency-Key' in headers ? 'key' : idempotent, paging])},\n`,
  );
  return `export const calls = {\n${rows.join('')}} as const;\nexport const mirrored = ${JSON.stringify(mirrored)} as const;\n`;
}
