/** The commands of a report show the same after the run, although the run deleted what it created. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { check } from '../src/check.ts';
import { renderJson } from '../src/report/formats.ts';
import { specificationOf } from './independent/independent.ts';
import { auth, start } from './independent/lab/server.ts';
import { sampleOf } from './sample.ts';
import { startThings, Things } from './things.ts';

interface Shown {
  readonly title: string;
  readonly setup: readonly string[];
  readonly exchanges: readonly { readonly curl: string; readonly response: { readonly status: number } }[];
}

/** The statuses of the responses to commands, in order. */
async function statusesOf(commands: readonly string[]): Promise<number[]> {
  const token = auth.caller().authorization.slice('Bearer '.length);
  const child = spawn('sh', ['-c', ['{', ...commands, '} 2>&1 | cat'].join('\n')], {
    // The second one is of a caller with the scopes of one operation, which this one has, too.
    env: { PATH: process.env.PATH ?? '', TOKEN: token, TOKEN_2: token },
  });
  const text: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => text.push(String(chunk)));
  await new Promise((done) => child.once('close', done));
  return [...text.join('').matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
}

/** Runs the commands of each finding of a report, whose last responses must have the statuses of the finding. */
async function expectAgain(report: Awaited<ReturnType<typeof check>>): Promise<readonly Shown[]> {
  const { findings } = JSON.parse(renderJson(report)) as { findings: readonly Shown[] };
  expect(findings.length).toBeGreaterThan(0);
  for (const { title, setup, exchanges } of findings) {
    const commands = [...setup, ...exchanges.map(({ curl }) => curl)];
    const expected = exchanges.map(({ response }) => response.status);
    expect((await statusesOf(commands)).slice(-expected.length), `${title}\n${commands.join('\n')}`).toEqual(expected);
  }
  return findings;
}

/** The first shows what a request requires, the others also what the state of a resource requires: the first one by day. */
const shown = [
  ['an ignored If-Match', 'any-tag-deleteInstrument', ['deleteInstrument', 'createInstrument', 'getInstrument']],
  ['the state of a job', 'job-no-start', ['startExport', 'getExport']],
  [
    'a list after a change of the state',
    'archived-leak',
    ['archiveSample', 'createSample', 'getSample', 'listSamples'],
  ],
] as const;

it.each(sampleOf(shown, shown.length))('%s shows again by the commands of its finding', async (_what, drift, focus) => {
  const server = await start(drift);
  try {
    const options = { url: server.url, auth, disposable: true, focus, probes: 1, checks: ['behavior'] as const };
    const report = await check({ spec: specificationOf('lab'), ...options });
    for (const { title, setup, exchanges } of await expectAgain(report))
      expect([...setup, ...exchanges.map(({ curl }) => curl)].join('\n'), title).toMatch(/^ID=\$\(/m);
  } finally {
    await server.stop();
  }
});

it('what was deleted is missing again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'contract-check-missing-'));
  const spec = join(folder, 'openapi.json');
  const { url, close } = await startThings(new Things(), spec, async (request, next) => {
    const response = await next(request);
    return response.status === 404
      ? { status: 404, headers: { 'content-type': 'application/json' }, body: {} }
      : response;
  });
  try {
    const report = await check({
      spec,
      url,
      only: ['createThing', 'getThing', 'deleteThing'],
      checks: ['responses', 'behavior'],
    });
    const findings = await expectAgain(report);
    expect(findings.map(({ title }) => title)).toEqual(['404 has a body, but none is declared']);
  } finally {
    await close();
    await rm(folder, { recursive: true });
  }
});

it('what a server returns of a deleted resource shows again without creating it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'contract-check-empty-'));
  const spec = join(folder, 'openapi.json');
  const empty = { status: 200, headers: { 'content-type': 'application/json' }, body: {} };
  const { url, close } = await startThings(new Things(), spec, async (request, next) => {
    const response = await next(request);
    return request.method === 'GET' && response.status === 404 ? empty : response;
  });
  try {
    const only = ['createThing', 'getThing', 'deleteThing', 'getPreset'];
    const report = await check({ spec, url, only, checks: ['responses', 'behavior'] });
    const findings = await expectAgain(report);
    // One cause, whatever the type and the missing properties are.
    expect(findings.map(({ title }) => title).filter((title) => !/does not exist/.test(title))).toEqual([
      'The body in 200 is {}, without the required id, name',
    ]);
    const shown = findings.find(({ title }) => title.includes('{}'));
    expect(shown?.setup).toEqual([]);
  } finally {
    await close();
    await rm(folder, { recursive: true });
  }
});

it('what was deleted is created again with another name, because its own can be in use for ever', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'contract-check-names-'));
  const spec = join(folder, 'openapi.json');
  const names = new Set<string>();
  const headers = { 'content-type': 'application/json' };
  const { url, close } = await startThings(new Things(), spec, async (request, next) => {
    const name = request.method === 'POST' ? String(request.body) : undefined;
    if (name !== undefined && names.has(name)) return { status: 409, headers: {} };
    const response = await next(request);
    if (name !== undefined && response.status === 201) names.add(name);
    const isThing = request.method === 'GET' && response.status === 200 && request.url.startsWith('/things/');
    return isThing ? { status: 200, headers, body: { ...Object(response.body), color: 'red' } } : response;
  });
  try {
    const only = ['createThing', 'getThing', 'deleteThing'];
    const report = await check({ spec, url, only, checks: ['responses', 'behavior'] });
    expect((await expectAgain(report)).map(({ title }) => title)).toContain('/color in 200 is not in the contract');
  } finally {
    await close();
    await rm(folder, { recursive: true });
  }
});

/** Notes with unique titles and short IDs, which nothing deletes, and that can wrongly be closed twice. */
it('a state shows again although nothing can be deleted, and titles are unique', async () => {
  const text = { type: 'string' };
  const note = {
    type: 'object',
    required: ['id', 'title', 'status'],
    properties: { id: { type: 'integer' }, title: text, status: { enum: ['open', 'closed'] } },
  };
  const json = (schema: object) => ({ 'application/json': { schema } });
  const item = { description: 'Note.', content: json(note) };
  const byId = { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }] };
  const others = Object.fromEntries(['400', '404', '409'].map((status) => [status, { description: 'Rejected.' }]));
  const sent = { type: 'object', required: ['title'], properties: { title: text } };
  const document = {
    openapi: '3.1.0',
    info: { title: 'Notes', version: '1' },
    paths: {
      '/notes': {
        post: {
          operationId: 'createNote',
          requestBody: { required: true, content: json(sent) },
          responses: { 201: item, ...others },
        },
      },
      '/notes/{id}': { ...byId, get: { operationId: 'getNote', responses: { 200: item, ...others } } },
      '/notes/{id}/close': {
        ...byId,
        post: {
          operationId: 'closeNote',
          'x-contract-check': { from: ['open'], to: 'closed' },
          responses: { 200: item, ...others },
        },
      },
    },
  };
  const notes: { id: number; title: string; status: string }[] = [];
  const server = createServer(async (request, response) => {
    const [, , id, action] = request.url?.split('/') ?? [];
    const body = await textOf(request);
    const reply = (status: number, value?: object) =>
      response
        .writeHead(status, value && { 'content-type': 'application/json' })
        .end(value === undefined ? '' : JSON.stringify(value));
    if (request.method === 'POST' && id === undefined) {
      const title: unknown = Object(body.startsWith('{') ? JSON.parse(body) : {}).title;
      if (typeof title !== 'string') return reply(400);
      if (notes.some((one) => one.title === title)) return reply(409);
      notes.push({ id: notes.length + 1, title, status: 'open' });
      return reply(201, notes.at(-1));
    }
    const found = notes[Number(id) - 1];
    if (found === undefined) return reply(404);
    if (action === 'close') found.status = 'closed';
    return reply(200, found);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const folder = await mkdtemp(join(tmpdir(), 'contract-check-after-'));
  const spec = join(folder, 'openapi.json');
  await writeFile(spec, JSON.stringify(document));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const report = await check({ spec, url, disposable: true, checks: ['behavior'] });
    expect(report.left.created).toMatchObject([{ operation: 'createNote' }]);
    const findings = await expectAgain(report);
    expect(findings.map(({ title }) => title).join('\n')).toMatch(/closed/);
    const [{ exchanges = [] } = {}] = findings;
    expect(exchanges.at(-1)?.curl).toMatch(/\/notes\/\$ID\/close/);
  } finally {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  }
});
