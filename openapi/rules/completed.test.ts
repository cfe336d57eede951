import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isObject, isReference, type JsonObject, objectOf } from './contract.ts';
import { type Files, smallContract } from './small-contract.ts';
import { bundled, lint, set } from './testing.ts';

const boat = 'paths/boats/boat.yaml';
const create = 'paths/boats/boats.yaml';
const table = 'operation-defaults.yaml';
const parameter = (name: string) => ({ $ref: `parameters/${name}.yaml` });
const headers = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `headers/${name}.yaml` }]));
const problems = (...statuses: string[]) =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `responses/Problem${status}.yaml` }]));

const defaults = {
  cases: {
    requiresToken: { pathParameters: [parameter('Tenant')], responses: problems('403') },
    isPublic: { pathParameters: [parameter('OptionalTenant')] },
    always: {
      pathParameters: [parameter('Traceparent'), parameter('ClientIdHeader')],
      success: { headers: headers('X-Request-Id', 'RateLimit', 'RateLimit-Policy') },
      responses: problems('400', '401', '406', '429', '500', '503'),
    },
    hasBody: { requestBody: { required: true }, responses: problems('413', '415') },
    hasPathParameter: { responses: problems('404') },
    returnsRow: { success: { headers: headers('ETag') } },
    readsRow: { parameters: [parameter('IfNoneMatch')], responses: { '400': { $ref: 'responses/InvalidId.yaml' } } },
    changesRow: { parameters: [parameter('IfMatch')], responses: problems('412') },
    writes: {
      parameters: [parameter('IdempotencyKey')],
      success: { headers: headers('Idempotency-Replayed') },
      responses: problems('409'),
    },
  },
  statuses: problems('400'),
};

/** The small contract with the table, and without all that the table adds. */
function shortContract(): Files {
  const files = smallContract();
  files[table] = structuredClone(defaults);
  set(files, 'openapi.yaml', ['x-operation-defaults'], { $ref: table });
  const added = new Set(
    Object.values<JsonObject>(defaults.cases)
      .flatMap(({ parameters, pathParameters }) => [parameters, pathParameters].flat())
      .map(fileOf),
  );
  for (const [name, file] of Object.entries(files)) {
    if (!name.startsWith('paths/')) continue;
    for (const holder of [file, ...Object.values(file)]) {
      if (!isObject(holder) || !Array.isArray(holder.parameters)) continue;
      holder.parameters = holder.parameters.filter((one) => !added.has(fileOf(one)));
    }
    for (const operation of Object.values(file).filter(isObject)) {
      delete objectOf(operation.requestBody).required;
      const responses = Object.entries(objectOf(operation.responses)).filter(([, response]) => !isReference(response));
      operation.responses = Object.fromEntries(responses);
      for (const [status, response] of responses) {
        const own = Object.entries(objectOf(objectOf(response).headers)).filter(([header]) =>
          ['Location', 'Cache-Control'].includes(header),
        );
        if (status.startsWith('2')) objectOf(response).headers = Object.fromEntries(own);
      }
    }
  }
  const { content } = objectOf(files['responses/InvalidId.yaml']);
  files['responses/InvalidId.yaml'] = { content: mapped(objectOf(content), ({ examples }) => ({ examples })) };
  return files;
}

function fileOf(reference: unknown): string {
  return isReference(reference) ? basename(reference.$ref) : '';
}

function mapped(object: JsonObject, change: (value: JsonObject) => JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(objectOf(value))]));
}

test('short path files make the same bundle as whole ones', async () => {
  expect(await bundled(shortContract())).toEqual(await bundled(smallContract()));
});

test('the rules see whole operations', async () => {
  expect(await lint(shortContract())).toEqual([]);
});

test('a response of an operation replaces the one of the table', async () => {
  const files = shortContract();
  const own = { ...files['responses/Problem404.yaml'], description: 'There is no such boat.' };
  set(files, boat, ['get', 'responses', '404'], own);
  const bundle = objectOf(await bundled(files));
  const { responses } = objectOf(objectOf(objectOf(bundle.paths)['/gql/v1/boat/{id}']).get);
  expect(objectOf(objectOf(responses)['404']).description).toBe('There is no such boat.');
});

test('an operation has the extensions of the table', async () => {
  const files = shortContract();
  set(files, table, ['cases', 'writes', 'extensions'], { 'x-contract-check': { effect: 'read' } });
  const bundle = objectOf(await bundled(files));
  const operations = Object.values(objectOf(bundle.paths)).flatMap((item) => Object.values(objectOf(item)));
  const writes = operations.map(objectOf).filter((operation) => operation['x-rate-limit'] === 'write');
  expect(writes.map((operation) => operation['x-contract-check'])).toEqual(writes.map(() => ({ effect: 'read' })));
  expect(writes.length).toBeGreaterThan(0);
});

const cases: [what: string, change: (files: Files) => void, sentence: RegExp][] = [
  [
    'a parameter of a path',
    (files) => set(files, boat, ['parameters'], [{ $ref: '../../parameters/Tenant.yaml' }]),
    /Remove the parameter Tenant/,
  ],
  [
    'a parameter of an operation',
    (files) => set(files, boat, ['get', 'parameters'], [{ $ref: '../../parameters/IfNoneMatch.yaml' }]),
    /Remove the parameter If-None-Match/,
  ],
  [
    'a response',
    (files) => set(files, boat, ['get', 'responses', '401'], { $ref: '../../responses/Problem401.yaml' }),
    /Remove 401/,
  ],
  [
    'a header of a success',
    (files) => set(files, boat, ['get', 'responses', '200', 'headers', 'ETag'], { $ref: '../../headers/ETag.yaml' }),
    /Remove the header ETag/,
  ],
  [
    'that a body is required',
    (files) => set(files, create, ['post', 'requestBody', 'required'], true),
    /Remove `required` from the request body/,
  ],
  [
    'an extension',
    (files) => {
      const effect = { effect: 'read' };
      set(files, table, ['cases', 'writes', 'extensions'], { 'x-contract-check': effect });
      set(files, create, ['post', 'x-contract-check'], effect);
    },
    /Remove `x-contract-check`/,
  ],
  ...(['description', 'headers'] as const).map((key): (typeof cases)[number] => [
    `the ${key} of an error`,
    (files) => set(files, 'responses/InvalidId.yaml', [key], files['responses/Problem400.yaml']?.[key]),
    new RegExp(`Remove the ${key}`),
  ]),
  [
    'the schema of an error',
    (files) => {
      const [media = ''] = Object.keys(objectOf(files['responses/Problem400.yaml']?.content));
      const { schema } = objectOf(objectOf(files['responses/Problem400.yaml']?.content)[media]);
      set(files, 'responses/InvalidId.yaml', ['content', media, 'schema'], schema);
    },
    /Remove the schema/,
  ],
];

describe('a path file that repeats the table is rejected', () => {
  test.for(cases)('where it has %s', async ([, change, sentence]) => {
    const files = shortContract();
    change(files);
    const found = (await lint(files)).filter(({ rule }) => rule === 'completed');
    expect(found.map(({ message }) => message)).toContainEqual(expect.stringMatching(sentence));
  });
});

test('a case with an unknown condition is rejected', async () => {
  const files = shortContract();
  set(files, table, ['cases', 'isAfloat'], {});
  expect(await lint(files)).toContainEqual({
    rule: 'completed',
    message: 'Define the condition isAfloat in openapi/rules/conditions.ts.',
  });
});

test('a table in another form is rejected', async () => {
  const files = shortContract();
  set(files, table, ['cases', 'always', 'header'], []);
  expect((await lint(files)).map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/Correct the form of `x-operation-defaults`/),
  );
});
