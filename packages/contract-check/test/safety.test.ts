import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CannotRun } from '../src/cannot-run.ts';
import { check } from '../src/check.ts';
import { OpenApiDocument } from '../src/document/document.ts';
import { operationsOf } from '../src/document/operation.ts';
import type { CheckOptions, Progress } from '../src/run/options.ts';
import { finder } from './drifts/front.ts';
import { type OpenStage, openWorkshopStage } from './drifts/stages.ts';
import type { Shop } from './drifts/workshop/samples.ts';

let workshop: OpenStage<Shop>;
let folder: string;
beforeAll(async () => {
  workshop = await openWorkshopStage();
  folder = await mkdtemp(join(tmpdir(), 'contract-check-safety-'));
});
afterAll(async () => {
  await workshop?.close();
  await rm(folder, { recursive: true, force: true });
});

/** By day the checks that change most. That nothing else changes what was there, `left.test.ts` shows with all of them. */
const checks: Pick<CheckOptions, 'checks'> = process.env.SAFETY_RUNS === undefined ? { checks: ['behavior'] } : {};

/** Checks the workshop, and returns every request that it received, and the IDs that it had before. */
async function logged(options: Partial<CheckOptions>) {
  const world = await workshop.createWorld();
  const existing = Object.values(world.ids);
  const log: { method: string; path: string }[] = [];
  workshop.proxy.use((incoming, next) => {
    log.push({ method: incoming.method, path: incoming.path });
    return next(incoming);
  });
  const auth = workshop.authOf(world);
  const run = check({
    spec: workshop.spec,
    url: workshop.proxy.url,
    probes: 1,
    ...checks,
    ...(auth && { auth }),
    ...options,
  });
  await run.catch((error: unknown) => {
    // With most operations excluded, it may be that none is reached, which is an error.
    if (!(error instanceof CannotRun)) throw error;
  });
  return { log, existing };
}

it('a run never calls an excluded operation, and without disposable changes nothing that existed before', async () => {
  const operations = operationsOf(await OpenApiDocument.load(workshop.spec));
  const find = finder(operations);
  const ids = operations.map(({ id }) => id);
  let changes = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.subarray(ids, { minLength: 1, maxLength: ids.length - 1 }),
      fc.boolean(),
      async (exclude, disposable) => {
        const { log, existing } = await logged({ exclude, disposable });
        expect(log.length).toBeGreaterThan(0);
        const called = log.map(({ method, path }) => find(method, decoded(path).replace(/(?<=.)\/+$/, '')).operation);
        for (const id of exclude) expect(called).not.toContain(id);
        const changed = log.filter(({ method }) => ['PUT', 'PATCH', 'DELETE'].includes(method));
        if (!disposable) for (const { path } of changed) for (const id of existing) expect(path).not.toContain(id);
        if (!disposable) changes += changed.length;
      },
    ),
    // The first run excludes little, and is not disposable; the nightly run has more.
    { examples: [[ids.slice(-2), false]], numRuns: Number(process.env.SAFETY_RUNS ?? 1) },
  );
  expect(changes).toBeGreaterThan(0);
}, 600_000);

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** A server of two lists, and its contract. */
async function things(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  only = ['/things', '/others'],
) {
  const server = createServer(handle);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const list = {
    responses: { 200: { description: 'Things', content: { 'application/json': { schema: { type: 'object' } } } } },
  };
  const limit = { parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 5 } }] };
  const paths = Object.fromEntries(
    only.map((path) => [path, { get: { operationId: `list${path.slice(1)}`, ...limit, ...list, 'x-n': path } }]),
  );
  const spec = join(folder, `${Math.random()}.json`);
  await writeFile(spec, JSON.stringify({ openapi: '3.1.0', info: { title: 'Things', version: '1' }, paths }));
  const { port } = server.address() as AddressInfo;
  return {
    options: { spec, url: `http://127.0.0.1:${port}` },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
    server,
  };
}

const ok = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}');

it('a server that dies ends the run, with one finding that has the request', async () => {
  const { options, close } = await things((request, response) => {
    if (request.url?.includes('limit=6') !== true) return void ok(response);
    close();
  });
  const { findings, stopped } = await check({ ...options, concurrency: 1 });
  expect(findings.filter(({ check }) => check === 'server-died')).toHaveLength(1);
  const [finding] = findings.filter(({ check }) => check === 'server-died');
  expect(finding?.exchanges.at(-1)?.request.url).toContain('limit=6');
  expect(findings.filter(({ check }) => check === 'no-response')).toEqual([]);
  expect(stopped?.reason).toBe('dead');
});

it('an operation whose rate is limited does not stall the others', async () => {
  const { options, close } = await things((request, response) => {
    if (request.url?.startsWith('/things') === true)
      return void response.writeHead(429, { 'retry-after': '3600' }).end();
    ok(response);
  });
  const { milliseconds, operations } = await check(options);
  close();
  expect(operations.map(({ id, reached }) => [id, reached])).toEqual([
    ['listthings', false],
    ['listothers', true],
  ]);
  expect(operations[0]?.reason).toContain('is limited for');
  expect(milliseconds).toBeLessThan(30_000);
});

it('the time is a limit even while a response is awaited; progress goes on, and the report says what did not run', async () => {
  const { options, close } = await things((request, response) => {
    if (request.url?.includes('?') !== true) ok(response);
  });
  const shown: string[] = [];
  const onProgress = ({ phase, done }: Progress) => shown.push(`${phase} ${done}`);
  const { milliseconds, stopped } = await check({ ...options, time: 1, timeout: 60, onProgress });
  close();
  expect(milliseconds).toBeLessThan(5000);
  expect(shown).toContain('Sending invalid input, boundary values and hostile values 0');
  expect(stopped).toMatchObject({ reason: 'time', unchecked: ['listthings', 'listothers'] });
});

it('a response that is lost now and then is one error, although the request succeeds on another connection', async () => {
  let count = 0;
  const { options, close } = await things((request, response) => {
    count += 1;
    if (count % 25 === 0) request.socket.destroy();
    else ok(response);
  });
  const { findings, notices } = await check(options);
  close();
  const lost = findings.filter(({ check }) => check === 'lost-response');
  expect(lost).toMatchObject([{ severity: 'error', actual: expect.stringMatching(/^\d+ of \d+ requests: /) }]);
  expect(lost[0]?.exchanges[0]?.request.url).toContain('http://127.0.0.1');
  expect(notices.join()).not.toContain('every request must have a response');
});

it('a server that announces that it closes a connection loses nothing', async () => {
  const { options, close } = await things((_request, response) => {
    response.setHeader('connection', 'close');
    ok(response);
  });
  const { findings } = await check(options);
  close();
  expect(findings.map(({ check }) => check)).not.toContain('lost-response');
});
