import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { check } from '../../../check.ts';

const voucher = {
  type: 'object',
  required: ['code'],
  additionalProperties: false,
  properties: { code: { type: 'string', pattern: '^K[0-2]$' } },
};
const words = { type: 'array', items: { type: 'string' } };
const content = { 'application/json': { schema: voucher } };
const contract = {
  openapi: '3.1.0',
  info: { title: 'Few codes', version: '1' },
  paths: {
    '/vouchers': {
      post: {
        operationId: 'createVoucher',
        requestBody: { required: true, content },
        responses: {
          '201': { description: 'Created.', content },
          '400': { description: 'Invalid.' },
          '409': { description: 'The code is in use.' },
        },
      },
    },
    '/vouchers/{code}': {
      parameters: [{ in: 'path', name: 'code', required: true, schema: voucher.properties.code }],
      get: {
        operationId: 'getVoucher',
        responses: {
          '200': { description: 'The voucher.', content },
          '400': { description: 'Invalid.' },
          '404': { description: 'There is none.' },
        },
      },
    },
    '/parcels/{id}/events': {
      parameters: [{ in: 'path', name: 'id', required: true, schema: { type: 'string', format: 'uuid' } }],
      get: {
        operationId: 'listEvents',
        responses: {
          '200': { description: 'Words.', content: { 'application/json': { schema: words } } },
          '404': { description: 'There is no such parcel.' },
        },
      },
    },
  },
};

test('neither a code that the run itself has used nor an empty list of texts counts as a resource that does not exist', async () => {
  const codes = new Set<string>();
  const server = createServer(async (request, outgoing) => {
    const reply = (status: number, body?: object) =>
      outgoing.writeHead(status, body && { 'content-type': 'application/json' }).end(body && JSON.stringify(body));
    let text = '';
    for await (const chunk of request) text += chunk;
    if (/^\/parcels\/[^/]+\/events/.test(request.url ?? '')) return reply(200, []);
    const [, , name] = (request.url ?? '').split('?')[0]?.split('/') ?? [];
    if (request.method === 'GET' && name !== undefined)
      return codes.has(name) ? reply(200, { code: name }) : reply(/^K[0-2]$/.test(name) ? 404 : 400);
    if (request.method !== 'POST' || request.url !== '/vouchers') return reply(404);
    if (request.headers['content-type'] !== 'application/json') return reply(400);
    const { code, ...others } = bodyOf(text);
    if (typeof code !== 'string' || !/^K[0-2]$/.test(code) || Object.keys(others).length > 0) return reply(400);
    if (codes.has(code)) return reply(409);
    codes.add(code);
    return reply(201, { code });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = await mkdtemp(join(tmpdir(), 'few-codes-'));
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(contract));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { findings } = await check({ spec: join(folder, 'openapi.json'), url });
    expect(codes.size).toBeGreaterThan(1);
    expect(findings.filter(({ check }) => check === 'read-unknown')).toEqual([]);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});

function bodyOf(text: string): { readonly code?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
