/** The files next to the reference, as the running server serves them: Markdown pages, and the Postman collection. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import postman from 'postman-collection';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoKey } from '../../packages/demo-data/src/demo.ts';
import { serveForFile } from '../../packages/server/test/serve.ts';
import { operationsOf, readContract } from '../../packages/spec/src/examples.ts';
import { startBrowser } from '../test/browser.ts';
import { violationsIn } from '../test/violations.ts';
import { sampleServer } from './samples.ts';

const operations = operationsOf(await readContract());
const running = await serveForFile({ RATE_LIMIT_FACTOR: '100' }, 'demo');
/** With `SAMPLES=all` every link resolves and whole pages are accessible, and not only a link of each kind and what a test opens. */
const isWhole = process.env.SAMPLES === 'all';
let apiKey: string;
let browser: Browser;
/** It is loaded once, because that takes seconds. */
let page: Page;

beforeAll(async () => {
  const script = fileURLToPath(new URL('../reference.ts', import.meta.url));
  await promisify(execFile)(process.execPath, [script, '--if-stale']);
  apiKey = await demoKey(running);
  browser = await startBrowser();
  page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(120_000);
});
afterAll(async () => {
  await browser?.close();
});

describe('the reference on the server', () => {
  it('loads in a browser with less than 1 MB, and without errors', async () => {
    const errors: string[] = [];
    page.on('console', (message) => void (message.type() === 'error' && errors.push(message.text())));
    page.on('pageerror', (error) => errors.push(error.message));
    const network = await page.context().newCDPSession(page);
    await network.send('Network.enable');
    const fromNetwork = new Set<string>();
    network.on('Network.responseReceived', ({ requestId, response }) => {
      if (!response.url.startsWith('data:')) fromNetwork.add(requestId);
    });
    let transferred = 0;
    network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (fromNetwork.has(requestId)) transferred += encodedDataLength;
    });
    await page.goto(`${running.address}/reference`, { waitUntil: 'networkidle' });
    await page.locator('h1').first().waitFor();
    // The commands of the quickstart are not clipped.
    const commands = page.locator('pre', { hasText: 'API_URL' });
    expect(await commands.count()).toBe(2);
    for (const one of await commands.all())
      expect(await one.evaluate((pre) => pre.scrollWidth <= pre.clientWidth)).toBe(true);
    expect(transferred).toBeGreaterThan(100_000);
    expect(transferred).toBeLessThan(1_000_000);
    expect(errors).toEqual([]);
    await network.detach();
    page.removeAllListeners();
  });

  it('has headers that block foreign scripts', async () => {
    const { headers } = await fetch(`${running.address}/reference`);
    const policy = headers.get('content-security-policy') ?? '';
    const other = await browser.newPage();
    const errors: string[] = [];
    other.on('console', (message) => void (message.type() === 'error' && errors.push(message.text())));
    await other.route('**/inserted', (route) =>
      route.fulfill({
        contentType: 'text/html',
        headers: { 'Content-Security-Policy': policy },
        body: '<title>Own</title><h1>Own</h1><script>document.title = "Taken over"</script>',
      }),
    );
    await other.goto(`${running.address}/inserted`);
    expect(await other.title()).toBe('Own');
    expect(errors.join()).toContain('Content Security Policy');
    await other.close();
  });

  it.each(['br', 'gzip', 'identity'])('is sent as %s to those who accept it', async (encoding) => {
    const response = await fetch(`${running.address}/reference`, { headers: { 'Accept-Encoding': encoding } });
    expect(response.headers.get('content-encoding')).toBe(encoding === 'identity' ? null : encoding);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('vary')).toContain('Accept-Encoding');
    expect(await response.text()).toMatch(/^<!DOCTYPE html>/);
  });
});

describe('a caller without a key', () => {
  const { hostname, port } = new URL(running.address);
  const sockets: Socket[] = [];
  afterAll(() => sockets.forEach((socket) => void socket.destroy()));

  function open(path: string, requests: number): Socket {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.on('error', () => undefined).write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(requests));
    return socket;
  }

  const expectServed = async () => expect((await fetch(`${running.address}/healthz`)).status).toBe(200);

  async function countServed(): Promise<number> {
    const text = await running.service.metrics.registry.getSingleMetricAsString('http_server_request_duration_seconds');
    return [...text.matchAll(/_count\{.*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  const addresses = [
    '/reference',
    '/postman_collection.json',
    '/llms.txt',
    '/openapi.json',
    '/openapi.yaml',
    '/.well-known/jwks.json',
    '/metrics',
    '/readyz',
    '/nowhere',
    '/console',
  ];
  it.each(isWhole ? addresses : addresses.slice(0, 1))(
    'who pipelines 200 requests for %s has few of them served, and its connection closed',
    async (path) => {
      const before = await countServed();
      await once(open(path, 200).resume(), 'close');
      await expectServed();
      expect((await countServed()) - before).toBeLessThanOrEqual(10);
    },
  );

  it('who does not read takes no memory for each response', async () => {
    await (await fetch(`${running.address}/reference`)).text();
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 100; count++) await once(open('/reference', 1).pause(), 'readable');
    await expectServed();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40_000_000);
  });
});

describe('trying an operation', () => {
  /** Opens the panel of an operation. */
  async function open(anchor: string) {
    await page.evaluate(`location.hash = '#/${anchor}'`);
    await page.locator(`[id="${anchor}"]`).getByRole('button', { name: 'Try it' }).click();
    return page.getByRole('dialog');
  }

  it('sends the example with the key of the reader, and shows the response', async () => {
    const dialog = await open('clients/searchclients');
    expect(await dialog.getByRole('heading').textContent()).toBe('Search clients');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText('Enter an API key or an access token.').waitFor();
    await dialog.getByLabel('API key or access token').fill(apiKey);
    await dialog.getByLabel('Body').fill('{ "where": { "name": { "_ilike": "%harbor%" } } }');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText(/^200 in \d+ ms$/).waitFor();
    expect(await dialog.locator('pre').last().textContent()).toContain('"hasMore": false');
    expect(await dialog.locator('pre').first().textContent()).toContain('x-request-id: ');
    await dialog.getByLabel('Body').fill('{ "nme": 1 }');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText(/^400 in/).waitFor();
    expect(await violationsIn(page, isWhole ? 'html' : '#try-dialog')).toEqual([]);
    if (process.env.SCREENSHOTS !== undefined) await page.screenshot({ path: `${process.env.SCREENSHOTS}/try-it.png` });
    await dialog.getByRole('button', { name: 'Close' }).click();
  });

  const itInWhole = isWhole ? it : () => undefined;
  itInWhole('sends parameters of the path, and accepts an access token', async () => {
    const response = await fetch(`${running.address}/v1/auth/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ apiKey }),
    });
    const { access_token: token }: { access_token: string } = JSON.parse(await response.text());
    const dialog = await open('billing/getinvoice');
    await dialog.getByLabel('API key or access token').fill(token);
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText(/^200 in/).waitFor();
    await dialog.getByLabel('id path').fill('unknown');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText(/^400 in/).waitFor();
    expect(await dialog.locator('pre').last().textContent()).toContain('VALIDATION_ERROR');
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    expect(await violationsIn(page, isWhole ? 'html' : '#try-dialog')).toEqual([]);
    if (process.env.SCREENSHOTS !== undefined)
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/try-it-phone.png` });
  });

  it('sends nothing to other servers', async () => {
    const other = await page.evaluate<string>(
      "fetch('http://127.0.0.1:9/').then(() => 'sent', (error) => String(error))",
    );
    expect(other).toContain('Failed to fetch');
    const policy = (await fetch(`${running.address}/reference`)).headers.get('content-security-policy');
    expect(policy).toContain("connect-src 'self'");
  });
});

describe('the Markdown pages on the server', () => {
  it('resolve for all links of llms.txt', async () => {
    const overview = await fetch(`${running.address}/llms.txt`);
    expect(overview.headers.get('content-type')).toMatch(/^text\/plain; charset=utf-8$/i);
    const links = [...(await overview.text()).matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(operations.length);
    const kinds = Map.groupBy(links, (link) => link.slice(0, link.lastIndexOf('/')));
    expect([...kinds.keys()]).toEqual(expect.arrayContaining(['reference/topics', 'reference/operations']));
    for (const link of isWhole ? links : [...kinds.values()].flatMap((ofKind) => ofKind.slice(0, 2))) {
      const page = await fetch(new URL(link, overview.url));
      expect([link, page.status]).toEqual([link, 200]);
      if (link.endsWith('.md')) expect(page.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
      await page.arrayBuffer();
    }
  });

  it.each([
    '/reference/operations/nothing.md',
    '/reference/../package.json',
    '/reference/%2e%2e/openapi.md',
    '/llms.md',
  ])('are the only files: %s is 404', async (path) => {
    const page = await fetch(running.address + path);
    expect(page.status).toBe(404);
    expect(await page.json()).toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('the samples on the server', () => {
  it.each(['/reference', '/reference/topics/quickstart.md', '/postman_environment.json'])(
    'of %s have its address',
    async (path) => {
      const text = await (await fetch(running.address + path)).text();
      expect(text).toContain(running.address);
      expect(text).not.toContain(sampleServer);
    },
  );

  it('are beside the contract, whose first server is this one, and a page to print', async () => {
    const { servers } = Object(await (await fetch(`${running.address}/openapi.json`)).json());
    expect(servers[0].url).toBe(running.address);
    const yaml = await (await fetch(`${running.address}/openapi.yaml`)).text();
    expect(yaml).toMatch(new RegExp(`^servers:\\n  - url: ${running.address}\\n`, 'm'));
    const page = await fetch(`${running.address}/reference/print.html`);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'none'");
    const text = await page.text();
    expect(operations.filter(({ id }) => !text.includes(`<section id="operations-${id}-md">`))).toEqual([]);
  });

  it('of the quickstart work when pasted into a shell', async () => {
    const text = await (await fetch(`${running.address}/reference/topics/quickstart.md`)).text();
    const commands = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, command]) => command);
    const pasted = commands.join('').replace('YOUR_API_KEY', apiKey);
    const { stdout } = await promisify(execFile)('sh', ['-c', pasted], { env: { PATH: process.env.PATH } });
    expect(JSON.parse(stdout).data).toContainEqual(expect.objectContaining({ name: 'Harbor & Pine LLC' }));
  });
});

describe('the Postman collection on the server', () => {
  let collection: postman.Collection;
  let environment: postman.VariableScope;

  beforeAll(async () => {
    const read = async (name: string) => JSON.parse(await (await fetch(`${running.address}/${name}`)).text());
    collection = new postman.Collection(await read('postman_collection.json'));
    environment = new postman.VariableScope(await read('postman_environment.json'));
    environment.set('apiKey', apiKey, 'string');
  });

  it('has a folder per chapter and a request per operation', () => {
    const found: string[] = [];
    collection.forEachItem((item) => {
      const path = item.request.url.getPath({ unresolved: true }).replaceAll(/:(\w+)/g, '{$1}');
      found.push(`${item.request.method} ${path}`);
    });
    expect(found.sort()).toEqual(operations.map(({ method, path }) => `${method} ${path}`).sort());
    expect(collection.items.all().every((folder) => postman.ItemGroup.isItemGroup(folder))).toBe(true);
  });

  it('uses no variables other than those of the environment and of Postman', () => {
    const names = [...JSON.stringify(collection.toJSON()).matchAll(/\{\{([^}]+)\}\}/g)].map(([, name = '']) => name);
    expect(names.filter((name) => name !== '$guid' && !environment.has(name))).toEqual([]);
    expect(new Set(names)).toContain('baseUrl');
  });

  it('gets an access token with the API key, and keeps it until it expires', async () => {
    const [event] = collection.events.all();
    const exec = event?.script.exec;
    const runScript = async (): Promise<number> => {
      const requests: Promise<void>[] = [];
      const sendRequest = (
        {
          url,
          method,
          header,
          body,
        }: { url: string; method: string; header: Record<string, string>; body: { raw: string } },
        done: (error: unknown, response: unknown) => void,
      ) => {
        const sent = fetch(url, { method, headers: header, body: body.raw });
        requests.push(
          sent.then(async (response) => {
            const text = await response.text();
            done(null, { code: response.status, text: () => text, json: () => JSON.parse(text) });
          }),
        );
      };
      new Function('pm', [exec].flat().join('\n'))({ environment, sendRequest });
      await Promise.all(requests);
      return requests.length;
    };
    expect(await runScript()).toBe(1);
    expect(environment.get('token')).toMatch(/^ey/);
    expect(Number(environment.get('tokenExpiresAt'))).toBeGreaterThan(Date.now() + 600_000);
    expect(await runScript()).toBe(0);
  });

  // A read by ID, a search, a list by GET with a query, a creation, and the token itself.
  it.each(['getInvoice', 'searchClients', 'listUnpaidInvoices', 'onboardClient', 'createToken'])(
    'has a request of %s that succeeds',
    async (id) => {
      const operation = operations.find((one) => one.id === id);
      const item = collection.oneDeep(operation?.summary ?? '');
      expect(await send(item)).toMatchObject({ status: operation?.responses[0]?.status });
    },
  );

  /** Sends the request like Postman: with all variables replaced, and without disabled parts. */
  async function send(item: postman.Item): Promise<Response> {
    const request = new postman.Request(item.request.toObjectResolved({ variables: Object(environment.values) }, []));
    const auth = item.getAuth();
    const headers = new Headers(request.getHeaders({ enabled: true }));
    if (auth?.type === 'bearer') {
      expect(auth.parameters().get('token')).toBe('{{token}}');
      headers.set('Authorization', `Bearer ${environment.get('token')}`);
    }
    return fetch(running.address + request.url.getPathWithQuery(), {
      method: request.method,
      headers,
      ...(request.body?.raw === undefined ? {} : { body: request.body.raw }),
    });
  }
});
