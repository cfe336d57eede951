import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { filesOf } from '../../test/modules/files.ts';
import { testService } from '../../test/service.ts';
import { wire } from '../../test/wire.ts';
import { routesOf } from '../app/app.ts';
import type { Route } from './route.ts';

interface Line {
  readonly level: number;
  readonly requestId?: string;
  readonly operation?: string;
  readonly status?: number;
  readonly milliseconds?: number;
  readonly isIncomplete?: boolean;
  readonly msg?: string;
}

const lines: Line[] = [];
const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
const main = await testService({ log });
const { address, service, call } = main;
const addFile = filesOf(main);
const accessLines = () => lines.filter(({ milliseconds }) => milliseconds !== undefined);

beforeEach(() => {
  lines.length = 0;
});

/** A value for each parameter of a path. */
const parameters: Readonly<Record<string, string>> = {
  fileId: '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101',
  token: 'unknown',
  file: 'llms.txt',
};

function pathOf({ path, pattern }: Route): string {
  const found = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    pattern === undefined ? 'x' : (parameters[name] ?? ''),
  );
  // The file that callers request is not below the page that lists it.
  return found.replace('/reference/llms.txt', '/llms.txt');
}

/** The number of responses that the metrics have counted, by operation and status. */
async function responses(): Promise<ReadonlyMap<string, number>> {
  const metric = await service.metrics.registry.getSingleMetric('http_server_request_duration_seconds')?.get();
  const counted = (metric?.values ?? []).filter((value) => String(Reflect.get(value, 'metricName')).endsWith('_count'));
  return new Map(counted.map(({ labels, value }) => [`${labels.operation} ${labels.status}`, value]));
}

async function expectOne(name: string | undefined, status: number, before: ReadonlyMap<string, number>): Promise<void> {
  await expect.poll(() => accessLines().length).toBeGreaterThan(0);
  expect(accessLines()).toMatchObject([{ status, ...(name === undefined ? {} : { operation: name }) }]);
  const after = await responses();
  const changed = [...after].flatMap(([key, count]) =>
    count === (before.get(key) ?? 0) ? [] : [[key, count - (before.get(key) ?? 0)]],
  );
  expect(changed).toEqual([[`${name ?? 'none'} ${status}`, 1]]);
}

describe('one access line and one metric', () => {
  const routes = routesOf(service).flatMap((route) =>
    (route.methods ?? ['GET', 'POST']).map((method) => ({ route, method })),
  );

  test.each(routes)('are written for each request: $method $route.name', async ({ route, method }) => {
    const before = await responses();
    const path = pathOf(route);
    expect(path).toMatch(route.pattern ?? /./);
    const response = await wire(address, { method, path });
    await expectOne(route.name, response.status, before);
    const [line] = accessLines();
    expect(response.headers['x-request-id']).toBe(line?.requestId);
    expect(line?.level).toBe(log.levels.values[route.isProbe === true ? 'debug' : 'info']);
  });

  test.each(['/nowhere', '/content/x', '/%zz'])('are written for an unknown path: %s', async (path) => {
    const before = await responses();
    await wire(address, { path });
    await expectOne(undefined, 404, before);
  });

  test('are written for a method that a path does not have', async () => {
    const before = await responses();
    await wire(address, { method: 'POST', path: '/openapi.json' });
    await expectOne(undefined, 405, before);
  });

  test('are written for a target that is not a path', async () => {
    const before = await responses();
    const socket = open('OPTIONS http://[ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await new Promise((resolve) => socket.resume().once('close', resolve));
    await expectOne(undefined, 404, before);
  });

  test('are written for a caller who disconnects while it sends a body', async () => {
    const before = await responses();
    const head = 'POST /v1/auth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100';
    const socket = open(`${head}\r\nExpect: 100-continue\r\n\r\n`);
    // The server has the request when it asks for the body.
    await new Promise((resolve) => socket.once('data', resolve));
    socket.write('{"apiKey"', () => socket.destroy());
    await expectOne('createToken', 400, before);
  });

  test('are written for a caller who disconnects during a download, and say that it is incomplete', async () => {
    const { id } = await addFile({ content: Buffer.alloc(32 * 1024 * 1024) });
    const { body } = await call<{ downloadUrl: string }>('GET', `/api/v1/files/${id}?includeDownloadUrl=true`);
    const path = body.downloadUrl.replace(service.config.publicUrl, '');
    const before = await responses();
    lines.length = 0;
    const socket = open(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    await expectOne('downloadFile', 200, before);
    expect(accessLines()).toMatchObject([{ isIncomplete: true }]);
    expect(lines).toHaveLength(1);
  });
});

function open(request: string): Socket {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined).write(request);
  return socket;
}

test('at the level debug, the log has the steps of a request under its ID', async () => {
  const stepsOf = async (body: object) => {
    lines.length = 0;
    const { headers } = await call('POST', '/api/v1/contacts/upsert', body);
    const id = headers.get('x-request-id');
    await expect.poll(() => accessLines().length).toBe(1);
    return lines.filter(({ requestId }) => requestId === id).map(({ msg }) => msg);
  };
  const before = ['Caller authenticated.', 'Request admitted.'];
  expect(await stepsOf({ contacts: 1 })).toEqual([...before, undefined]);
  expect(await stepsOf({ contacts: [{ firstName: 'Noor', lastName: 'Haddad', email: 'noor@example.com' }] })).toEqual([
    ...before,
    'Request validated.',
    'Transaction committed.',
    'Operation handled.',
    undefined,
  ]);
});
