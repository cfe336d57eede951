/** What a response that differs is blamed for: by items of streams, discriminators, patterns of other flavors, and statuses. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { check } from '../check.ts';
import { OpenApiDocument } from '../document/document.ts';
import { regularExpression, skippedPatterns } from '../document/patterns.ts';
import type { Finding } from '../finding/finding.ts';

const json = (schema: object) => ({ 'application/json': { schema } });
const get = (operationId: string, content: object, more: object = {}, parameters: readonly object[] = []) => ({
  get: { operationId, parameters, responses: { '200': { description: 'Items.', content }, ...more } },
});
const closed = (properties: object) => ({ type: 'object', required: Object.keys(properties), properties });
const contract = {
  openapi: '3.2.0',
  info: { title: 'Blame', version: '1' },
  paths: {
    '/lines': get('getLines', { 'application/x-ndjson': { itemSchema: closed({ n: { type: 'integer' } }) } }),
    '/events': get('getEvents', {
      'text/event-stream': {
        itemSchema: closed({
          data: {
            type: 'string',
            contentMediaType: 'application/json',
            contentSchema: closed({ n: { type: 'integer' } }),
          },
        }),
      },
    }),
    '/other': get('getOther', json({ type: 'object' }), {
      default: { description: 'Error.', content: json(closed({ code: {} })) },
    }),
    '/shape': get(
      'getShape',
      json({
        oneOf: [{ $ref: '#/components/schemas/Circle' }, { $ref: '#/components/schemas/Square' }],
        discriminator: {
          propertyName: 'kind',
          mapping: { circle: '#/components/schemas/Circle', square: '#/components/schemas/Square' },
        },
      }),
    ),
    '/word': get('getWord', json({ properties: { kind: { enum: ['bee', 'cow'] } } })),
    '/both': get(
      'getBoth',
      json({
        oneOf: [{ $ref: '#/components/schemas/Circle' }, { $ref: '#/components/schemas/Square' }],
      }),
    ),
    '/default': {
      get: {
        operationId: 'getDefault',
        responses: {
          default: { description: 'All.', content: json({ type: 'object', additionalProperties: { type: 'object' } }) },
        },
      },
    },
    '/pet': get('getPet', json({ $ref: '#/components/schemas/Pet' })),
    '/text': get('getText', json({ type: 'object' }), {}, [
      { name: 'strict', in: 'query', allowEmptyValue: false, schema: { type: 'string' } },
      { name: 'open', in: 'query', schema: { type: 'string' } },
    ]),
    '/records': get('getRecords', { 'application/json-seq': { itemSchema: closed({ n: { type: 'integer' } }) } }),
  },
  components: {
    schemas: {
      Circle: { type: 'object', properties: { kind: { type: 'string' }, size: { type: 'integer', maximum: 9 } } },
      Square: { type: 'object', properties: { kind: { type: 'string' }, size: { type: 'integer', maximum: 5 } } },
      Pet: {
        ...closed({ kind: { type: 'string' } }),
        discriminator: { propertyName: 'kind', mapping: { cat: '#/components/schemas/Cat' } },
      },
      Cat: {
        allOf: [
          { $ref: '#/components/schemas/Pet' },
          { type: 'object', required: ['lives'], properties: { lives: { type: 'integer' } } },
        ],
      },
      // Not in the mapping: the discriminator has its name.
      Dog: {
        allOf: [{ $ref: '#/components/schemas/Pet' }, { type: 'object', properties: { age: { type: 'integer' } } }],
      },
    },
  },
};

/** The body of each path; a stream never ends. */
const bodies: Record<string, { type: string; text: string; status?: number }> = {};
const server = createServer((request, response) => {
  const reply = bodies[request.url ?? ''];
  response.writeHead(reply?.status ?? (reply ? 200 : 404), { 'content-type': reply?.type ?? 'text/plain' });
  response.write(reply?.text ?? '');
  if (!/ndjson|event/.test(reply?.type ?? '')) response.end();
});
let folder: string;
let spec: string;
let url: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-check-blame-'));
  spec = join(folder, 'openapi.json');
  await writeFile(spec, JSON.stringify(contract));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

async function findings(path: string, type: string, text: string, status = 200): Promise<readonly Finding[]> {
  for (const name of Object.keys(bodies)) delete bodies[name];
  bodies[path] = { type, text, status };
  const report = await check({ spec, url, only: [path], checks: ['responses'], minCoverage: 0 });
  return report.findings;
}

const titles = async (...of: Parameters<typeof findings>) => (await findings(...of)).map(({ title }) => title);

it('reads a stream that does not end for a bounded time, and judges its items one by one', async () => {
  const ndjson = 'application/x-ndjson';
  expect(await titles('/lines', ndjson, '{"n":1}\n{"n":2}\n{"n":')).toEqual([]);
  expect(await titles('/lines', ndjson, '{"n":1}\n{"n":"2"}\n')).toEqual(['/n in 200 must be integer']);
  // The report shows this item.
  expect(await findings('/lines', ndjson, '{"n":1}\n{"n":"2"}\n')).toMatchObject([{ pointer: '/1/n' }]);
  expect(await titles('/lines', ndjson, '{"n":1}\nnone\n')).toEqual(['An item of 200 is not valid JSON']);
  const record = (text: string) => titles('/records', 'application/json-seq', `\x1e{"n":1}\n\x1e${text}\n\x1e`);
  expect(await record('{"n":2}')).toEqual([]);
  expect(await record('{"n":"2"}')).toEqual(['/n in 200 must be integer']);
  const event = (data: string) => `: a comment\n\nid: 1\ndata: ${data}\n\n`;
  expect(await titles('/events', 'text/event-stream', event('{"n":1}'))).toEqual([]);
  expect(await titles('/events', 'text/event-stream', event('{"n":"1"}'))).toEqual(['/n in 200 must be integer']);
  expect(await titles('/other', 'text/event-stream', event('{}'))).toEqual([
    '200 has the media type text/event-stream',
  ]);
});

it('reports 201 as not declared, although there is a default for errors', async () => {
  expect(await titles('/other', 'application/json', '{}', 201)).toEqual(['Status 201 is not declared']);
});

it('names the allowed values, and the branches that match', async () => {
  expect(await titles('/word', 'application/json', '{"kind":"ant"}')).toEqual([
    '/kind in 200 must be one of "bee", "cow"',
  ]);
  expect(await titles('/both', 'application/json', '{"kind":"bee","size":1}')).toEqual([
    'The body in 200 must match only one schema of oneOf, but matches Circle and Square',
  ]);
});

it('reports an error under a default that is the success as a status that is not declared', async () => {
  expect(await titles('/default', 'application/json', '{"a":{"n":1}}')).toEqual([]);
  bodies['/default'] = { type: 'application/json', text: '{"message":"None"}', status: 400 };
  bodies['/text'] = { type: 'application/json', text: '{}' };
  const report = await check({ spec, url, only: ['/default', '/text'], checks: ['responses'], minCoverage: 0 });
  expect(report.findings.map(({ title }) => title)).toEqual([
    'Status 400 is not declared, and its body is not that of default',
  ]);
});

it('judges a value by the branch that its discriminator names', async () => {
  const shape = (kind: string, size: number) => titles('/shape', 'application/json', JSON.stringify({ kind, size }));
  // Both branches accept 3, and only that of circles 7.
  expect(await shape('circle', 3)).toEqual([]);
  expect(await shape('square', 3)).toEqual([]);
  expect(await titles('/pet', 'application/json', '{"kind":"cat","lives":9}')).toEqual([]);
  expect(await titles('/pet', 'application/json', '{"kind":"cat","lives":9,"tail":1}')).toEqual([
    '/tail in 200 is not in the contract',
  ]);
});

it('judges a value of a parent by the child that its discriminator names', async () => {
  const pet = (text: string) => titles('/pet', 'application/json', text);
  expect(await pet('{"kind":"cat","lives":"nine"}')).toEqual(['/lives in 200 must be integer']);
  expect(await pet('{"kind":"cat"}')).toEqual(['/lives in 200 must be present']);
  expect(await pet('{"kind":"Dog","age":"two"}')).toEqual(['/age in 200 must be integer']);
  expect(await pet('{"kind":"Dog","age":2}')).toEqual([]);
});

it('sends no empty value for a parameter that excludes it', async () => {
  const rejects = async (name: string) => {
    bodies['/text'] = { type: 'application/json', text: '{}' };
    bodies[`/text?${name}=`] = { type: 'application/json', text: '{}', status: 400 };
    const report = await check({ spec, url, only: ['/text'], checks: ['valid input'], minCoverage: 0 });
    delete bodies[`/text?${name}=`];
    return report.findings.map(({ title }) => title);
  };
  expect(await rejects('strict')).toEqual([]);
  expect(await rejects('open')).toEqual([expect.stringContaining('query.open')]);
});

it('translates patterns of other flavors, and lists those that it skips', () => {
  expect(regularExpression('\\A[[:alpha:]]+\\z').test('abc')).toBe(true);
  expect(regularExpression('\\A[[:alpha:]]+\\z').test('ab1')).toBe(false);
  expect(regularExpression('(?i)^abc$').test('ABC')).toBe(true);
  expect(regularExpression('(?>a+)b++').test('anything')).toBe(true);
  expect([...skippedPatterns]).toContain('(?>a+)b++');
});

it('blames the document for references in a circle, with their place', async () => {
  const circular = join(folder, 'circular.json');
  const schemas = { A: { $ref: '#/components/schemas/B' }, B: { $ref: '#/components/schemas/A' } };
  const content = { ...contract, components: { schemas: { ...contract.components.schemas, ...schemas } } };
  await writeFile(circular, JSON.stringify(content, null, 1));
  const document = await OpenApiDocument.load(circular);
  const { A } = document.object(document.object(document.root.components).schemas) as { A: object };
  expect(() => document.object(A)).toThrow(/#\/components\/schemas\/\w at .*circular\.json:\d+ is circular\.$/);
});

it('accepts null where nullable has no type beside it, with a note, and reads $ref within examples as data', async () => {
  const file = join(folder, 'nullable.json');
  const data = { $ref: '#/nowhere' };
  const properties = {
    owner: { nullable: true, allOf: [{ $ref: '#/components/schemas/Owner' }] },
    link: { type: 'object', example: data, default: data },
  };
  const content = json({ type: 'object', properties });
  const response = {
    description: 'Pet.',
    content: { 'application/json': { ...content['application/json'], examples: { one: { value: { link: data } } } } },
  };
  await writeFile(
    file,
    JSON.stringify({
      openapi: '3.0.3',
      info: { title: 'Null', version: '1' },
      paths: { '/pet': { get: { responses: { 200: response } } } },
      components: { schemas: { Owner: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } } } },
    }),
  );
  const found = async (text: string) => {
    bodies['/pet'] = { type: 'application/json', text };
    const report = await check({ spec: file, url, checks: ['responses'], minCoverage: 0 });
    return [report.findings.map(({ title }) => title), report.notices.filter((one) => one.includes('nullable'))];
  };
  const note = expect.stringContaining('nullable without type has no meaning in OpenAPI 3.0');
  expect(await found('{"owner":null,"link":{"$ref":"#/nowhere"}}')).toEqual([[], [note]]);
  expect(await found('{"owner":{}}')).toEqual([['/owner/id in 200 must be present'], [note]]);
});
