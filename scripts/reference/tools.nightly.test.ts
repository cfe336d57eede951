/** What tools that import the contract send when a user fills in what is required, and no more: a real read and a real write. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoKey } from '../../packages/demo-data/src/demo.ts';
import { bundleFiles } from '../../packages/server/src/contract/contract.ts';
import { startBrowser } from '../test/browser.ts';
import { serveDemo, tokenOf } from '../test/example-calls.ts';

const run = promisify(execFile);
/** From the registry when the test runs: together they are larger than everything that the project installs. */
const packages = [
  'openapi-to-postmanv2@6.3.3',
  '@usebruno/converters@0.23.0',
  'swagger-ui-dist@5.35.0',
  '@scalar/api-reference@1.76.0',
];
const read = { id: 'getClient', title: 'Get a client', path: '/gql/v1/client/{id}' };
const write = { id: 'onboardClient', title: 'Onboard a client', path: '/api/v1/clients/v1/onboard' };
const clientId = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101';

const demo = await serveDemo();
let folder = '';
let token = '';
const contract = JSON.parse(await readFile(bundleFiles.json, 'utf8'));

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly status: number;
}
const sent: Sent[] = [];

/** Pages of tools, and the service behind the same address, so that a browser asks for no permission of another origin. */
const server = createServer(async (request, response) => {
  const { method = '', url = '', headers } = request;
  if (url.startsWith('/tools/')) return serveTool(url.slice('/tools/'.length), response);
  if (url in pages) return void response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(pages[url]);
  if (url === '/contract.json') {
    const document = { ...contract, servers: [{ url: address() }] };
    return void response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(document));
  }
  if (!/^\/(api|gql|v1)\//.test(url)) return void response.writeHead(404).end();
  const { host: _, connection: __, 'content-length': ___, ...forwarded } = headers;
  const reply = await fetch(`${demo.address}${url}`, {
    method,
    headers: Object.entries(forwarded).map(([name, value]): [string, string] => [name, String(value)]),
    ...(method !== 'GET' && { body: await buffer(request) }),
  });
  sent.push({ method, url, headers, status: reply.status });
  response.writeHead(reply.status, { 'Content-Type': 'application/json' }).end(await reply.text());
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

function address(): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function serveTool(path: string, response: ServerResponse): Promise<void> {
  const type = path.endsWith('.css') ? 'text/css' : 'text/javascript; charset=utf-8';
  const content = await readFile(join(folder, 'node_modules', path)).catch(() => undefined);
  response.writeHead(content === undefined ? 404 : 200, { 'Content-Type': type }).end(content);
}

const pages: Record<string, string> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tools-'));
  await run('npm', [
    'install',
    '--prefix',
    folder,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--legacy-peer-deps',
    ...packages,
  ]);
  token = await tokenOf(demo.address, await demoKey(demo));
  pages['/swagger'] = `<link rel=stylesheet href=/tools/swagger-ui-dist/swagger-ui.css><div id=ui></div>
    <script src=/tools/swagger-ui-dist/swagger-ui-bundle.js></script>
    <script>const ui = SwaggerUIBundle({ url: '/contract.json', dom_id: '#ui', onComplete: () => ui.preauthorizeApiKey('bearerAuth', '${token}') })</script>`;
  pages['/scalar'] = `<div id=app></div><script src=/tools/@scalar/api-reference/dist/browser/standalone.js></script>
    <script>Scalar.createApiReference('#app', { url: '/contract.json', telemetry: false, withDefaultFonts: false,
      authentication: { preferredSecurityScheme: 'bearerAuth', securitySchemes: { bearerAuth: { token: '${token}' } } } })</script>`;
});

afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

async function clients(): Promise<number> {
  const headers = { Authorization: `Bearer ${token}`, Tenant: 'hartwell', 'Content-Type': 'application/json' };
  const body = JSON.stringify({ includeTotal: true, pageSize: 1 });
  const response = await fetch(`${demo.address}/gql/v1/clients`, { method: 'POST', headers, body });
  return (await response.json()).total;
}

/** Has a tool send both calls, and checks what arrived. */
async function expectCalls(send: () => Promise<void>): Promise<void> {
  sent.length = 0;
  const before = await clients();
  await send();
  await expect.poll(() => sent.length).toBe(2);
  expect(sent.map(({ method, url, status }) => [method, url, status])).toEqual([
    ['GET', read.path.replace('{id}', clientId), 200],
    ['POST', write.path, 201],
  ]);
  for (const { headers } of sent) expect(headers.tenant).toBe('hartwell');
  expect(sent[1]?.headers['dry-run'] ?? 'false').toBe('false');
  expect(await clients()).toBe(before + 1);
}

/** Sends what an imported collection has, with what a user must fill in. */
async function request(
  method: string,
  path: string,
  headers: readonly (readonly [string, string])[],
  body?: string,
): Promise<void> {
  const filled = { ...Object.fromEntries(headers), Tenant: 'hartwell', Authorization: `Bearer ${token}` };
  const response = await fetch(`${address()}${path.replace(/(\{\{|:)id\b(\}\})?|\{id\}/, clientId)}`, {
    method,
    headers: filled,
    ...(body !== undefined && { body }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
}

const exampleBody = () => {
  const [example] = Object.values<{ $ref: string }>(
    contract.paths[write.path].post.requestBody.content['application/json'].examples,
  );
  return JSON.stringify(contract.components.examples[example?.$ref.split('/').at(-1) ?? ''].value);
};

test('Postman, with its defaults', async () => {
  const { convertV2 } = createRequire(join(folder, 'package.json'))('openapi-to-postmanv2');
  interface Item {
    readonly name: string;
    readonly item?: readonly Item[];
    readonly request: {
      readonly method: string;
      readonly header: { key: string; value: string; disabled?: boolean }[];
    };
  }
  const { output } = await promisify(convertV2)({ type: 'json', data: structuredClone(contract) }, {});
  const itemsOf = (items: readonly Item[]): Item[] =>
    items.flatMap((one) => (one.item === undefined ? [one] : itemsOf(one.item)));
  const items = itemsOf(output[0].data.item);
  await expectCalls(async () => {
    for (const { title, path, id } of [read, write]) {
      const found = items.find(({ name }) => name === title);
      const headers = (found?.request.header ?? []).flatMap(({ key, value, disabled }) =>
        disabled === true ? [] : [[key, value] as const],
      );
      await request(found?.request.method ?? '', path, headers, id === write.id ? exampleBody() : undefined);
    }
  });
});

test('Bruno', async () => {
  const { openApiToBruno } = createRequire(join(folder, 'package.json'))('@usebruno/converters');
  interface Item {
    readonly name: string;
    readonly items?: readonly Item[];
    readonly request: {
      readonly method: string;
      readonly headers: { name: string; value: string; enabled: boolean }[];
      readonly body: { json: string | null };
    };
  }
  const itemsOf = (items: readonly Item[]): Item[] =>
    items.flatMap((one) => (one.items === undefined ? [one] : itemsOf(one.items)));
  const items = itemsOf(openApiToBruno(structuredClone(contract)).items);
  await expectCalls(async () => {
    for (const { title, path, id } of [read, write]) {
      const found = items.find(({ name }) => name === title)?.request;
      const headers = (found?.headers ?? []).flatMap(({ name, value, enabled }) =>
        enabled ? [[name, value] as const] : [],
      );
      const json = [...headers, ['Content-Type', 'application/json'] as const];
      await request(found?.method ?? '', path, json, id === write.id ? (found?.body.json ?? '') : undefined);
    }
  });
});

test.each([
  ['Swagger UI', '/swagger', sendWithSwagger],
  ['Scalar', '/scalar', sendWithScalar],
] as const)('%s, in a browser', async (_name, path, send) => {
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    await page.goto(`${address()}${path}`);
    await expectCalls(async () => {
      for (const operation of [read, write]) {
        const before = sent.length;
        await send(page, operation);
        await expect.poll(() => sent.length).toBe(before + 1);
      }
    });
  } finally {
    await browser.close();
  }
});

async function sendWithSwagger(page: Page, { id }: typeof read): Promise<void> {
  const block = page.locator(`[id$="-${id}"]`);
  // It renders only what is near the part that is seen.
  const isRendered = async () => {
    await page.mouse.wheel(0, 400);
    return (await block.count()) > 0;
  };
  await expect.poll(isRendered, { timeout: 120_000, interval: 500 }).toBe(true);
  await block.locator('.opblock-summary').first().click();
  await block.getByText('Try it out').click();
  await block.getByText('Execute').click();
}

async function sendWithScalar(page: Page, { path, id }: typeof read): Promise<void> {
  const method = id === read.id ? 'get' : 'post';
  await page.goto(`${address()}/scalar#tag/clients/${method.toUpperCase()}${path}`);
  await page.reload();
  const test = page.getByRole('button').filter({ hasText: `(${method} ${path})` });
  await test.click();
  await page.getByRole('button', { name: /^Send/ }).first().click();
}
