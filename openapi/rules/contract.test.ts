import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { isObject } from './contract.ts';
import { reachable } from './reachable.ts';

/** `pnpm test` also checks that the sources have this bundle. */
const file = new URL('../../packages/spec/generated/openapi.json', import.meta.url);
const text = JSON.stringify(JSON.parse(await readFile(file, 'utf8')));
const operations = operationsIn(JSON.parse(text));

describe('the bundle', () => {
  test('has room for every name', () => {
    const components: unknown = JSON.parse(text).components;
    const names = isObject(components)
      ? Object.values(components).flatMap((part) => Object.keys(isObject(part) ? part : {}))
      : [];
    expect(names.filter((name) => /-\d+$/.test(name))).toEqual([]);
  });

  test('says of a field once when it is null', () => {
    expect(text).not.toContain('or null. Null unless');
  });

  // The figures at the end of domain.md: an operation that is lost or added by accident changes one of them.
  test('has the operations of the seed, and its extensions', () => {
    const ofTheSeed = operations.filter(({ isExtension }) => !isExtension);
    expect({
      operations: operations.length,
      paths: new Set(operations.map(({ path }) => path)).size,
      ofTheSeed: ofTheSeed.length,
      pathsOfTheSeed: new Set(ofTheSeed.map(({ path }) => path)).size,
      extensions: operations.length - ofTheSeed.length,
    }).toEqual({ operations: 146, paths: 134, ofTheSeed: 92, pathsOfTheSeed: 86, extensions: 54 });
    expect(count(ofTheSeed.map(({ method }) => method))).toEqual({ post: 55, get: 29, put: 3, delete: 3, patch: 2 });
    expect(count(ofTheSeed.map(({ path }) => path.replace(/v1\/.*$/, 'v1')))).toEqual({
      '/api/v1': 44,
      '/gql/v1': 43,
      '/v1': 5,
    });
  });

  test('requires each property of an event and of its row, so that one that nobody sends violates the contract', () => {
    const { webhooks, components } = JSON.parse(text);
    const optional = Object.values(webhooks).flatMap((item) => {
      const { schema } = Object(item).post.requestBody.content['application/json'];
      const event = components.schemas[schema.$ref.split('/').at(-1)];
      const row = components.schemas[event.properties.data.$ref?.split('/').at(-1)] ?? {};
      // Events have no names of related rows, which a reader asks for.
      return [event, row].flatMap(({ properties = {}, required = [] }) =>
        Object.keys(properties).filter((name) => name !== 'with' && !required.includes(name)),
      );
    });
    expect(Object.keys(webhooks).length).toBeGreaterThan(50);
    expect(optional).toEqual([]);
  });

  test('has no optional parameter that tools send by themselves, but those whose default says the same as no parameter', () => {
    const document = JSON.parse(text);
    interface Parameter {
      readonly name: string;
      readonly required?: boolean;
      readonly example?: unknown;
      readonly schema: { readonly $ref?: string; readonly default?: unknown; readonly examples?: unknown };
    }
    const optional = Object.values<Parameter>(document.components.parameters).filter(
      ({ required }) => required !== true,
    );
    const schemaOf = ({ schema }: Parameter) => ({
      ...document.components.schemas[schema.$ref?.split('/').at(-1) ?? ''],
      ...schema,
    });
    expect(optional.filter((one) => one.example !== undefined || schemaOf(one).examples !== undefined)).toEqual([]);
    const defaults = optional.flatMap((one) => {
      const { default: value } = schemaOf(one);
      return value === undefined ? [] : [`${one.name}: ${value}`];
    });
    expect([...new Set(defaults)].toSorted()).toEqual([
      'Dry-Run: false',
      'If-Match: *',
      'format: json',
      'includeDownloadUrl: false',
      'includeInactive: false',
      'includeTotal: false',
      'page: 0',
      'pageSize: 100',
      'pageSize: 50',
    ]);
    expect(Object.values<object>(document.paths).filter((item) => 'parameters' in item)).toEqual([]);
  });

  test('has closed requests, open responses and events, no constants, and a format of each integer', () => {
    const document = JSON.parse(text);
    const { schemas, responses } = document.components;
    const bodies = operations.map(({ operation }) => operation.requestBody);
    const requests = reachable(bodies, schemas);
    const read = reachable(
      [operations.map(({ operation }) => operation.responses), responses, document.webhooks],
      schemas,
    );
    const found: string[] = [];
    const visit = (node: unknown, place: readonly string[]): void => {
      if (Array.isArray(node)) node.forEach((item, index) => void visit(item, [...place, `${index}`]));
      if (!isObject(node)) return;
      const [name = ''] = place;
      const isNamed = place.at(-1) === 'properties';
      const isObjectSchema =
        !isNamed && node.type === 'object' && node.maxProperties === undefined && !place.includes('x-items-open');
      const isClosed = node.additionalProperties === false;
      if (isObjectSchema && requests.has(name) && !isClosed) found.push(`open: ${place.join('/')}`);
      if (isObjectSchema && read.has(name) && isClosed) found.push(`closed: ${place.join('/')}`);
      if (!isNamed && 'const' in node) found.push(`const: ${place.join('/')}`);
      if (!isNamed && node.type === 'integer' && node.format === undefined && !place.includes('not'))
        found.push(`integer: ${place.join('/')}`);
      for (const [key, value] of Object.entries(node))
        if (isNamed || !/^examples?$|^default$/.test(key)) visit(value, [...place, key]);
    };
    visit(schemas, []);
    expect(found).toEqual([]);
    expect(
      [...reachable({ ...document, components: { ...document.components, schemas: {} } }, schemas)].toSorted(),
    ).toEqual(Object.keys(schemas).toSorted());
  });

  // Section 2.7 of domain.md: which types the records API writes, and how.
  test('has the standard record types', () => {
    const records = [...text.matchAll(/"x-record":\{"operations":(\[.*?\])/g)].map(
      ([, operations]) => operations ?? '[]',
    );
    expect(records.length).toBe(26);
    expect(count(records.flatMap((operations) => JSON.parse(operations)))).toEqual({
      // Engagements by imports alone, as paper.md adds.
      UPSERT: 24,
      UPDATE: 24,
      DELETE: 23,
    });
  });

  // Section 4 of domain.md: 62 rows of the catalog, and 2 of mails, are enabled and 29 are not, two of these unless a tenant's setting enables
  // them; custom types come beside them.
  test('has a webhook for each event that can be enabled, and lists the others', () => {
    const events = [...text.matchAll(/"x-event":(\{.*?\})/g)].map(([, event = '']) => JSON.parse(event));
    const names = events.map(({ entityType, operation }) => `${entityType} ${operation}`);
    expect(new Set(names).size).toBe(names.length);
    const custom = events.filter(({ entityType }) => entityType === 'CustomRecord');
    const bySetting = events.filter(({ setting }) => setting !== undefined);
    expect({ always: events.length - custom.length - bySetting.length, custom: custom.length }).toEqual({
      always: 64,
      custom: 3,
    });
    const listed = /"x-disabled-events":(\[.*?\]\}\])/.exec(text)?.[1] ?? '[]';
    const never = JSON.parse(listed).flatMap(({ operations }: { operations: string[] }) => operations);
    expect(bySetting.length + never.length).toBe(29);
  });
});

const { schemas } = JSON.parse(text).components;
const isMoney = (type: string, column: string) => /Money$/.test(schemas[type].properties[column]?.$ref ?? '');
/** A client, and whatever belongs to one, has one currency. */
const columnsOfOneCurrency = ['currency', 'clientId', 'jobId', 'engagementId'];

test('no example of an aggregate adds up amounts of several currencies', async () => {
  const inExamples = operations.flatMap(({ operation }) => {
    const { examples = {} } = bodyOf(operation);
    const type = typeOf(operation);
    return type === undefined
      ? []
      : requestsIn(examples).map((request) => ({ id: operation.operationId, type, ...request }));
  });
  const inWorkflows = (await workflowSteps()).flatMap(({ stepId, operationId, requestBody }) => {
    const type = typeOf(operations.find(({ operation }) => operation.operationId === operationId)?.operation);
    return type === undefined || requestBody === undefined
      ? []
      : [{ id: stepId, type, ...{ where: {}, groupBy: [] }, ...requestBody.payload }];
  });
  const sums = [...inExamples, ...inWorkflows];
  expect([inExamples.length, inWorkflows.length].every((count) => count > 9)).toBe(true);
  const isSum = ({ type, measures }: (typeof sums)[number]) =>
    Object.values(measures).some(({ function: name, column = '' }) => name !== 'COUNT' && isMoney(type, column));
  const mixed = sums.filter(isSum).filter(({ groupBy, where }) => {
    const columns = [...Object.keys(where), ...groupBy.map(({ column }) => column)];
    return !columnsOfOneCurrency.some((one) => columns.includes(one));
  });
  expect(mixed.map(({ id }) => id)).toEqual([]);
});

interface SumRequest {
  readonly where: object;
  readonly groupBy: readonly { readonly column: string }[];
  readonly measures: Readonly<Record<string, { readonly function: string; readonly column?: string }>>;
}

type Examples = Readonly<Record<string, { readonly $ref?: string; readonly value?: SumRequest }>>;
interface Body {
  readonly content?: Readonly<
    Record<string, { readonly schema?: { readonly $ref?: string }; readonly examples?: Examples }>
  >;
}

function bodyOf({ requestBody }: { requestBody?: Body } = {}) {
  return requestBody?.content?.['application/json'] ?? {};
}

/** The type whose rows an operation aggregates. */
function typeOf(operation: object | undefined): string | undefined {
  return /(\w+)AggregateRequest$/.exec(bodyOf(operation).schema?.$ref ?? '')?.[1];
}

interface Step {
  readonly stepId: string;
  readonly operationId?: string;
  readonly requestBody?: { readonly payload: SumRequest };
}

async function workflowSteps(): Promise<Step[]> {
  const folder = new URL('../workflows/', import.meta.url);
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(new URL(name, folder), 'utf8')));
  return texts.flatMap((one) => parse(one).workflows.flatMap(({ steps }: { steps: Step[] }) => steps));
}

function requestsIn(examples: Examples): SumRequest[] {
  const shared = JSON.parse(text).components.examples ?? {};
  return Object.values(examples).map(({ $ref, value }) => ({
    where: {},
    groupBy: [],
    ...(value ?? shared[$ref?.split('/').at(-1) ?? '']?.value),
  }));
}

function operationsIn(document: unknown) {
  const paths = isObject(document) && isObject(document.paths) ? document.paths : {};
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(isObject(item) ? item : {}).flatMap(([method, operation]) =>
      isObject(operation) && 'operationId' in operation
        ? { method, path, operation, isExtension: operation['x-extension'] === true }
        : [],
    ),
  );
}

function count(words: string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
