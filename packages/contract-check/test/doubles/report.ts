/** Sample reports for tests. */
import { resolve } from 'node:path';
import type { Operation } from '../../src/document/operation.ts';
import type { Finding } from '../../src/finding/finding.ts';
import type { Exchange } from '../../src/http/call.ts';
import type { CoverageItem, CoverageKind, OperationReport, Report, Share } from '../../src/run/report.ts';
import { coverageKinds } from '../../src/run/report.ts';

/** An exchange with the specified changes. Default: a GET of clients that returns an empty object. */
export function exchangeOf(
  request: Partial<Exchange['request']> = {},
  response: Partial<Exchange['response']> = {},
): Exchange {
  const text = response.text ?? '{}';
  const mediaType = response.mediaType ?? 'application/json';
  return {
    operation: undefined,
    request: { method: 'GET', url: 'http://localhost:3000/clients', headers: {}, body: undefined, ...request },
    response: {
      status: 200,
      headers: { 'content-type': mediaType },
      text,
      mediaType,
      json: mediaType === 'application/json' ? parsed(text) : undefined,
      milliseconds: 4,
      ...response,
    },
  };
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

export function findingOf(changes: Partial<Finding> = {}): Finding {
  const finding: Finding = {
    check: 'response-body',
    severity: 'error',
    category: 'responses',
    operation: 'listClients',
    about: '200 /items/*/name maxLength',
    title: 'A client has a name that is too long.',
    expected: '`name` has at most 200 characters.',
    actual: '`/items/3/name` has 201 characters.',
    pointer: '/items/3/name',
    place: { file: resolve('openapi/schemas/client.yaml'), line: 12, pointer: '#/properties/name/maxLength' },
    fix: 'Reject such names when they are written, or raise `maxLength`.',
    exchanges: [
      exchangeOf({ headers: { authorization: 'Bearer caller-token-1' } }, { text: JSON.stringify(clients()) }),
    ],
    cause: 'response-body openapi/schemas/client.yaml#/properties/name/maxLength /items/*/name',
    also: [],
    places: [],
    ...changes,
  };
  const { operation, check, title, place, cause } = finding;
  return { ...finding, places: changes.places ?? [{ operation, check, title, place, cause }] };
}

function clients(): unknown {
  const items = Array.from({ length: 20 }, (_, index) => ({
    id: `00000000-0000-7000-8000-0000000000${String(index).padStart(2, '0')}`,
    name: index === 3 ? 'x'.repeat(201) : `Client ${index}`,
    status: 'ACTIVE',
    address: { street: '1 Main Street', city: 'Springfield', country: 'US' },
    tags: ['retail', 'north'],
  }));
  return { items, page: { size: 20, next: null } };
}

export function operationOf(changes: Partial<OperationReport> = {}): OperationReport {
  return {
    id: 'listClients',
    method: 'GET',
    path: '/v1/clients',
    reached: true,
    reason: undefined,
    requests: 120,
    ...changes,
  };
}

const resources = [
  'clients',
  'projects',
  'invoices',
  'payments',
  'employees',
  'entries',
  'rates',
  'reports',
  'webhooks',
  'api-keys',
];

/** About a hundred operations, like a real API. */
function operationList(): OperationReport[] {
  return resources.flatMap((resource, index) => {
    const singular = resource.replace(/s$/, '').replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    const name = singular.charAt(0).toUpperCase() + singular.slice(1);
    const path = `/v1/${resource}`;
    const all: [string, string, string][] = [
      [`list${name}s`, 'GET', path],
      [`create${name}`, 'POST', path],
      [`get${name}`, 'GET', `${path}/{id}`],
      [`update${name}`, 'PATCH', `${path}/{id}`],
      [`delete${name}`, 'DELETE', `${path}/{id}`],
      [`search${name}s`, 'POST', `${path}/search`],
      [`list${name}History`, 'GET', `${path}/{id}/history`],
      [`archive${name}`, 'POST', `${path}/{id}/archive`],
      [`restore${name}`, 'POST', `${path}/{id}/restore`],
      ...(index < 7 ? [[`export${name}s`, 'GET', `${path}/export`] as [string, string, string]] : []),
    ];
    return all.map(([id, method, operationPath], position) => {
      const reached = index !== 7 || position <= 5;
      const reason = reached ? undefined : 'It returns 501 NOT_IMPLEMENTED.';
      return operationOf({ id, method, path: operationPath, reached, reason });
    });
  });
}

function coverageItems(operations: readonly OperationReport[]): CoverageItem[] {
  return operations.flatMap((operation, index) =>
    coverageKinds.flatMap((kind, position) =>
      Array.from({ length: position + 1 }, (_, count) => ({
        kind,
        operation: operation.id,
        name: kind === 'operations' ? operation.id : `${names[kind]}${count}`,
        exercised: operation.reached && (index + position + count) % 9 !== 0,
        reason:
          operation.reason ?? ((index + count) % 2 === 0 ? 'No request caused this response.' : 'It was not tried.'),
        place: { file: resolve(`openapi/paths/${index}.yaml`), line: 3 + count, pointer: '#/get' },
      })),
    ),
  );
}

const names: Readonly<Record<CoverageKind, string>> = {
  operations: '',
  statuses: '40',
  constraints: 'body/m maxLength ',
};

function shareOf(items: readonly CoverageItem[]): Share {
  return { exercised: items.filter(({ exercised }) => exercised).length, all: items.length };
}

/** A report of about a hundred operations with three findings, with the specified changes. */
export function reportWith(changes: Partial<Report> = {}): Report {
  const operations = changes.operations ?? operationList();
  const items = coverageItems(operations);
  const byKind = Object.fromEntries(
    coverageKinds.map((kind) => [kind, shareOf(items.filter((item) => item.kind === kind))]),
  ) as Record<CoverageKind, Share>;
  return {
    spec: resolve('openapi/openapi.yaml'),
    title: 'Financial Automation API',
    url: 'http://localhost:3000',
    seed: 42,
    milliseconds: 41_200,
    requests: 12_345,
    operations,
    findings: [findingOf({ also: ['getClient', 'searchClients'] }), rejection(), semantics()],
    accepted: [],
    coverage: { items, byKind },
    plan: [],
    stopped: undefined,
    shortfall: undefined,
    left: { created: [], changed: [] },
    notices: ['2 clients could not be deleted: the API returns 409 for DELETE /v1/clients/{id}.'],
    ...changes,
  };
}

function rejection(): Finding {
  const body = JSON.stringify({ name: 'Tower', budget: -1, note: 'It\'s "new"' });
  return findingOf({
    check: 'reject-minimum',
    category: 'invalid input',
    operation: 'updateProject',
    title: 'A budget below the minimum is accepted.',
    expected: 'A 4xx response, as `budget` is at least 0.',
    actual: '200 for a budget of -1.',
    place: { file: resolve('openapi/schemas/project.yaml'), line: 31, pointer: '#/properties/budget/minimum' },
    fix: 'Reject it with 422 as declared, or remove `minimum` from the contract.',
    exchanges: [
      exchangeOf(
        {
          method: 'PATCH',
          url: 'http://localhost:3000/v1/projects/0198f1c2-0000-7000-8000-000000000001',
          headers: {
            authorization: 'Bearer caller-token-1',
            'content-type': 'application/merge-patch+json',
            'if-match': '"3"',
          },
          body,
        },
        {
          text: JSON.stringify({ id: '0198f1c2', name: 'Tower', budget: -1 }),
          headers: { 'content-type': 'application/json', etag: '"4"' },
        },
      ),
    ],
    cause: 'reject-minimum openapi/schemas/project.yaml#/properties/budget/minimum /budget',
  });
}

function semantics(): Finding {
  const url = 'http://localhost:3000/v1/projects/0198f1c2-0000-7000-8000-000000000001';
  const headers = { authorization: 'Bearer caller-token-1' };
  const update = exchangeOf(
    { method: 'PATCH', url, headers: { ...headers, 'content-type': 'application/json' }, body: '{"name":"Bridge"}' },
    { text: '{"name":"Bridge"}' },
  );
  return findingOf({
    check: 'update-lost',
    category: 'behavior',
    operation: 'updateProject',
    title: 'An update is returned, but not stored.',
    expected: 'After the update, `name` reads "Bridge".',
    actual: 'It still reads "Tower".',
    place: undefined,
    fix: 'Store what the update returns.',
    exchanges: [update, exchangeOf({ url, headers }, { text: '{"name":"Tower"}' })],
    cause: 'update-stored updateProject /name',
  });
}

/** An operation of a contract with only its names. */
export function contractOperation(id: string, method: string, path: string): Operation {
  return {
    ...{ id, method, path, tags: [], parameters: [], body: undefined, responses: [], security: [] },
    extension: '',
    isReading: true,
    node: {},
  };
}
