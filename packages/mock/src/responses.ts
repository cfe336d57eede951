/** The responses of the contract: which example a request gets, and the document that Prism serves them from. */
import {
  type AcceptedRequest,
  allOperations,
  choiceOf,
  declarationsOf,
  invalid,
  referred,
  relationsOf,
  withFields,
  withRelatedRows,
} from '@financial-automation/server/request-checks';

const responses = new Map(
  allOperations.map((operation) => {
    const declared = Object.entries(declarationsOf(operation)[1]?.responses ?? {});
    const ofOperation = declared.map(([status, response]) => {
      const { headers = {}, content = {} } = referred(response);
      const [mediaType = '', { schema = {}, examples = {} } = {}] = Object.entries(content)[0] ?? [];
      const named = Object.entries(examples).map(([name, one]) => [name, referred(one).value] as const);
      return { status: Number(status), headers, mediaType, schema, examples: new Map(named) };
    });
    return [operation.id, ofOperation];
  }),
);

/** Rows that other operations return are examples, too, named by their IDs. */
const all = [...responses.values()].flat();
const rows = all.flatMap(({ schema, examples }) => {
  const { $ref } = referred(schema).properties?.data?.items ?? schema;
  return [...examples.values()].flatMap((body) => (dataOf(body) ?? [body]).map((value) => ({ $ref, value })));
});
const byType = Map.groupBy(rows, ({ $ref }) => $ref);
for (const { schema, examples } of all)
  for (const { $ref, value } of byType.get(schema.$ref) ?? []) {
    const { id }: { id?: unknown } = Object(value);
    if ($ref !== undefined && typeof id === 'string' && !examples.has(id)) examples.set(id, value);
  }

/**
 * Chooses the response that `Prefer: code=404, example=not_found` names (RFC 7240); otherwise the example of the success that
 * shows what the path names, or its first one.
 *
 * @throws Rejection if the operation does not have the preferred response
 */
export function chooseResponse(
  { operation: { id }, path }: AcceptedRequest,
  prefer = '',
): { readonly code: number; readonly example: string | undefined } {
  const declared = responses.get(id) ?? [];
  const { code, example } = preferencesIn(prefer);
  const able = declared.filter(({ status }) => code === undefined || String(status) === code);
  const [first] = able;
  if (first === undefined)
    throw unavailable(`${id} does not return ${code}. It returns ${declared.map(({ status }) => status).join(', ')}.`);
  if (example === undefined) {
    const names = [...first.examples.keys()];
    const asked = names.find((name) => shows(first.examples.get(name), Object.values(path)));
    return { code: first.status, example: asked ?? names[0] };
  }
  const found = able.find(({ examples }) => examples.has(example));
  if (found !== undefined) return { code: found.status, example };
  const names = able.flatMap(({ status, examples }) => [...examples.keys()].map((name) => `${name} (${status})`));
  throw unavailable(`${id} has no example ${example}. Its examples are ${names.join(', ')}.`);
}

/** Whether a row, or each row of a page, has all these values. */
function shows(body: unknown, values: readonly string[]): boolean {
  const shown = dataOf(body) ?? [body];
  return shown.length > 0 && shown.every((row) => values.every((value) => Object.values(Object(row)).includes(value)));
}

/** The rows of a page. */
function dataOf(body: unknown): readonly unknown[] | undefined {
  const { data }: { data?: unknown } = Object(body);
  return Array.isArray(data) ? data : undefined;
}

function unavailable(detail: string) {
  return invalid('/Prefer', 'NOT_SUPPORTED', detail, 'header');
}

/** Other preferences are ignored, as the RFC requires. */
function preferencesIn(header: string): { readonly code?: string; readonly example?: string } {
  const parts = header.split(/[,;]/).map((part) => part.split('=').map((text) => text.trim()));
  return Object.fromEntries(parts.map(([name = '', value = '']) => [name.toLowerCase(), value.replaceAll('"', '')]));
}

/**
 * The responses of the bundle as a document of their own. Requests are checked before, so that Prism needs neither parameters nor
 * schemas, without which it starts in a fifth of the time.
 */
export function responseDocument(): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const { id, path, method } of allOperations) {
    const declared = (responses.get(id) ?? []).map(({ status, headers, mediaType, examples }) => {
      const withoutSchemas = Object.entries(headers).map(([name, one]) => [
        name,
        { ...referred(Object(one)), schema: {} },
      ]);
      const content =
        mediaType === ''
          ? {}
          : { [mediaType]: { examples: Object.fromEntries([...examples].map(([name, value]) => [name, { value }])) } };
      return [status, { description: '', headers: Object.fromEntries(withoutSchemas), content }];
    });
    paths[path] = { ...paths[path], [method.toLowerCase()]: { responses: Object.fromEntries(declared) } };
  }
  return { openapi: '3.1.0', info: { title: 'Responses', version: '1' }, paths };
}

/** The part of an example that the caller chooses by `fields` and `with`. Names of rows that no example shows are null. */
export function chosenOf({ operation, ...sent }: AcceptedRequest, example: unknown): unknown {
  const choice = choiceOf(operation, sent);
  if (choice === undefined || typeof example !== 'object' || example === null) return example;
  const relations = relationsOf(operation, choice.with ?? []);
  const found = [...relations].map(([name, { label }]) => {
    const named = rows.map(({ value }): [unknown, { id: string; systemRef: string; name: string | null }] => {
      const { id, systemRef, [label]: text = null } = Object(value);
      return [id, { id, systemRef, name: text }];
    });
    return [name, new Map(named)] as const;
  });
  const complete = choice.with === undefined ? example : withRelatedRows(example, relations, new Map(found));
  return choice.fields === undefined ? complete : withFields(complete, choice.fields);
}

type PageRequest = Partial<
  Record<'page' | 'pageSize', number> & Record<'cursor' | 'after', string> & { includeTotal: boolean }
>;

/** The requested page of the rows of an example; any other example as it is. */
export function pageOf({ operation, query, body }: AcceptedRequest, example: unknown): unknown {
  const { method, paging } = operation;
  const data = dataOf(example);
  if (paging === null || data === undefined) return example;
  const sent: PageRequest = Object(method === 'GET' ? query : body);
  const { page = 0, pageSize = Math.max(data.length, 1) } = sent;
  // Cursors of the examples start again.
  const [, position] = /^mock-(\d+)$/.exec(sent.cursor ?? sent.after ?? '') ?? [];
  const first = Number(position ?? page * (paging === 'number' ? pageSize : 1));
  const next = Math.min(first + pageSize, data.length);
  const hasMore = next < data.length;
  const { total: _total, totalIsExact: _totalIsExact, ...others } = Object(example);
  return {
    ...others,
    ...('page' in others && { page: paging === 'number' ? Math.floor(first / pageSize) : first, pageSize }),
    data: data.slice(first, next),
    hasMore,
    nextCursor: paging === 'feed' || hasMore ? `mock-${next}` : null,
    ...(sent.includeTotal === true && { total: data.length, totalIsExact: true }),
  };
}
