import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { check } from '../check.ts';
import type { Report } from './report.ts';

/**
 * A server where nearly every ID is in use before the run: all texts of up to eleven characters, and all numbers below
 * a million. A generated ID almost always matches an existing resource.
 */
const existed = (name: string) => (Number.isFinite(Number(name)) ? Number(name) < 1_000_000 : name.length < 12);

const json = (schema: object) => ({ 'application/json': { schema } });
const rejections = Object.fromEntries(
  ['400', '404', '405', '409'].map((status) => [status, { description: 'Rejected.' }] as const),
);
const itemSchema = (name: string, key: object) => ({
  type: 'object',
  required: [name, 'text'],
  additionalProperties: false,
  properties: { [name]: key, text: { type: 'string', maxLength: 40 } },
});
const resource = (collection: string, name: string, key: object, methods: readonly string[]) => {
  const one = itemSchema(name, key);
  const shown = (status: string) => ({ [status]: { description: 'The resource.', content: json(one) }, ...rejections });
  const body = (schema: object) => ({ required: true, content: json(schema) });
  const text = { ...one, required: [], properties: { text: one.properties.text } };
  const operations: Readonly<Record<string, object>> = {
    get: { operationId: `read-${name}`, responses: shown('200') },
    put: { operationId: `put-${name}`, requestBody: body(one), responses: { ...shown('200'), ...shown('201') } },
    patch: { operationId: `change-${name}`, requestBody: body(text), responses: shown('200') },
    delete: { operationId: `delete-${name}`, responses: { '204': { description: 'Gone.' }, ...rejections } },
  };
  return {
    ...(methods.includes('post') && {
      [`/${collection}`]: {
        post: {
          operationId: `create-${name}`,
          requestBody: body({ ...text, required: ['text'] }),
          responses: shown('201'),
        },
      },
    }),
    [`/${collection}/{${name}}`]: {
      parameters: [{ in: 'path', name, required: true, schema: key }],
      ...Object.fromEntries(Object.entries(operations).filter(([method]) => methods.includes(method))),
    },
  };
};
const contract = {
  openapi: '3.1.0',
  info: { title: 'Every ID exists', version: '1' },
  paths: {
    ...resource('notes', 'slug', { type: 'string', minLength: 1, maxLength: 30 }, ['post', 'get', 'patch', 'delete']),
    ...resource('labels', 'label', { type: 'string', minLength: 1, maxLength: 30 }, ['get', 'put', 'delete']),
    ...resource('coins', 'coin', { type: 'integer', minimum: 1 }, ['post', 'get', 'patch', 'delete']),
    // Reading is harmless with any method: this endpoint accepts any kind.
    '/kinds/{kind}/lookup': {
      post: {
        operationId: 'lookup-kind',
        parameters: [{ in: 'path', name: 'kind', required: true, schema: { type: 'string', enum: ['a', 'b'] } }],
        responses: {
          '200': { description: 'Known resources of this kind.', content: json({ type: 'array' }) },
          ...rejections,
        },
      },
    },
    ...resource('boxes', 'box', { type: 'string', minLength: 1, maxLength: 8 }, ['get', 'put']),
  },
};

let folder: string;
let server: Server;
let report: Report;
const harmed: string[] = [];
const created = new Map<string, unknown>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unknown-id-'));
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(contract));
  server = createServer((request, outgoing) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      const reply = (status: number, body?: object) =>
        outgoing.writeHead(status, body && { 'content-type': 'application/json' }).end(body && JSON.stringify(body));
      const [, collection = '', name] = (request.url ?? '').split('?')[0]?.split('/').map(decoded) ?? [];
      const key = { notes: 'slug', labels: 'label', coins: 'coin', boxes: 'box' }[collection];
      if (collection === 'kinds') return request.method === 'POST' ? reply(200, []) : reply(405);
      if (key === undefined) return reply(404);
      const isNumber = key === 'coin';
      const shown = (one: string, of: object) => ({ text: 'mine', ...of, [key]: isNumber ? Number(one) : one });
      const body = text === '' ? {} : textIn(text);
      if (body === undefined) return reply(400);
      if (name === undefined) {
        const fresh = isNumber ? String(2_000_000 + created.size) : `made-by-the-run-${created.size}`;
        if (request.method !== 'POST') return reply(405);
        created.set(`${collection}/${fresh}`, body);
        return reply(201, shown(fresh, body));
      }
      const isSafe = ['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(request.method ?? '');
      const at = `${collection}/${name}`;
      const exists = created.has(at) || existed(name);
      // Existing data can be changed here; the test proves that the check does not.
      if (!isSafe && exists && !created.has(at)) harmed.push(`${request.method} ${at}`);
      if (!exists && request.method !== 'PUT') return reply(404);
      if (request.method === 'DELETE') {
        created.delete(at);
        return reply(204);
      }
      if (!isSafe) created.set(at, body);
      return reply(exists ? 200 : 201, shown(name, Object(created.get(at))));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  report = await check({ spec: join(folder, 'openapi.json'), url });
});

afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

function textIn(body: string): { text?: string } | undefined {
  try {
    const { text } = Object(JSON.parse(body));
    return text === undefined ? {} : typeof text === 'string' ? { text } : undefined;
  } catch {
    return undefined;
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

describe('data from before the run', () => {
  it('is neither changed nor deleted, whatever values the check generates', () => {
    expect(harmed).toEqual([]);
  });

  it('does not prevent checks of everything that the run can create', () => {
    const reached = report.operations.filter(({ reached }) => reached).map(({ id }) => id);
    expect(reached).toEqual(
      expect.arrayContaining(['create-slug', 'change-slug', 'delete-slug', 'put-label', 'delete-label', 'change-coin']),
    );
  });

  it('does not prevent checks of operations that only read', () => {
    expect(report.findings.flatMap(({ places }) => places.map(({ cause }) => cause))).toContain(
      'reject-enum lookup-kind path.kind',
    );
  });

  it('prevents calls that could only affect it, and the report states why', () => {
    expect(report.operations.find(({ id }) => id === 'put-box')?.reason).toMatch(/did not create/);
  });
});
