/// <reference path="../../server/src/modules/clients/provinces.d.ts" />
/**
 * The command, started and called over standard input and output by the SDK's own client, in front of a running
 * service.
 */
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../server/src/operator/api-keys.ts';
import { createTenant } from '../../server/src/operator/tenants.ts';
import { serveForFile } from '../../server/test/serve.ts';
import { readContract } from '../src/contract.ts';
import { readSettings } from '../src/settings.ts';
import { reasonAgainst, toolOf } from '../src/tools.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const contract = await readContract();
const everything = { roles: undefined, allowWrites: true, tags: undefined };
/** The many processes of this file share compiled code, as all processes of a test run do. */
const { NODE_COMPILE_CACHE = '' } = process.env;
const compileCache = { NODE_COMPILE_CACHE };
const harbor = { name: 'Harbor Logistics', address: { country: 'US' } };

const running = await serveForFile({ PAYMENT_PROCESSOR: 'none' });

beforeAll(async () => {
  for (const name of ['firm', 'rival']) {
    const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
    await createTenant(running, { name, displayName: name, ...place });
  }
});
afterAll(async () => {
  for (const { client } of await Promise.all(started.values())) await client.close();
});

interface Start {
  readonly roles?: readonly string[];
  readonly tenant?: string;
  readonly words?: readonly string[];
  /** Uses an access token instead of an API key. */
  readonly withToken?: boolean;
}

/** The commands of this file, by their settings: each is started once. */
const started = new Map<string, ReturnType<typeof connect>>();

function start(settings: Start = {}): ReturnType<typeof connect> {
  const key = JSON.stringify(settings);
  const connected = started.get(key) ?? connect(settings);
  started.set(key, connected);
  return connected;
}

async function connect({ roles = ['API_ADMIN'], tenant = 'firm', words = [], withToken = false }: Start) {
  const user = `user-${roles.join('-').toLowerCase()}`;
  const { key } = await createApiKey(running, { tenant, user, roles, days: 1, description: undefined });
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [main, ...words],
      env: {
        ...compileCache,
        BASE_URL: running.address,
        TENANT: tenant,
        ...(withToken ? { ACCESS_TOKEN: await tokenFor(key) } : { API_KEY: key }),
      },
    }),
  );
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { isError = false, content } = await client.callTool({ name, arguments: args });
    const texts = content.map((part) => (part.type === 'text' ? part.text : part.type));
    return { isError, texts, json: () => JSON.parse(texts[0] ?? '') };
  };
  return { client, call };
}

async function tokenFor(apiKey: string): Promise<string> {
  const response = await fetch(`${running.address}/v1/auth/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ apiKey }),
  });
  return JSON.parse(await response.text()).access_token;
}

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

describe('the tools', () => {
  it('are the reads that the roles allow', async () => {
    const clients = await namesOf((await start({ roles: ['CLNT_R'] })).client);
    const invoices = await namesOf((await start({ roles: ['INVC_R'], withToken: true })).client);
    const shared = ['listOrgs', 'listOffices', 'generateTestSignature'];
    expect(clients).toEqual(expect.arrayContaining(['getClient', 'searchClients', ...shared]));
    expect(invoices).toEqual(expect.arrayContaining(['getInvoice', 'searchInvoices', 'listUnpaidInvoices', ...shared]));
    expect(clients.filter((name) => /Invoice|onboard|create/.test(name))).toEqual([]);
    expect(invoices.filter((name) => /Client$|Clients$|create/.test(name))).toEqual([]);
  });

  it('are all operations for API_ADMIN with --allow-writes, except those that return secrets', async () => {
    const { client } = await start({ words: ['--allow-writes'] });
    const secrets = ['createToken', 'getWebhookSecret'];
    const expected = contract.operations.map(({ id }) => id).filter((id) => !secrets.includes(id));
    expect(await namesOf(client)).toEqual(expected);
  });

  it('are only those with the specified tags', async () => {
    const { client } = await start({ words: ['--tags', 'files, contacts'] });
    expect(await namesOf(client)).toEqual([
      'listContacts',
      'searchContacts',
      'getContact',
      'listContactsByClient',
      'listFiles',
      'getFile',
    ]);
  });

  it('have the descriptions, arguments and annotations of the contract', async () => {
    const { client } = await start({ words: ['--allow-writes'] });
    const { tools } = await client.listTools();
    const tool = (name: string) => tools.find((one) => one.name === name);
    expect(tool('updateStaff')).toMatchObject({
      title: 'Update a staff member',
      description: expect.stringContaining('`STAFF_W`'),
      inputSchema: {
        properties: { staffId: {}, 'If-Match': {}, body: {} },
        required: expect.arrayContaining(['staffId']),
      },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    });
    expect(Object.keys(tool('updateStaff')?.inputSchema.properties ?? {}).sort()).toEqual([
      'Dry-Run',
      'Idempotency-Key',
      'If-Match',
      'body',
      'staffId',
    ]);
    expect(tool('onboardClient')?.annotations).toMatchObject({ destructiveHint: false, idempotentHint: false });
    expect(tool('deleteRecords')?.annotations).toMatchObject({ destructiveHint: true });
    expect(tool('searchClients')?.annotations).toEqual({ title: 'Search clients', readOnlyHint: true });
    expect(tool('listOrgs')?.inputSchema.properties?.body).toMatchObject({ properties: { pageSize: { default: 20 } } });
  });
});

describe('the input schema', () => {
  const offered = contract.operations.filter((operation) => reasonAgainst(operation, everything) === undefined);

  /** Schemas share most of their parts; all of them are compiled with `MCP=all`. */
  const compiled = new Set(offered.filter((_, index) => process.env.MCP === 'all' || index % 5 === 0));

  it.each(offered)('of $id is an object without references to other documents, and compiles', (operation) => {
    const { name, inputSchema } = toolOf(operation, contract);
    expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(inputSchema.type).toBe('object');
    expect(Object.keys(inputSchema).filter((key) => /^(oneOf|anyOf|allOf|\$ref)$/.test(key))).toEqual([]);
    for (const property of Object.keys(inputSchema.properties ?? {}))
      expect(property).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
    const text = JSON.stringify(inputSchema);
    expect([...text.matchAll(/"\$ref":"([^"]*)"/g)].filter(([, to = '']) => !to.startsWith('#/$defs/'))).toEqual([]);
    if (compiled.has(operation)) new Ajv2020({ strict: false, validateFormats: false }).compile(inputSchema);
  });
});

describe('a call', () => {
  it('reads, searches and writes', async () => {
    const { call } = await start({ words: ['--allow-writes'] });
    const created = await call('onboardClient', { body: harbor });
    expect(created).toMatchObject({ isError: false });
    const { clientId: id } = created.json();
    const read = await call('getClient', { id });
    expect(read.json()).toMatchObject({ id, name: 'Harbor Logistics' });
    expect(read.texts[1]).toMatch(/^ETag: ".+"$/);
    const found = await call('searchClients', { body: { where: { name: { _ilike: '%harbor%' } } } });
    expect(found.json()).toMatchObject({ pageSize: 20, data: [{ id }] });
  });

  it('repeats a write with the same Idempotency-Key without a second effect', async () => {
    const { call } = await start({ words: ['--allow-writes'] });
    const args = { 'Idempotency-Key': 'onboard-pine', body: { ...harbor, name: 'Pine' } };
    const first = await call('onboardClient', args);
    expect((await call('onboardClient', args)).texts[0]).toBe(first.texts[0]);
    const found = await call('searchClients', { body: { where: { name: { _eq: 'Pine' } } } });
    expect(found.json().data).toHaveLength(1);
  });

  it('of a write is rejected without --allow-writes, and so is one that the roles do not allow', async () => {
    const readOnly = await start();
    expect(await readOnly.call('onboardClient', { body: harbor })).toMatchObject({
      isError: true,
      texts: [expect.stringContaining('--allow-writes')],
    });
    const { call } = await start({ roles: ['CLNT_R'], words: ['--allow-writes'] });
    expect(await call('onboardClient', { body: harbor })).toMatchObject({
      isError: true,
      texts: ['onboardClient requires the role CLNT_C.'],
    });
    expect(
      (await call('searchClients', { body: { where: { name: { _eq: harbor.name } } } })).json().data.length,
    ).toBeLessThan(2);
  });

  it('passes on problems with their code, detail and pointers', async () => {
    const { call } = await start();
    const response = await call('searchClients', { body: { where: { nothing: { _eq: 'x' } }, pageSize: 5000 } });
    expect(response.isError).toBe(true);
    expect(response.json()).toMatchObject({ status: 400, code: 'VALIDATION_ERROR', detail: expect.any(String) });
    expect(response.json().errors.map(({ pointer }: { pointer: string }) => pointer)).toContain('/pageSize');
  });

  it('cannot access rows of another tenant', async () => {
    const rival = await start({ tenant: 'rival', words: ['--allow-writes'] });
    const { clientId } = (await rival.call('onboardClient', { body: { ...harbor, name: 'Secret' } })).json();
    const { call } = await start();
    const response = await call('getClient', { id: clientId });
    expect(response.isError).toBe(true);
    expect(response.json()).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  it('reports unknown and missing arguments', async () => {
    const { call } = await start();
    expect(await call('getClient', { clientId: 'x' })).toMatchObject({
      isError: true,
      texts: ['getClient has no argument clientId. Its arguments are id.'],
    });
    expect(await call('getClient')).toMatchObject({ isError: true, texts: ['getClient requires id.'] });
    expect(await call('doNothing')).toMatchObject({ isError: true, texts: ['The tool doNothing does not exist.'] });
  });

  it('explains how to get the next rows, and limits the size of a result', async () => {
    const { call } = await start({ words: ['--allow-writes', '--max-output', '9000'] });
    for (const number of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      await call('onboardClient', { body: { ...harbor, name: `Page ${number}` } });
    }
    const where = { name: { _like: 'Page %' } };
    const first = await call('searchClients', { body: { where, pageSize: 2 } });
    const [, cursor] = /body\.cursor "([^"]+)"/.exec(first.texts[1] ?? '') ?? [];
    const second = await call('searchClients', { body: { where, pageSize: 2, cursor } });
    const names = [first, second].flatMap((page) => page.json().data.map(({ name }: { name: string }) => name));
    expect(names).toEqual(['Page 1', 'Page 2', 'Page 3', 'Page 4']);

    const tooLong = await call('searchClients', { body: { where } });
    expect(tooLong.isError).toBe(true);
    const [, pageSize] = /`pageSize` of (\d+)/.exec(tooLong.texts[0] ?? '') ?? [];
    expect(await call('searchClients', { body: { where, pageSize: Number(pageSize) } })).toMatchObject({
      isError: false,
    });
  });
});

describe('the command', () => {
  const run = (words: readonly string[], env: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words], {
      env: { ...compileCache, ...env },
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  };
  const settings = () => ({ BASE_URL: running.address, TENANT: 'firm', ACCESS_TOKEN: 'x' });

  it('prints its options and variables', () => {
    const { status, stdout } = run(['--help']);
    expect(status).toBe(0);
    for (const word of ['--allow-writes', '--tags', '--max-output', 'BASE_URL', 'TENANT', 'API_KEY']) {
      expect(stdout).toContain(word);
    }
  });

  it('reports that the service rejected the API key', async () => {
    const env = { ...compileCache, BASE_URL: running.address, TENANT: 'firm', API_KEY: 'not.a.key' };
    await expect(promisify(execFile)(process.execPath, [main], { env })).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^The service rejected the API key\. (UNAUTHENTICATED|VALIDATION_ERROR): /),
    });
  });

  it('reports invalid settings, and exits', () => {
    const failed = (sentence: string) => ({ status: 1, stdout: '', stderr: expect.stringContaining(sentence) });
    expect(run([])).toEqual(failed('BASE_URL must be the URL of the service'));
    expect(run(['--tags', 'clint'], settings())).toEqual(
      failed('--tags has unknown tags: clint. Tags are authentication, '),
    );
  });

  it.each<[words: string[], env: Record<string, string>, sentence: string]>([
    [[], { TENANT: '' }, 'TENANT must be the name of your tenant.'],
    [[], { API_KEY: 'x' }, 'Set either API_KEY or ACCESS_TOKEN.'],
    [['--writes'], {}, "Unknown option '--writes'"],
    [['--max-output', '1'], {}, '--max-output must be'],
  ])('rejects the options %j with %j', (words, env, sentence) => {
    expect(() => readSettings(words, { ...settings(), ...env })).toThrow(new RegExp(sentence));
  });
});
