import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { check } from '../src/check.ts';
import { run } from '../src/main.ts';
import type { CheckOptions } from '../src/run/options.ts';
import { isEveryDriftTested, sampleOf } from './sample.ts';
import type { Alter } from './servers/kit/serve.ts';
import { startThings, Things } from './things.ts';

let folder: string;
let spec: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-check-left-'));
  spec = join(folder, 'openapi.json');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Checks a server of things, and returns what it had before and has afterwards. */
async function checked(options: Partial<CheckOptions>, alter: Alter = (request, next) => next(request)) {
  const data = new Things();
  const before = data.copy();
  const log: string[] = [];
  const { url, close } = await startThings(data, spec, (request, next, operation) => {
    log.push(operation?.id ?? '');
    return alter(request, next, operation);
  });
  // What is left does not depend on how many values of a constraint are sent.
  const report = await check({ spec, url, probes: 3, ...options });
  await close();
  return { ...report, before, after: data.copy(), log };
}

describe('after a run', () => {
  it('what it created is deleted, what it changed is restored, and the rest is listed', async () => {
    const { left, before, after, log, findings } = await checked({ disposable: true });
    for (const operation of ['replaceSettings', 'updatePreset', 'createThing']) expect(log).toContain(operation);
    expect(findings).toEqual([]);
    expect(after.things).toEqual(before.things);
    expect(after.presets).toEqual(before.presets);
    expect({ ...after.settings, changes: 0 }).toEqual(before.settings);
    expect(after.notes.length).toBeGreaterThan(0);
    expect(left.created).toEqual([
      { operation: 'createNote', targets: after.notes.map((id) => `/notes/${id}`), unidentified: 0 },
      { operation: 'sendSignal', targets: [], unidentified: after.signals },
    ]);
    expect(left.changed).toEqual([
      { operation: 'startMaintenance', target: '/maintenance', isRestored: false },
      { operation: 'replaceSettings', target: '/settings', isRestored: true },
      { operation: 'updatePreset', target: expect.stringMatching(/^\/presets\/(first|second)$/), isRestored: true },
    ]);
  });

  it('what the server does not restore is listed as such', async () => {
    const { left, after, before } = await checked({ disposable: true }, async (request, next, operation) => {
      const isLast = operation?.id === 'replaceSettings' && /"limit":7\b/.test(request.body.toString());
      return isLast ? { status: 400, headers: {} } : next(request);
    });
    expect(after.settings).not.toEqual(before.settings);
    expect(left.changed).toContainEqual({ operation: 'replaceSettings', target: '/settings', isRestored: false });
  });

  it('what existed before is unchanged, and no operation is called that would change it, without disposable', async () => {
    const { before, after, log, left } = await checked({});
    for (const operation of ['replaceSettings', 'updatePreset', 'startMaintenance'])
      expect(log).not.toContain(operation);
    expect(after).toEqual({ ...before, notes: after.notes, signals: after.signals });
    expect(left.changed).toEqual([]);
  });

  it('what a request may have created whose response is lost is listed', async () => {
    const { left, after } = await checked(
      { disposable: true, only: ['createNote', 'listThings'] },
      async (request, next) => {
        const reply = await next(request);
        return reply.status === 201 ? { status: 500, headers: {}, body: { name: 'Failed' } } : reply;
      },
    );
    expect(after.notes.length).toBeGreaterThan(0);
    expect(left.created).toEqual([{ operation: 'createNote', targets: [], unidentified: after.notes.length }]);
  });

  it('what a response lists is listed, although the contract does not declare that list', async () => {
    const only = ['createNote'];
    const { left, after } = await checked({ disposable: true, only }, async (request, next) => {
      const reply = await next(request);
      return reply.status === 201 ? { ...reply, status: 200, body: { done: [reply.body] } } : reply;
    });
    expect(after.notes.length).toBeGreaterThan(0);
    const targets = after.notes.map((id) => `/notes/${id}`);
    expect(left.created).toEqual([{ operation: 'createNote', targets, unidentified: 0 }]);
  });

  it.each(isEveryDriftTested ? [0.3, 0.6, 1.2] : [0.6])('the same holds if its time is up after %d s', async (time) => {
    const { left, before, after } = await checked({ disposable: true, time }, async (request, next) => {
      const reply = await next(request);
      await new Promise((done) => setTimeout(done, 5));
      return reply;
    });
    const listed = new Set(left.created.flatMap(({ targets }) => targets));
    const lost = left.created.reduce((sum, { unidentified }) => sum + unidentified, 0);
    const remaining = [
      ...after.notes.map((id) => `/notes/${id}`),
      ...[...after.things.keys()].filter((id) => !before.things.has(id)).map((id) => `/things/${id}`),
    ];
    const unlisted = remaining.filter((target) => !listed.has(target));
    expect(unlisted.length + after.signals).toBeLessThanOrEqual(lost);
    const changed = new Set(left.changed.filter(({ isRestored }) => !isRestored).map(({ target }) => target));
    const isRestored = JSON.stringify({ ...after.settings, changes: 0 }) === JSON.stringify(before.settings);
    expect(isRestored || changed.has('/settings')).toBe(true);
    expect(after.isInMaintenance && !changed.has('/maintenance')).toBe(false);
    for (const [id, preset] of after.presets)
      if (preset.name !== before.presets.get(id)?.name) expect(changed).toContain(`/presets/${id}`);
  });
});

/** Runs the command. */
async function command(...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const outputs = Promise.all([text(stdout), text(stderr)]);
  const code = await run(args, undefined, { stdout, stderr, directory: folder });
  stdout.end();
  stderr.end();
  const [output, errors] = await outputs;
  return { code, output, errors };
}

/** A server without a contract. */
async function served(handle: (response: ServerResponse, count: number, url: string) => void) {
  let connections = 0;
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    handle(response, requests, request.url ?? '');
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    connections: () => connections,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

it('--plan lists all operations by effect, and sends nothing', async () => {
  await (await startThings(new Things(), spec)).close();
  using server = await served((response) => response.end());
  const { code, output } = await command('--spec', spec, '--url', server.url, '--plan');
  expect(output).toBe(`reads
  ✓ GET /settings  readSettings  (GET only reads)
  ✓ GET /presets  listPresets  (GET only reads)
  ✓ GET /presets/{id}  getPreset  (GET only reads)
  ✓ GET /things  listThings  (GET only reads)
  ✓ GET /things/{id}  getThing  (GET only reads)

creates
  – POST /notes  createNote  (needs --disposable: nothing reads back what it creates)
  – POST /signals  sendSignal  (needs --disposable: nothing reads back what it creates)
  ✓ POST /things  createThing  (it declares 201, and getThing reads the result)

changes of what the run created
  ✓ DELETE /things/{id}  deleteThing  (createThing creates what it changes)

changes of what was there before
  – PUT /settings  replaceSettings  (needs --disposable: nothing creates what readSettings reads)
  – PATCH /presets/{id}  updatePreset  (needs --disposable: nothing creates what getPreset reads)

cannot be undone
  – POST /maintenance  startMaintenance  (needs --disposable: it neither reads nor creates, as far as is known)

Plan: 5 reads, 1 creates, 1 changes of what the run created; not called: 5 needs --disposable.
`);
  expect(code).toBe(0);
  expect(server.connections()).toBe(0);
});

describe('a server that hangs', () => {
  it('from the start ends the run with one sentence', async () => {
    using server = await served(() => undefined);
    const started = performance.now();
    const { code, errors } = await command('--spec', spec, '--url', server.url, '--timeout', '0.5');
    expect(errors).toContain(
      `\ncontract-check: The server at ${server.url} accepts connections, but responded to no request.\n`,
    );
    expect(code).toBe(2);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('later ends the run with one finding', async () => {
    let count = 0;
    const { findings, stopped, milliseconds } = await checked({ timeout: 0.5 }, (request, next) =>
      ++count < 40 ? next(request) : new Promise(() => undefined),
    );
    expect(findings.map(({ check: name }) => name)).toEqual(['server-died']);
    expect(stopped?.reason).toBe('dead');
    expect(milliseconds).toBeLessThan(15_000);
  });

  it.each(sampleOf(['createThing', 'getThing'], 2))(
    'in %s alone does not keep the others from being checked',
    async (hanging) => {
      const { operations, milliseconds, notices } = await checked(
        { disposable: true, timeout: 0.5 },
        (request, next, operation) => (operation?.id === hanging ? new Promise(() => undefined) : next(request)),
      );
      expect(operations.find(({ id }) => id === hanging)?.reached).toBe(false);
      expect(operations.find(({ id }) => id === 'listPresets')?.reached).toBe(true);
      expect(notices.join()).toContain(`${hanging} is not called any more, because 4 of its requests timed out.`);
      expect(milliseconds).toBeLessThan(30_000);
    },
  );

  it('in the middle of bodies that grow without end does not hang the run', async () => {
    using server = await served((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 50);
      response.on('close', () => clearInterval(timer));
    });
    const started = performance.now();
    const { code } = await command('--spec', spec, '--url', server.url, '--timeout', '0.5');
    expect(code).toBe(2);
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
